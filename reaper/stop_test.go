package reaper

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A child that holds the terminal is told of when it is stopped; a stopped
// orphan is nobody's business, and neither makes the waiter spin.
func TestStops(t *testing.T) {
	asPID1(t, func(t *testing.T) {
		l := newLab(t, Options{Stops: true})
		id := l.spawn("/bin/sh", "-c", "kill -TSTP $$; exit 3")
		if e := l.event(Stopped, id); e.Signal != syscall.SIGTSTP {
			t.Errorf("stopped by %v, want SIGTSTP", e.Signal)
		}
		l.event(Exited, l.spawnRole("foreigners", "1", "/bin/sh", "-c", "kill -STOP $$; exit 4"))
		before := cpu(t)
		time.Sleep(300 * time.Millisecond) // the time over which the use is measured
		if used := cpu(t) - before; used > 100*time.Millisecond {
			t.Errorf("%v of CPU in 300ms beside stopped children", used)
		}
		if l.Orphans() != 0 || l.Childless() {
			t.Error("a stopped orphan was taken for a dead one")
		}
		if err := l.Signal(id, syscall.SIGCONT, true); err != nil {
			t.Fatal(err)
		}
		if e := l.event(Exited, id); e.Status.ExitStatus() != 3 {
			t.Errorf("status %#x, want exit 3", e.Status)
		}
		_ = l.SignalAll(syscall.SIGCONT)
		l.none()
		if l.Orphans() != 1 {
			t.Errorf("%d orphans, want 1", l.Orphans())
		}
	})
}

// Without Stops nobody is told, so that a debugger's stop is not undone.
func TestStopsAreNotToldUnasked(t *testing.T) {
	asPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		id := l.spawn("/bin/sh", "-c", "kill -STOP $$")
		pid := l.event(Started, id).PID
		for stat, ok := readStat(strconv.Itoa(pid), make([]byte, 1024)); ok && stat.state != 'T'; {
			stat, ok = readStat(strconv.Itoa(pid), make([]byte, 1024))
		}
		l.event(Exited, l.spawn("/bin/true"))
		if _, told := l.find(Stopped, id); told {
			t.Error("a stop was told of")
		}
	})
}

func cpu(t *testing.T) time.Duration {
	t.Helper()
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &use); err != nil {
		t.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
