package reaper

import (
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Two thousand programs, each with a code of its own, beside failing starts and
// a thousand children that nobody asked for: every status arrives once, where it
// belongs, and what is left over is exactly the strangers.
func TestNoStatusIsLostAndNoneIsStolen(t *testing.T) {
	asPID1(t, func(t *testing.T) {
		programs, strangers, failures := times(2000), times(1000), times(100)
		l := newLab(t, Options{})
		want := map[ID]syscall.WaitStatus{}
		missing := map[ID]bool{}
		helpers := []ID{}
		for i := range programs {
			switch {
			case i%(programs/failures) == 0:
				missing[l.spawn("/no/such/program")] = true
			case i%(programs/4) == 1:
				helpers = append(helpers, l.spawnRole("foreigners", strconv.Itoa(strangers/4), "/bin/sh", "-c", "exit 9"))
			}
			if i%10 == 0 {
				want[l.spawn("/bin/sh", "-c", "kill -9 $$")] = syscall.WaitStatus(syscall.SIGKILL)
				continue
			}
			code := i % 200
			want[l.spawn("/bin/sh", "-c", "exit "+strconv.Itoa(code))] = syscall.WaitStatus(code << 8)
		}
		for _, id := range helpers {
			want[id] = 0
		}
		ended := 0
		l.await("end of all", func() bool {
			for _, e := range l.events[ended:] {
				switch {
				case e.Kind == Exited && e.Status != want[e.ID]:
					t.Fatalf("process %d: status %#x, want %#x", e.ID, e.Status, want[e.ID])
				case e.Kind == NotStarted && (!missing[e.ID] || NotStartedCode(e.Err) != 127):
					t.Fatalf("process %d was not started: %v", e.ID, e.Err)
				case e.Kind == NotStarted:
					delete(missing, e.ID)
				case e.Kind == Exited:
					delete(want, e.ID)
				}
			}
			ended = len(l.events)
			return len(want) == 0 && len(missing) == 0
		})
		l.none()
		if got := l.Orphans(); got != uint64(strangers) {
			t.Errorf("%d orphans, want %d", got, strangers)
		}
		started := 0
		for _, e := range l.events {
			if e.Kind == Started {
				started++
			}
		}
		if started != programs+len(helpers) {
			t.Errorf("%d starts were told, want %d", started, programs+len(helpers))
		}
	})
}

// Started comes before Exited however soon a program ends.
func TestStartedIsToldFirst(t *testing.T) {
	asPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		var last ID
		for range 300 {
			last = l.spawn("/bin/true")
		}
		l.event(Exited, last)
		started := map[ID]int{}
		for _, e := range l.events {
			switch {
			case e.Kind == Started:
				started[e.ID] = e.PID
			case e.Kind == Exited && started[e.ID] != e.PID:
				t.Fatalf("process %d: pid %d exited, pid %d was told as started", e.ID, e.PID, started[e.ID])
			}
		}
	})
}

// What processes leave behind comes to graced, as PID 1 and as any other
// process, and is not waited for by anybody else.
func TestOrphansComeToPID1(t *testing.T)       { asPID1(t, orphansCome) }
func TestOrphansComeToASubreaper(t *testing.T) { notPID1(t, orphansCome) }

func orphansCome(t *testing.T) {
	l := newLab(t, Options{})
	id := l.spawn("/bin/sh", "-c", "(exit 7) & (exec sleep 0.2) & exit 3")
	if e := l.event(Exited, id); e.Status.ExitStatus() != 3 {
		t.Errorf("status %#x, want exit 3", e.Status)
	}
	l.none()
	if got := l.Orphans(); got != 2 {
		t.Errorf("%d orphans, want 2", got)
	}
}

// A PID 1 without children can get one: what somebody leaves who was put into
// the container from outside, by docker exec or kubectl exec.
func TestOrphansOfWhatWasPutInFromOutside(t *testing.T) {
	p := place{session: true, outside: func(t *testing.T, f *far) {
		f.hear("childless")
		f.enter("sh", "-c", "(exit 5) & exit 0")
	}}
	p.run(t, func(t *testing.T) {
		l := newLab(t, Options{})
		l.event(Exited, l.spawn("/bin/true"))
		l.none()
		told("childless")
		l.await("orphan", func() bool { return l.Orphans() == 1 })
		l.none()
		// and it still notices a program of its own
		l.event(Exited, l.spawn("/bin/true"))
	})
}

// Orphans by the hundred wake the loop a few times, and never too seldom: after
// the last one there is a wake-up.
func TestAFloodOfOrphansIsToldInBatches(t *testing.T) {
	r := registry()
	began := time.Now()
	wakes := 0
	for range 1000 {
		r.mu.Lock()
		r.orphaned(1)
		r.mu.Unlock()
		select {
		case <-r.Wake():
			wakes++
		default:
		}
	}
	if most := 2 + int(time.Since(began)/hush); wakes > most {
		t.Errorf("%d wake-ups, want at most %d", wakes, most)
	}
	for r.mu.Lock(); r.more; r.mu.Lock() { // until the last one is told
		r.mu.Unlock()
		<-r.Wake()
	}
	r.mu.Unlock()
	if r.Orphans() != 1000 {
		t.Errorf("%d orphans", r.Orphans())
	}
}

// A pid is the next process's once its owner was waited for. Whatever happens,
// a signal meant for the one never reaches the other.
func TestASignalNeverReachesTheNextOwnerOfAPid(t *testing.T) {
	asPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		var id, stranger ID
		for reused := false; !reused; {
			id = l.spawn("/bin/true")
			pid := l.event(Started, id).PID
			l.event(Exited, id)
			if _, ok := l.PID(id); ok {
				t.Fatal("a process that is gone has a pid")
			}
			stranger, reused = l.nextOwner(pid, "/bin/sleep", "60")
		}
		for _, group := range []bool{false, true} {
			if err := l.Signal(id, syscall.SIGKILL, group); err != syscall.ESRCH {
				t.Errorf("Signal, group %v: %v, want ESRCH", group, err)
			}
		}
		if err := l.Signal(stranger, 0, false); err != nil {
			t.Errorf("the stranger: %v", err)
		}
	})
}

// Signals while processes die under them: each is either delivered or ESRCH.
func TestSignalsAndEndsAtOneTime(t *testing.T) {
	asPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		stop, done := make(chan struct{}), make(chan error)
		go func() {
			for {
				select {
				case <-stop:
					done <- nil
					return
				default:
				}
				for id := ID(1); id <= 200; id++ {
					if err := l.Signal(id, syscall.SIGUSR1, id%2 == 0); err != nil && err != syscall.ESRCH {
						done <- fmt.Errorf("signal to process %d: %w", id, err)
						return
					}
				}
			}
		}()
		for range 200 {
			l.spawn("/bin/true")
		}
		l.await("end of all", func() bool {
			n := 0
			for _, e := range l.events {
				if e.Kind == Exited {
					n++
				}
			}
			return n == 200
		})
		close(stop)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestGroupSignals(t *testing.T) {
	asPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		id, out := l.speaking(Command{Argv: []string{"sh", "-c", "sleep 60 & echo up >&2; wait"}, Env: []string{path}})
		l.line(out)
		if err := l.Signal(id, syscall.SIGTERM, true); err != nil {
			t.Fatal(err)
		}
		if e := l.event(Exited, id); e.Status.Signal() != syscall.SIGTERM {
			t.Errorf("status %#x, want SIGTERM", e.Status)
		}
		l.none() // the sleep got it too

		// one that has left for another group still gets what is meant for its own
		other := l.spawn("/bin/sleep", "60")
		pid := l.event(Started, other).PID
		id, out = l.speaking(roleCommand("join", strconv.Itoa(pid)))
		if got := l.line(out); got != "joined" {
			t.Fatal(got)
		}
		if err := l.Signal(id, syscall.SIGTERM, true); err != nil {
			t.Errorf("signal to a group that its process has left: %v", err)
		}
		l.event(Exited, id)
		if _, gone := l.find(Exited, other); gone {
			t.Error("the group that it joined got the signal too")
		}
	})
}
