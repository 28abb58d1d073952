package reaper

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// names gives the names of processes, in their order.
func names(tree []Descendant) (names []string) {
	for _, d := range tree {
		names = append(names, d.Comm)
	}
	return names
}

// see waits until a walk shows want.
func (l *lab) see(want ...string) []Descendant {
	l.t.Helper()
	var tree []Descendant
	l.await("sight of "+strings.Join(want, ", "), func() bool {
		poke(l.wake) // nothing tells that a program has begun to be another
		var err error
		if tree, err = l.Descendants(); err != nil {
			l.t.Fatal(err)
		}
		return slices.Equal(names(tree), want)
	})
	return tree
}

func TestDescendants(t *testing.T)          { asPID1(t, descendants) }
func TestDescendantsElsewhere(t *testing.T) { notPID1(t, descendants) }

// What came of graced's processes is found, the parents before the children,
// in whatever session or group it is; what is dead is not.
func descendants(t *testing.T) {
	l := newLab(t, Options{})
	id := l.spawn("sh", "-c", "setsid sh -c 'sleep 60 & exec tail -f /dev/null' & sleep 60 & true & exec tail -f /dev/null")
	l.event(Started, id)
	var tree []Descendant
	l.await("the tree", func() bool {
		poke(l.wake)
		tree, _ = l.Descendants()
		found := names(tree)
		if len(found) == 0 || found[0] != "tail" {
			return false
		}
		slices.Sort(found)
		return slices.Equal(found, []string{"sleep", "sleep", "tail", "tail"})
	})
	pid, _ := l.PID(id)
	at := map[int]int{l.pid: -1}
	for i, d := range tree {
		at[d.PID] = i
		if parent, ok := at[d.Parent]; !ok || parent >= i {
			t.Errorf("%+v comes before its parent", d)
		}
		if d.Start == 0 {
			t.Errorf("%+v has no start", d)
		}
	}
	if tree[0].PID != pid || tree[0].Group != pid || tree[0].Parent != l.pid {
		t.Errorf("%+v, want process %d of graced", tree[0], pid)
	}
	// sent to the tree of a process, a signal reaches all but itself
	if reached, err := l.SignalTree(id, syscall.SIGKILL); err != nil || len(reached) != len(tree)-1 {
		t.Errorf("it reached %v, %v", reached, err)
	}
	l.see("tail")
	if _, err := l.SignalTree(id+1, syscall.SIGKILL); err != syscall.ESRCH {
		t.Errorf("to no process: %v, want ESRCH", err)
	}
}

// A shell that somebody opened in the container (docker exec) is not graced's,
// and what it leaves behind is not either, as long as it is there itself.
func TestDescendantsLeaveOutWhatWasPutInFromOutside(t *testing.T) {
	p := place{session: true, outside: func(_ *testing.T, f *far) {
		f.hear("ready")
		f.enter("setsid", "sh", "-c", "(sleep 77 &) ; read x < /dev/zero")
	}}
	p.run(t, func(t *testing.T) {
		l := newLab(t, Options{})
		l.event(Started, l.spawn("tail", "-f", "/dev/null"))
		told("ready")
		l.await("what was put in, and its orphan", func() bool {
			poke(l.wake)
			all, _ := processes()
			orphan := slices.ContainsFunc(all, func(s stat) bool { return s.Comm == "sleep" && s.Parent == 1 })
			return orphan
		})
		l.see("tail")
	})
}

// A PID 1 that leads no session shares the number 0 of one with whoever comes
// from outside by nsenter(1). Its own processes are its own all the same.
func TestDescendantsOfAPID1WithoutASession(t *testing.T) {
	p := place{outside: func(_ *testing.T, f *far) {
		f.hear("ready")
		f.enter("sh", "-c", "echo; read x < /dev/zero")
	}}
	p.run(t, func(t *testing.T) {
		l := newLab(t, Options{})
		l.event(Started, l.spawn("tail", "-f", "/dev/null"))
		told("ready")
		l.await("what was put in", func() bool {
			poke(l.wake)
			all, _ := processes()
			return slices.ContainsFunc(all, func(s stat) bool { return s.Parent == 0 && s.PID != 1 })
		})
		l.see("tail")
	})
}

// The /proc of another PID namespace has other processes under the numbers of
// ours. No walk is better than that one.
func TestAProcOfAnotherNamespaceIsNone(t *testing.T) {
	place{session: true, noProc: true}.run(t, func(t *testing.T) {
		l := newLab(t, Options{})
		l.event(Started, l.spawn("sleep", "60"))
		tree, err := l.Descendants()
		if !errors.Is(err, ErrNoProc) || len(tree) != 0 {
			t.Errorf("%d processes, %v; want ErrNoProc", len(tree), err)
		}
		if _, all := l.Holders([]uint32{1}); all {
			t.Error("all holders are known without a /proc")
		}
		// what needs no /proc still works
		l.KillNow()
		l.none()
	})
}

func TestNoProcAtAll(t *testing.T) {
	asPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		if err := unix.Mount("none", "/proc", "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		id := l.spawn("sleep", "60")
		l.event(Started, id)
		if _, err := l.Descendants(); !errors.Is(err, ErrNoProc) {
			t.Errorf("%v, want ErrNoProc", err)
		}
		if _, err := l.KillTree(); !errors.Is(err, ErrNoProc) {
			t.Errorf("%v, want ErrNoProc", err)
		}
		if err := l.SignalAll(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if e := l.event(Exited, id); e.Status.Signal() != syscall.SIGTERM {
			t.Errorf("status %#x, want SIGTERM", e.Status)
		}
	})
}

// A process is named by its pid and its start: one that has the number of
// another is not taken for it.
func TestSignalProcess(t *testing.T) { asPID1(t, signalProcess) }
func TestSignalProcessWithoutPidfd(t *testing.T) {
	place{session: true, more: []string{"refuse=" + strconv.Itoa(unix.SYS_PIDFD_OPEN)}}.run(t, signalProcess)
}
func TestSignalProcessWithoutPidfdSignal(t *testing.T) {
	place{session: true, more: []string{"refuse=" + strconv.Itoa(unix.SYS_PIDFD_SEND_SIGNAL)}}.run(t, signalProcess)
}

func signalProcess(t *testing.T) {
	l := newLab(t, Options{})
	id := l.spawn("sleep", "60")
	l.event(Started, id)
	d := l.see("sleep")[0]
	stale := d
	stale.Start--
	if err := l.SignalProcess(stale, syscall.SIGKILL); err != syscall.ESRCH {
		t.Errorf("an earlier process with its number: %v, want ESRCH", err)
	}
	if err := l.SignalProcess(d, 0); err != nil {
		t.Errorf("it was signalled in the place of another: %v", err)
	}
	if err := l.SignalProcess(d, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	l.event(Exited, id)
	if err := l.SignalProcess(d, syscall.SIGTERM); err != syscall.ESRCH {
		t.Errorf("one that is gone: %v, want ESRCH", err)
	}
}

func TestSignalAllIsForPID1(t *testing.T) {
	if err := (&Reaper{pid: 2}).SignalAll(syscall.SIGTERM); err != ErrNoProc {
		t.Errorf("%v, want ErrNoProc", err)
	}
}

func TestKillError(t *testing.T) {
	err := error(&KillError{Descendant{PID: 7, Comm: "db"}, syscall.EPERM})
	if !errors.Is(err, syscall.EPERM) || err.Error() != "cannot kill db (pid 7): operation not permitted" {
		t.Error(err)
	}
}

// A process can have any name.
func TestParseStat(t *testing.T) {
	rest := " S 1 20 30 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0"
	for _, name := range []string{"sh", "a b", ") S 9 9 9", "((", "", "x\ny", "\xff"} {
		s, ok := parseStat([]byte("17 (" + name + ")" + rest))
		if !ok || s.PID != 17 || s.Comm != name || s.Parent != 1 || s.Group != 20 || s.session != 30 || s.state != 'S' || s.Start != 12345 {
			t.Errorf("%q: %+v, %v", name, s, ok)
		}
	}
	for _, line := range []string{"", "17", "17 (sh", "17 sh) S 1", "17 (sh) S 1 20 30", "x (sh)" + rest, "(sh)" + rest} {
		if s, ok := parseStat([]byte(line)); ok {
			t.Errorf("%q: %+v", line, s)
		}
	}
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := parseStat(own); !ok || s.PID != os.Getpid() || s.Parent != os.Getppid() || s.Start == 0 {
		t.Errorf("%q: %+v, %v", own, s, ok)
	}
}

func FuzzParseStat(f *testing.F) {
	own, _ := os.ReadFile("/proc/self/stat")
	f.Add(own)
	f.Add([]byte("1 () )) Z 0"))
	f.Fuzz(func(t *testing.T, line []byte) {
		s, ok := parseStat(line)
		if ok && (!bytes.Contains(line, []byte("("+s.Comm+")")) || s.state == 0) {
			t.Errorf("%q: %+v", line, s)
		}
	})
}
