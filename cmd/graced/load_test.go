package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestDefaultFile: /etc/graced.hcl is read when it is there and no other is named.
func TestDefaultFile(t *testing.T) {
	etc := t.TempDir()
	writeTo(t, filepath.Join(etc, "graced.hcl"), "grace = \"77s\"\nprocess \"web\" {\n  command = [\"nginx\"]\n}\n")
	in := func(args ...string) result {
		cmd := started(t, []string{beWithEtc + "=" + etc}, args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
		if os.Getuid() != 0 {
			cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		}
		if err := cmd.Start(); err != nil {
			t.Skipf("no mount namespace here: %v", err)
		}
		_ = cmd.Wait()
		again := started(t, cmd.Env[1:], args...)
		again.SysProcAttr = cmd.SysProcAttr
		got := finish(t, again)
		if got.code == 99 {
			t.Skip(got.stderr)
		}
		return got
	}
	in("plan").want(t, 0, "grace 1m17s (/etc/graced.hcl:1,9)", "")
	in("check").want(t, 0, "/etc/graced.hcl: good", "")
	in("plan", "--grace", "20s").want(t, 0, "grace 20s (--grace)", "")
	other := write(t, "other.hcl", "grace = \"33s\"\n")
	in("plan", "--config", other).want(t, 0, "grace 33s ("+other+":1,9)", "")
	writeTo(t, filepath.Join(etc, "graced.hcl"), "grace = 77\n")
	in("plan").want(t, 125, "", "on /etc/graced.hcl line 1")
	in().want(t, 125, "", "on /etc/graced.hcl line 1")
	writeTo(t, filepath.Join(etc, "graced.hcl"), "http { listen = \"off\" }\nprocess \"web\" {\n  command = [\"sh\", \"-c\", \"exit 7\"]\n}\n")
	in().want(t, 7, "", "")
	// a default that cannot be read is told, not passed over
	if err := os.Remove(filepath.Join(etc, "graced.hcl")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(etc, "graced.hcl"), 0o755); err != nil {
		t.Fatal(err)
	}
	in("plan", "--", "x").want(t, 125, "", "/etc/graced.hcl: cannot be read: it is a folder, not a file")
	in().want(t, 125, "", "/etc/graced.hcl: cannot be read: it is a folder, not a file")
}

// TestNoArgument: the file alone says what to run, wherever it is named; without
// one it is told how to say it.
func TestNoArgument(t *testing.T) {
	path := write(t, "graced.hcl", "process \"web\" {\n  command = [\"sh\", \"-c\", \"exit 7\"]\n}\n")
	process(t, []string{"GRACED_CONFIG=" + path, "GRACED_LISTEN=off"}).want(t, 7, "", "")
	process(t, []string{"GRACED_CONFIG=" + path + "x"}).want(t, 125, "", "GRACED_CONFIG: ")
	process(t, []string{"GRACED_CONFIG="}).want(t, 125, "", "GRACED_CONFIG: is empty")
	if _, err := os.Stat("/etc/graced.hcl"); err == nil {
		skipped(t, "there is a /etc/graced.hcl here")
	}
	process(t, []string{"GRACED_GRACE=20s"}).want(t, 125, "", "Usage: graced")
}

// TestCommandOverTheFile: Docker's CMD stands in the place of the command of the
// file's one process, and keeps the rest of it; of several it is an error.
func TestCommandOverTheFile(t *testing.T) {
	one := write(t, "one.hcl", "process \"web\" {\n  command = [\"x\"]\n  stop \"SIGUSR2\" { wait = \"4s\" }\n}\n")
	none := write(t, "none.hcl", "process \"web\" {\n  stop \"SIGUSR2\" { wait = \"4s\" }\n}\n")
	for _, path := range []string{one, none} {
		call("plan", "--config", path, "--platform", "none", "--", "gunicorn", "app").want(t, 0, "web  SIGUSR2", "")
		call("plan", "--config", path, "--platform", "none", "--", "gunicorn", "app").want(t, 0, "note: "+path+":1,1: web (gunicorn) gives its requests 30s", "")
	}
	call("plan", "--config", none).want(t, 125, "", "has no command")
	call("plan", "--config", file(t), "--", "x").want(t, 125, "", "has db, php, web")
	empty := call("plan", "--config", one, "--platform", "none", "--") // an ENTRYPOINT that ends in --, and no CMD
	empty.want(t, 0, "web  SIGUSR2", "")
}

// TestColours: the diagnostics have colours on a terminal and nowhere else.
func TestColours(t *testing.T) {
	broken := write(t, "broken.hcl", "grace = 30\n")
	process(t, nil, "check", "--config", broken).want(t, 125, "", "Error: grace: is the number 30")
	if got := process(t, []string{"TERM=xterm"}, "check", "--config", broken); strings.Contains(got.stderr, "\x1b") {
		t.Errorf("colours without a terminal: %q", got.stderr)
	}
	master, slave := openTerminal(t)
	cmd := started(t, nil, "check", "--config", broken)
	cmd.Stderr = slave
	_ = cmd.Run()
	slave.Close()
	var seen bytes.Buffer
	_, _ = io.Copy(&seen, master) // ends with EIO once nobody has the other end
	if !strings.Contains(seen.String(), "\x1b[31mError\x1b[0m: grace") {
		t.Errorf("no colours on a terminal: %q", seen.String())
	}
}

// openTerminal opens a pair of a pseudo-terminal; pty(7).
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	return master, slave
}

// TestBrokenFiles: the real binary refuses each broken file of internal/config's
// tests in under a second, and starts nothing.
func TestBrokenFiles(t *testing.T) {
	files, err := filepath.Glob("../../internal/config/testdata/broken/*")
	if err != nil {
		t.Fatal(err)
	}
	n, dir := 0, t.TempDir()
	for _, path := range files {
		if strings.HasSuffix(path, ".golden") || strings.Contains(path, "only-comments") {
			continue // that has no process, which a command could give it
		}
		n++
		begin := time.Now()
		for _, args := range [][]string{{"check"}, {"plan"}} {
			got := call(append(args, "--config", path)...)
			if got.code != codeFailed || got.stdout != "" || !strings.Contains(got.stderr, filepath.Base(path)) {
				t.Errorf("%v of %s: code %d, %s%s", args, path, got.code, got.stdout, got.stderr)
			}
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%s: it took %v", path, took)
		}
	}
	if n < 40 {
		t.Errorf("%d broken files", n)
	}
	mark := filepath.Join(dir, "mark")
	process(t, nil, "--config", "../../internal/config/testdata/broken/49-everything-at-once.hcl", "--", "touch", mark).want(t, 125, "", "platform: ")
	if _, err := os.Stat(mark); err == nil {
		t.Error("something was started")
	}
}
