package reaper

import (
	"bytes"
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
		return cannot(126, path, err.Error())
	}
	file := inDir(cmd.Dir, path)
	if cmd.Dir != "" {
		if info, err := os.Stat(cmd.Dir); err != nil || !info.IsDir() {
			return cannot(126, path, fmt.Sprintf("its working folder %q is not there", cmd.Dir))
		}
	}
	info, statErr := os.Stat(file)
	switch {
	case errno == syscall.ENOENT && statErr == nil:
		return cannot(127, path, missingInterpreter(file))
	case errno == syscall.ENOENT:
		return cannot(127, path, "there is no such file")
	case errno == syscall.EACCES && statErr == nil && info.IsDir():
		return cannot(126, path, "it is a directory")
	case errno == syscall.EACCES && statErr == nil && info.Mode().Perm()&0o111 == 0:
		return cannot(126, path, "it is not executable (chmod +x)")
	}
	text := errno.Error()
	switch errno {
	case syscall.EACCES:
		text = "permission denied, by its mode, a folder above it, a mount with noexec or its interpreter's mode"
		if cmd.Dir != "" {
			text += ", or by the mode of its working folder"
		}
	case syscall.ENOEXEC:
		text = "wrong format: " + format(file)
	case syscall.ENOTDIR:
		text = "a part of its path is a file, not a folder"
	case syscall.ELOOP:
		text = "its symbolic links, or its interpreters, lead in a circle"
	case syscall.ENAMETOOLONG:
		text = "its name is too long for the file system"
	case syscall.ETXTBSY:
		text = "somebody has it open for writing"
	case syscall.E2BIG:
		text = "its arguments and environment are too long for the kernel"
	case syscall.EAGAIN:
		text = "no further process is allowed (pids limit of the container, or ulimit -u)"
	case syscall.EPERM, syscall.EINVAL:
		if hasNUL(path, cmd) {
			text = "an argument or a variable of its environment has a zero byte in it"
		} else if c := cmd.Credential; c != nil {
			text = fmt.Sprintf("as uid %d, gid %d: graced may not change users here (it is not root, CAP_SETUID and CAP_SETGID are dropped, or the user namespace has no such id)", c.Uid, c.Gid)
		}
	}
	return cannot(126, path, text)
}

func cannot(code int, path, why string) error {
	return &StartError{code, fmt.Sprintf("cannot run %q: %s", path, why)}
}

// hasNUL says whether the kernel could not be handed some text, since a zero
// byte ends it there.
func hasNUL(path string, cmd Command) bool {
	for _, texts := range [][]string{{path, cmd.Dir}, cmd.Argv, cmd.Env} {
		for _, s := range texts {
			if strings.IndexByte(s, 0) >= 0 {
				return true
			}
		}
	}
	return false
}

// head reads the first bytes of a regular file; a FIFO could hang, and a
// device could do anything.
func head(file string) []byte {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
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

// missingInterpreter says which file is not there that a script or a
// dynamically linked program asks for. The interpreter of a script may be there
// and ask for one in its turn; the kernel follows five of them.
func missingInterpreter(file string) string {
	const most = 5
	of, hint := "", ""
	for range most {
		start := head(file)
		name, script := shebang(start)
		if name == "" {
			name = readELF(start).interpreter()
		}
		if name == "" {
			break
		}
		if _, err := os.Stat(name); err == nil {
			file, of = name, " of "+strconv.Quote(name)
			continue
		}
		switch {
		case !script:
			hint = " (the dynamic linker; an image without one needs programs that are linked statically)"
		case strings.HasSuffix(name, "\r"):
			hint = ` (the first line ends with a carriage return, \r: convert the file to Unix line ends)`
		}
		if of == "" {
			return "it is there, but its interpreter " + strconv.Quote(name) + " is not" + hint
		}
		return "it is there, but the interpreter " + strconv.Quote(name) + of + " is not" + hint
	}
	return "it is there, but its interpreter is not (the file cannot be read to name it)"
}

// shebang gives the interpreter that the first line of a script names, cut as
// the kernel does: a carriage return belongs to the name.
func shebang(start []byte) (name string, script bool) {
	if !bytes.HasPrefix(start, []byte("#!")) {
		return "", false
	}
	line, _, _ := bytes.Cut(start[2:], []byte("\n"))
	name = strings.TrimLeft(string(line), " \t")
	if end := strings.IndexAny(name, " \t"); end >= 0 {
		name = name[:end]
	}
	return name, true
}

// format says why the kernel does not know a file as a program.
func format(file string) string {
	start := head(file)
	program := readELF(start)
	switch {
	case len(start) == 0:
		return "the file is empty, or cannot be read to say more"
	case program.valid && program.machine() == runtime.GOARCH:
		return "an ELF file of this machine that is no program (an object file, a core or a damaged one)"
	case program.valid:
		return fmt.Sprintf("it is built for another machine (%s), this one is %s", program.machine(), runtime.GOARCH)
	case bytes.HasPrefix(start, []byte("\x7fELF")):
		return "its ELF header is cut off"
	case bytes.IndexByte(start, 0) < 0:
		return "no interpreter line (#!/bin/sh) at its start, and there is no /bin/sh to run it"
	}
	return "neither a script nor an ELF program"
}
