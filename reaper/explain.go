package reaper

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// explain turns the errno of a failed start into what was wrong and the code
// that says so. execve(2) answers ENOENT both for a program that is not there
// and for one whose interpreter is not.
func explain(path string, cmd Command, err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return &StartError{126, fmt.Sprintf("cannot run %q: %v", path, err)}
	}
	file := inDir(cmd.Dir, path)
	if cmd.Dir != "" {
		if info, err := os.Stat(cmd.Dir); err != nil || !info.IsDir() {
			return &StartError{126, fmt.Sprintf("cannot run %q: its working folder %q is not there", path, cmd.Dir)}
		}
	}
	info, statErr := os.Stat(file)
	switch {
	case errno == syscall.ENOENT && statErr == nil:
		return &StartError{127, fmt.Sprintf("cannot run %q: it is there, but its interpreter %s is not%s", path, interpreter(file), carriageReturn(file))}
	case errno == syscall.ENOENT:
		return &StartError{127, fmt.Sprintf("cannot run %q: there is no such file", path)}
	case errno == syscall.EACCES && statErr == nil && info.IsDir():
		return &StartError{126, fmt.Sprintf("cannot run %q: it is a directory", path)}
	case errno == syscall.EACCES && statErr == nil && info.Mode().Perm()&0o111 == 0:
		return &StartError{126, fmt.Sprintf("cannot run %q: it is not executable (chmod +x)", path)}
	case errno == syscall.EACCES:
		return &StartError{126, fmt.Sprintf("cannot run %q: permission denied, by its mode, a folder above it, a mount with noexec or its interpreter's mode", path)}
	case errno == syscall.ENOEXEC:
		return &StartError{126, fmt.Sprintf("cannot run %q: wrong format: %s", path, format(file))}
	case errno == syscall.EPERM && cmd.Credential != nil:
		return &StartError{126, fmt.Sprintf("cannot run %q as uid %d, gid %d: graced may not change users here (it is not root, or CAP_SETUID and CAP_SETGID are dropped)", path, cmd.Credential.Uid, cmd.Credential.Gid)}
	case errno == syscall.EAGAIN:
		return &StartError{126, fmt.Sprintf("cannot run %q: no further process is allowed (pids limit of the container, or ulimit -u)", path)}
	case errno == syscall.E2BIG:
		return &StartError{126, fmt.Sprintf("cannot run %q: its arguments and environment are too long for the kernel", path)}
	}
	return &StartError{126, fmt.Sprintf("cannot run %q: %v", path, errno)}
}

// head reads the first bytes of a regular file; a FIFO could hang.
func head(file string) []byte {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	buf := make([]byte, 4096)
	n, _ := io.ReadFull(f, buf)
	return buf[:n]
}

// isText says whether file may be a script: it is readable and has no zero
// byte at its start. An empty one is: a shell runs it, and that ends with 0.
func isText(file string) bool {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	return bytes.IndexByte(head(file), 0) < 0
}

// interpreter names what a script or a dynamically linked program asks for.
func interpreter(file string) string {
	start := head(file)
	if bytes.HasPrefix(start, []byte("#!")) {
		line, _, _ := bytes.Cut(start[2:], []byte("\n"))
		name, _, _ := strings.Cut(strings.TrimLeft(string(line), " \t"), " ")
		return strconv.Quote(name)
	}
	if f, err := elf.NewFile(bytes.NewReader(start)); err == nil {
		for _, p := range f.Progs {
			if p.Type != elf.PT_INTERP || p.Filesz > 4096 {
				continue
			}
			name := make([]byte, p.Filesz)
			if _, err := p.ReadAt(name, 0); err == nil {
				return strconv.Quote(string(bytes.TrimRight(name, "\x00"))) + " (the dynamic linker; a scratch image has none: link the program statically)"
			}
		}
	}
	return "or a library of it"
}

// carriageReturn says what a file with line ends of Windows needs.
func carriageReturn(file string) string {
	line, _, _ := bytes.Cut(head(file), []byte("\n"))
	if bytes.HasPrefix(line, []byte("#!")) && bytes.HasSuffix(line, []byte("\r")) {
		return `; its first line ends with a carriage return (\r): convert the file to Unix line ends`
	}
	return ""
}

// format says why the kernel does not know a file as a program.
func format(file string) string {
	start := head(file)
	switch {
	case len(start) == 0:
		return "the file is empty"
	case !bytes.HasPrefix(start, []byte(elf.ELFMAG)):
		if bytes.IndexByte(start, 0) < 0 {
			return "no interpreter line (#!/bin/sh) at its start, and there is no /bin/sh to run it"
		}
		return "neither a script nor an ELF program"
	case len(start) < 20:
		return "its ELF header is cut off"
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if start[elf.EI_DATA] == byte(elf.ELFDATA2MSB) {
		order = binary.BigEndian
	}
	machine := elf.Machine(order.Uint16(start[18:20]))
	return fmt.Sprintf("it is built for another machine (%s), this one is %s", strings.TrimPrefix(machine.String(), "EM_"), runtime.GOARCH)
}
