package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// stderrHelper says what protectStderr has made of the descriptors.
func stderrHelper([]string) int {
	n := protectStderr()
	own, _ := unix.FcntlInt(2, unix.F_GETFL, 0)
	child, err := unix.FcntlInt(uintptr(n), unix.F_GETFL, 0)
	keep, _ := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0)
	position, _ := unix.Seek(2, 0, 1)
	say("apart %v own blocks %v child's blocks %v inherited %v position %d", n != 2, own&unix.O_NONBLOCK == 0,
		err == nil && child&unix.O_NONBLOCK == 0, keep&unix.FD_CLOEXEC == 0, position)
	_, _ = syscall.Write(2, []byte("graced\n"))
	_, _ = syscall.Write(n, []byte("child\n"))
	return 0
}

// crashHelper ends by a panic on another goroutine, which nothing can catch.
func crashHelper(args []string) int {
	if args[0] == "protected" {
		protectStderr()
	}
	go func() { panic(strings.Repeat("a long story ", 100)) }()
	select {}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// The Go runtime writes the story of a crash before it ends the process. On a
// pipe that nobody reads it would wait for ever, and the container with it.
func TestACrashOnAFullStandardError(t *testing.T) {
	for _, tt := range []struct {
		how  string
		ends bool
	}{{"protected", true}, {"unprotected", false}} { // the second is the negative control
		_, w := pipe(t)
		fill(t, w)
		cmd, _ := helper(t, "crash", tt.how)
		cmd.Stderr = w
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		wait := 20 * time.Second
		if !tt.ends {
			wait = time.Second
		}
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if !tt.ends || !errors.As(err, &exit) || exit.ExitCode() != 2 {
				t.Errorf("%s: it ended with %v", tt.how, err)
			}
		case <-time.After(wait):
			if tt.ends {
				t.Errorf("%s: it hangs", tt.how)
			}
			_ = cmd.Process.Kill()
			<-ended
		}
	}
}

// fill writes to a pipe until it takes no more. It stays blocking.
func fill(t *testing.T, w *os.File) {
	t.Helper()
	fd := int(w.Fd()) // which makes it blocking
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, os.Getpagesize()); err != nil {
		t.Fatal(err)
	}
	for ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}; ; {
		n, err := unix.Poll(ready, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		// whole pages: poll(2) looks at those, and what is left in one takes more
		if _, err := unix.Write(fd, make([]byte, os.Getpagesize())); err != nil {
			t.Fatal(err)
		}
	}
}

// On a pipe and on a terminal graced has a description of its own, which does not
// block. The children's is the one that graced was given, as it was.
func TestProtectStderr(t *testing.T) {
	_, slave := openPTY(t)
	_, w := pipe(t)
	w.Fd() // as a container runtime's: it blocks
	for name, file := range map[string]*os.File{"pipe": w, "terminal": slave} {
		cmd, run := helper(t, "stderr")
		cmd.Stderr = file
		if got := run(); !strings.HasPrefix(got, "apart true own blocks false child's blocks true inherited false ") {
			t.Errorf("%s: %s", name, got)
		}
		if flags, err := unix.FcntlInt(file.Fd(), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
			t.Errorf("%s: what is shared with others does not block any more, %v", name, err)
		}
	}
}

// A file has one position for all who write to it. It never blocks, and stays.
func TestStandardErrorIsAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, _ = file.WriteString("before\n")
	cmd, run := helper(t, "stderr")
	cmd.Stderr = file
	if got := run(); got != "apart false own blocks true child's blocks true inherited true position 7\n" {
		t.Errorf("%s", got)
	}
	_, _ = file.WriteString("after\n")
	if text, _ := os.ReadFile(name); string(text) != "before\ngraced\nchild\nafter\n" {
		t.Errorf("the file has %q", text)
	}
}

// A socket cannot be opened anew; a closed descriptor has been filled by the Go
// runtime with /dev/null. Both stay, and graced starts.
func TestStandardErrorIsSomethingElse(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	socket := os.NewFile(uintptr(pair[0]), "socket")
	defer socket.Close()
	defer unix.Close(pair[1])
	cmd, run := helper(t, "stderr")
	cmd.Stderr = socket
	if got := run(); !strings.HasPrefix(got, "apart false own blocks true ") {
		t.Errorf("socket: %s", got)
	}
	cmd, run = helper(t, "stderr")
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `exec "$0" 2>&-`, self(t)}
	if got := run(); !strings.HasPrefix(got, "apart false ") {
		t.Errorf("closed: %s", got)
	}
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
