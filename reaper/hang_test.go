package reaper

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hangingProgram is a program whose exec hangs until release is called: there
// is a lease on the file, which the kernel asks the holder to give back before
// anybody opens it; fcntl(2), F_SETLEASE. So a dead file server behaves.
func hangingProgram(t *testing.T) (file string, release func()) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("#!/bin/sh\nexit 11\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		skip(t, "no leases here: "+err.Error())
	}
	// To close it would not do: the child that hangs has it open too.
	return file, func() { _, _ = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK) }
}

// hangs waits until somebody waits for the lease.
func hangs(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if locks, _ := os.ReadFile("/proc/locks"); strings.Contains(string(locks), "BREAKING") {
			return
		}
	}
	t.Fatal("the exec does not hang")
}

// The exec of a program on a dead file server never returns. graced goes on: it
// signals, reaps, counts and answers; only what is to be started waits.
func TestAnExecThatHangs(t *testing.T) {
	asPID1(t, func(t *testing.T) {
		l := newLab(t, Options{Most: 2})
		file, release := hangingProgram(t)
		running, out := l.speaking(Command{Argv: []string{"sh", "-c", "sleep 60 & sleep 60 & echo up >&2; exec sleep 60"}, Env: []string{path}})
		l.line(out)
		helper := l.spawnRole("foreigners", "50", "/bin/sh", "-c", "exit 1")
		l.event(Exited, helper)
		l.await("orphans", func() bool { return l.Orphans() == 50 })

		hanging := l.spawn(file)
		hangs(t)
		waiting := l.spawn("/bin/true")
		second := l.spawn("/bin/true")
		if l.Spawn(99, Command{Argv: []string{"/bin/true"}}) {
			t.Error("more were taken in than were to be")
		}
		if err := l.Signal(hanging, syscall.SIGTERM, true); err != syscall.ESRCH {
			t.Errorf("a signal to what has not started: %v, want ESRCH", err)
		}
		if err := l.Signal(running, syscall.SIGTERM, true); err != nil {
			t.Fatal(err)
		}
		l.event(Exited, running)
		// what that one leaves is reaped, though it might be the child of the fork
		l.await("end of the orphans", func() bool {
			poke(l.wake)
			all, _ := processes()
			return !slices.ContainsFunc(all, func(s stat) bool { return s.Comm == "sleep" })
		})
		if _, ok := l.find(Started, hanging); ok {
			t.Fatal("it does not hang")
		}
		if l.Childless() {
			t.Error("childless beside a child whose exec hangs")
		}
		release()
		if e := l.event(Exited, hanging); e.Status.ExitStatus() != 11 {
			t.Errorf("status %#x, want exit 11", e.Status)
		}
		l.event(Exited, waiting)
		l.event(Exited, second)
		l.none()
		if l.Orphans() != 52 {
			t.Errorf("%d orphans, want 52", l.Orphans())
		}
	})
}

// SIGKILL ends a hanging exec: as PID 1 by the kernel's list of all processes,
// elsewhere by the walk of /proc. The start has failed then.
func TestAHangingExecCanBeKilled(t *testing.T)          { asPID1(t, killHanging) }
func TestAHangingExecCanBeKilledElsewhere(t *testing.T) { notPID1(t, killHanging) }
func TestAHangingExecOfTheShimCanBeKilled(t *testing.T) { asPID1(t, killHangingShim) }
func TestAHangingShimCanBeKilledElsewhere(t *testing.T) { notPID1(t, killHangingShim) }
func killHanging(t *testing.T)                          { killDuringExec(t, Command{}) }
func killHangingShim(t *testing.T)                      { killDuringExec(t, Command{Ignore: []syscall.Signal{1}}) }

func killDuringExec(t *testing.T, cmd Command) {
	l := newLab(t, Options{})
	file, release := hangingProgram(t)
	defer release()
	cmd.Argv, cmd.Env, cmd.Stderr = []string{file}, []string{path}, 2
	id := l.spawnAs(cmd)
	hangs(t)
	over := func() bool {
		_, failed := l.find(NotStarted, id)
		_, ended := l.find(Exited, id)
		return failed || ended
	}
	l.await("end of the child", func() bool {
		l.KillNow()
		_, _ = l.KillTree()
		poke(l.wake)
		return over()
	})
	l.none()
	if l.Orphans() != 0 {
		t.Errorf("%d orphans, want none", l.Orphans())
	}
}
