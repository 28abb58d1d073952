package reaper

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// badProgram is a program that cannot be started, with what is said of it.
type badProgram struct {
	cmd  Command
	code int
	text string
}

// program makes an executable file of a text.
func program(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// dynamic makes an ELF program of this machine that asks for a dynamic linker.
func dynamic(linker string) string {
	data := make([]byte, 64+56)
	copy(data, "\x7fELF\x02\x01\x01")
	order := binary.LittleEndian
	order.PutUint16(data[16:], uint16(elf.ET_EXEC))
	order.PutUint16(data[18:], thisMachine())
	order.PutUint32(data[20:], 1)
	order.PutUint64(data[32:], 64) // the program headers are here,
	order.PutUint16(data[54:], 56) // of this size,
	order.PutUint16(data[56:], 1)  // and this many
	header := data[64:]
	order.PutUint32(header, uint32(elf.PT_INTERP))
	order.PutUint64(header[8:], uint64(len(data)))
	order.PutUint64(header[32:], uint64(len(linker)+1))
	return string(data) + linker + "\x00"
}

func thisMachine() uint16 {
	for number, name := range machines {
		if name == runtime.GOARCH {
			return number
		}
	}
	return 0
}

// badPrograms has a start for every way in which one can fail.
func badPrograms(t *testing.T) map[string]badProgram {
	t.Helper()
	dir := t.TempDir()
	run := func(argv ...string) Command { return Command{Argv: argv, Env: []string{path}, Stderr: 2} }
	in := func(name string) string { return filepath.Join(dir, name) }
	link := func(target, name string) string {
		if err := os.Symlink(target, in(name)); err != nil {
			t.Fatal(err)
		}
		return in(name)
	}
	plain := program(t, "#!/bin/sh\n")
	if err := os.Chmod(plain, 0o644); err != nil {
		t.Fatal(err)
	}
	other := elf.EM_AARCH64
	if runtime.GOARCH == "arm64" {
		other = elf.EM_X86_64
	}
	foreign := []byte(dynamic("/lib/ld.so"))
	binary.LittleEndian.PutUint16(foreign[18:], uint16(other))
	object := []byte(dynamic("/lib/ld.so"))
	binary.LittleEndian.PutUint16(object[16:], uint16(elf.ET_REL))
	nested := program(t, "#!/no/such/interpreter\n")
	busy := program(t, "#!/bin/sh\n")
	writer, err := os.OpenFile(busy, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { writer.Close() })
	inDir := func(c Command, dir string) Command { c.Dir = dir; return c }

	return map[string]badProgram{
		"missing":                 {run("/no/such/program"), 127, "there is no such file"},
		"missing from the path":   {run("no-such-program"), 127, `cannot find "no-such-program" in PATH "/usr/local/sbin:`},
		"no path":                 {Command{Argv: []string{"no-such-program"}}, 127, "/bin:/usr/bin, which are searched because PATH is not set"},
		"empty name":              {run(""), 127, "empty command name"},
		"no arguments at all":     {run(), 127, "empty command name"},
		"not executable":          {run(plain), 126, "it is not executable (chmod +x)"},
		"a folder":                {run(dir), 126, "it is a directory"},
		"below a file":            {run(plain + "/x"), 126, "a part of its path is a file"},
		"a link to itself":        {run(link("loop", "loop")), 126, "lead in a circle"},
		"a link to nowhere":       {run(link("nowhere", "dangling")), 127, "there is no such file"},
		"long name":               {run("/" + strings.Repeat("x", 300)), 126, "too long"},
		"no interpreter":          {run(program(t, "#!  /no/such/interpreter\t-x\n")), 127, `its interpreter "/no/such/interpreter" is not`},
		"carriage return":         {run(program(t, "#!/bin/sh\r\necho\r\n")), 127, `its interpreter "/bin/sh\r" is not (the first line ends with a carriage return, \r: convert`},
		"interpreter's":           {run(program(t, "#!"+nested+"\n")), 127, `the interpreter "/no/such/interpreter" of "` + nested + `" is not`},
		"interpreter's linker":    {run(program(t, "#!"+program(t, dynamic("/lib/ld-nowhere.so"))+"\n")), 127, `the interpreter "/lib/ld-nowhere.so" of "`},
		"interpreter is a folder": {run(program(t, "#!/tmp\n")), 126, "permission denied"},
		"no dynamic linker":       {run(program(t, dynamic("/lib/ld-nowhere.so"))), 127, `its interpreter "/lib/ld-nowhere.so" is not (the dynamic linker`},
		"other machine":           {run(program(t, string(foreign))), 126, "built for another machine (" + machines[uint16(other)] + "), this one is " + runtime.GOARCH},
		"an object file":          {run(program(t, string(object))), 126, "no program (an object file"},
		"a cut-off program":       {run(program(t, "\x7fELF\x02\x01\x01\x00")), 126, "ELF header is cut off"},
		"neither":                 {run(program(t, "a\x00b")), 126, "neither a script nor an ELF program"},
		"too long":                {run("/bin/true", strings.Repeat("x", 1<<18)), 126, "too long for the kernel"},
		"zero byte":               {run("/bin/true", "a\x00b"), 126, "has a zero byte in it"},
		"being written":           {run(busy), 126, "has it open for writing"},
		"no working folder":       {inDir(run("/bin/true"), "/no/such/folder"), 126, `its working folder "/no/such/folder" is not there`},
		"a file to work in":       {inDir(run("/bin/true"), plain), 126, "its working folder"},
	}
}

// Whatever is wrong with a program, the message names it and the code is the
// shell's.
func TestWhyAProgramCannotBeStarted(t *testing.T) {
	asPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		bad := badPrograms(t)

		mount := t.TempDir()
		if err := unix.Mount("none", mount, "tmpfs", unix.MS_NOEXEC, ""); err != nil {
			t.Fatal(err)
		}
		defer unix.Unmount(mount, 0)
		file := filepath.Join(mount, "program")
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		bad["a mount with noexec"] = badProgram{Command{Argv: []string{file}, Stderr: 2}, 126, "a mount with noexec"}

		for name, b := range bad {
			e := l.event(NotStarted, l.spawnAs(b.cmd))
			if code := NotStartedCode(e.Err); code != b.code || !strings.Contains(e.Err.Error(), b.text) {
				t.Errorf("%s: code %d, %v\nwant %d, … %s …", name, code, e.Err, b.code, b.text)
			}
		}
		l.none()
		if l.Orphans() != 0 {
			t.Errorf("%d orphans, want none", l.Orphans())
		}
	})
}

// Where there is no /bin/sh, a script without a first line is one that needs
// it; so is an empty file.
func TestAScriptWithoutAShell(t *testing.T) {
	asPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		script, empty := program(t, "exit 3\n"), program(t, "")
		for file, code := range map[string]int{script: 3, empty: 0} {
			if e := l.event(Exited, l.spawn(file, "a", "b")); e.Status.ExitStatus() != code {
				t.Errorf("status %#x, want exit %d", e.Status, code)
			}
		}
		argv := program(t, `tr '\0' ' ' </proc/$$/cmdline >&2`+"\n")
		if got, want := l.says(Command{Argv: []string{argv, "a", "b"}, Env: []string{path}}), "/bin/sh "+argv+" a b "; got != want {
			t.Errorf("it is run as %q, want %q", got, want)
		}
		if err := unix.Mount("none", "/usr/bin", "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat("/bin"); err != nil || info.Mode()&os.ModeSymlink == 0 {
			if err := unix.Mount("none", "/bin", "tmpfs", 0, ""); err != nil {
				t.Fatal(err)
			}
		}
		for file, text := range map[string]string{script: "no interpreter line", empty: "the file is empty"} {
			e := l.event(NotStarted, l.spawn(file))
			if NotStartedCode(e.Err) != 126 || !strings.Contains(e.Err.Error(), text) {
				t.Errorf("%v, want … %s …", e.Err, text)
			}
		}
	})
}

// What somebody else says of a start that failed is 126, as a shell says it.
func TestTheCodeOfAnyOtherError(t *testing.T) {
	if code := NotStartedCode(errors.New("x")); code != 126 {
		t.Errorf("code %d, want 126", code)
	}
	err := explain("/x", Command{}, errors.New("strange"))
	if NotStartedCode(err) != 126 || !strings.Contains(err.Error(), "strange") {
		t.Error(err)
	}
	uid := &syscall.Credential{Uid: 1, Gid: 2}
	if err := explain("/bin/true", Command{Credential: uid}, syscall.EPERM); !strings.Contains(err.Error(), "as uid 1, gid 2: graced may not change users here") {
		t.Error(err)
	}
	if err := explain("/bin/true", Command{}, syscall.EAGAIN); !strings.Contains(err.Error(), "pids limit") {
		t.Error(err)
	}
}
