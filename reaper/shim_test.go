package reaper

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The signals that graced found ignored are ignored in its programs, real-time
// ones too, and no others.
func TestIgnoredSignalsArePassedOn(t *testing.T) {
	asPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		for _, ignore := range [][]syscall.Signal{
			nil,
			{syscall.SIGHUP},
			{syscall.SIGINT, syscall.SIGPIPE, syscall.SIGCHLD, 33, 40, 64},
		} {
			var mask uint64
			for _, sig := range ignore {
				mask |= 1 << (sig - 1)
			}
			var got string
			l.viaStdout(&got, Command{Argv: []string{"grep", "SigIgn", "/proc/self/status"}, Env: []string{path}, Ignore: ignore})
			if want := fmt.Sprintf("SigIgn:\t%016x\n", mask); got != want {
				t.Errorf("ignoring %v: %q, want %q", ignore, got, want)
			}
		}
	})
}

// A program takes the sockets that were handed to graced only if LISTEN_PID is
// its own pid.
func TestListenPIDIsTheProgramsOwn(t *testing.T) {
	asPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		cmd := Command{
			Argv: []string{"sh", "-c", "echo $LISTEN_PID $$ $LISTEN_FDS >&2"}, Stderr: 2,
			Env: []string{path, "LISTEN_PID=1", "LISTEN_FDS=2"}, ListenPID: true,
		}
		id, out := l.speaking(cmd)
		pid := l.event(Started, id).PID
		if got, want := l.line(out), fmt.Sprintf("%d %d 2", pid, pid); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// The environment has the same bytes in the same order, with and without the
// shim: doubles, entries without a name and without =, what is meant for a Go
// runtime, bytes that are no UTF-8.
func TestTheEnvironmentIsHandedOnByteForByte(t *testing.T) {
	env := []string{
		path, "GODEBUG=gctrace=1", "A=1", "A=2", "NOEQUALS", "=nameless", "", "EMPTY=", "GOGC=off",
		"\xff\xfe=\xfd", "GODEBUG=http2debug=2", "GOMAXPROCS=1", "GOMEMLIMIT=4MiB", "GOTRACEBACK=crash", "NL=a\nb", "GODEBUGX=1",
	}
	asPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		for _, ignore := range [][]syscall.Signal{nil, {syscall.SIGHUP}} {
			var text string
			l.viaStdout(&text, Command{Argv: []string{"cat", "/proc/self/environ"}, Env: env, Ignore: ignore})
			if got := strings.Split(strings.TrimSuffix(text, "\x00"), "\x00"); !slices.Equal(got, env) {
				t.Errorf("ignoring %v:\n%q, want\n%q", ignore, got, env)
			}
		}
	})
}

// viaStdout gives what a program writes to standard output, which is graced's own.
func (l *lab) viaStdout(text *string, cmd Command) {
	l.t.Helper()
	file, err := os.CreateTemp(l.t.TempDir(), "stdout")
	if err != nil {
		l.t.Fatal(err)
	}
	defer file.Close()
	kept, err := syscall.Dup(1)
	if err != nil {
		l.t.Fatal(err)
	}
	if err := syscall.Dup3(int(file.Fd()), 1, 0); err != nil {
		l.t.Fatal(err)
	}
	cmd.Stderr = 2
	l.event(Exited, l.spawnAs(cmd))
	_ = syscall.Dup3(kept, 1, 0)
	syscall.Close(kept)
	data, err := os.ReadFile(file.Name())
	if err != nil {
		l.t.Fatal(err)
	}
	*text = string(data)
}

// A program that the shim cannot execute was not started: the error is that of
// the program, nothing is told of the process that tried, and it is no orphan.
func TestAFailedExecThroughTheShim(t *testing.T) {
	asPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		bad := badPrograms(t)
		for _, name := range []string{"missing", "not executable", "no interpreter", "carriage return", "other machine", "zero byte"} {
			cmd := bad[name].cmd
			cmd.Ignore, cmd.Stderr = []syscall.Signal{syscall.SIGHUP}, 2
			e := l.event(NotStarted, l.spawnAs(cmd))
			if code := NotStartedCode(e.Err); code != bad[name].code || !strings.Contains(e.Err.Error(), bad[name].text) {
				t.Errorf("%s: %d, %v; want %d, … %s …", name, code, e.Err, bad[name].code, bad[name].text)
			}
		}
		// The process that tried may end after that was told. Nothing is told of its
		// end, but whoever waits for the last child is woken.
		for range times(20) {
			cmd := bad["missing"].cmd
			cmd.Ignore = []syscall.Signal{syscall.SIGHUP}
			l.event(NotStarted, l.spawnAs(cmd))
			l.none()
		}
		// one that the kernel does not know, and the shell does
		script := program(t, "exit 12\n")
		e := l.event(Exited, l.spawnAs(Command{Argv: []string{script}, Env: []string{path}, Stderr: 2, Ignore: []syscall.Signal{syscall.SIGHUP}}))
		if e.Status.ExitStatus() != 12 {
			t.Errorf("status %#x, want exit 12", e.Status)
		}
		l.none()
		for _, e := range l.events {
			if e.Kind == Exited && e.ID != l.ids || e.Kind == Started && e.ID != l.ids {
				t.Errorf("told of a process that was never started: %+v", e)
			}
		}
		if l.Orphans() != 0 {
			t.Errorf("%d orphans, want none", l.Orphans())
		}
	})
}
