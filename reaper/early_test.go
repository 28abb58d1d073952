package reaper

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// These tests play the waiter and the spawner by hand, in the order that they
// are about: a registry without its two goroutines, and children of this process.

func registry() *Reaper {
	return &Reaper{procs: map[int]*process{}, byID: map[ID]*process{}, wake: make(chan struct{}, 1), spawned: make(chan struct{}, 1)}
}

// child forks a program and gives its pid and a descriptor that stands for it.
func child(t *testing.T, argv ...string) (pid, pidfd int) {
	t.Helper()
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: []string{path}, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{PidFD: &pidfd}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
		for { // it may have been consumed
			if _, err := syscall.Wait4(pid, nil, 0, nil); err != syscall.EINTR {
				break
			}
		}
		syscall.Close(pidfd)
	})
	return pid, pidfd
}

// dies waits until a child is a zombie.
func dies(t *testing.T, pid int) {
	t.Helper()
	if _, err := peek(unix.P_PID, pid, unix.WEXITED); err != nil {
		t.Fatal(err)
	}
}

// born ends the fork of a child; with it, the events of a start.
func birth(r *Reaper, pid, pidfd int) []Event {
	p := r.born(1, pid, pidfd, nil)
	r.mu.Lock()
	r.announce(p)
	r.mu.Unlock()
	return r.Take()
}

// A child can be dead and consumed before its parent knows its pid. Its status
// is kept, and it is no orphan.
func TestAChildThatDiesBeforeItsPidIsKnown(t *testing.T) {
	for _, how := range []string{"with a pidfd", "on an old kernel"} {
		r := registry()
		r.forking = true
		pid, pidfd := child(t, "/bin/sh", "-c", "exit 42")
		dies(t, pid)
		r.consume(pid, unix.WNOHANG)
		if how == "on an old kernel" {
			pidfd = -1
		}
		events := birth(r, pid, pidfd)
		if len(events) != 2 || events[0].Kind != Started || events[1].Kind != Exited || events[1].Status.ExitStatus() != 42 {
			t.Errorf("%s: %+v, want Started and Exited with 42", how, events)
		}
		if r.Orphans() != 0 || len(r.procs)+len(r.byID) != 0 {
			t.Errorf("%s: %d orphans, %v %v", how, r.Orphans(), r.procs, r.byID)
		}
	}
}

// The instant between the end of the fork and the registry's lock belongs to
// nobody: a child that dies and is consumed in it is found all the same.
func TestAChildThatDiesJustBeforeItIsEntered(t *testing.T) {
	r := registry()
	r.forking = true
	pid, pidfd := child(t, "/bin/sleep", "60") // alive when ForkExec returns,
	_ = syscall.Kill(pid, syscall.SIGKILL)     // and not when born has the lock
	dies(t, pid)
	r.consume(pid, unix.WNOHANG)
	if events := birth(r, pid, pidfd); len(events) != 2 || events[1].Status.Signal() != syscall.SIGKILL {
		t.Errorf("%+v, want Started and Exited by SIGKILL", events)
	}
}

// One that is a zombie when its pid becomes known is the waiter's, as ever.
func TestAZombieIsLeftToTheWaiter(t *testing.T) {
	r := registry()
	r.forking = true
	pid, pidfd := child(t, "/bin/sh", "-c", "exit 4")
	dies(t, pid)
	if events := birth(r, pid, pidfd); len(events) != 1 {
		t.Fatalf("%+v, want Started", events)
	}
	r.consume(pid, unix.WNOHANG)
	if events := r.Take(); len(events) != 1 || events[0].Status.ExitStatus() != 4 {
		t.Errorf("%+v, want Exited with 4", events)
	}
}

// An orphan may have had the number just before: its status is not the child's.
func TestAnOrphanThatHadTheNumberBefore(t *testing.T) {
	for _, dead := range []bool{false, true} {
		r := registry()
		r.forking = true
		pid, pidfd := child(t, "/bin/sh", "-c", "read x; exit 5")
		if dead {
			_ = syscall.Kill(pid, syscall.SIGTERM)
			dies(t, pid) // and the waiter is not there yet
		}
		r.early.put(pid, 77<<8, time.Now())
		if events := birth(r, pid, pidfd); len(events) != 1 || r.Orphans() != 1 {
			t.Errorf("dead %v: %+v and %d orphans, want Started and 1", dead, events, r.Orphans())
		}
		if r.PID(1); r.procs[pid] == nil {
			t.Errorf("dead %v: the child is not in the registry", dead)
		}
	}
}

// Whoever else waits for a child takes its status with it. Then it ended as if
// killed: a process that never ends would keep graced for ever.
func TestAStatusThatSomebodyElseTook(t *testing.T) {
	r := registry()
	r.forking = true
	pid, pidfd := child(t, "/bin/true")
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
		t.Fatal(err)
	}
	if events := birth(r, pid, pidfd); len(events) != 2 || events[1].Status.Signal() != syscall.SIGKILL {
		t.Errorf("%+v, want Started and Exited", events)
	}
}

// A program can stop itself before its pid is known. Who continues it has to
// hear of that.
func TestAChildThatStopsBeforeItsPidIsKnown(t *testing.T) {
	r := registry()
	r.forking = true
	pid, pidfd := child(t, "/bin/sh", "-c", "kill -STOP $$; exit 6") // SIGTSTP stops nothing in an orphaned group
	if _, err := peek(unix.P_PID, pid, unix.WSTOPPED); err != nil {
		t.Fatal(err)
	}
	r.consume(pid, unix.WNOHANG|unix.WUNTRACED)
	events := birth(r, pid, pidfd)
	if len(events) != 2 || events[1].Kind != Stopped || events[1].Signal != syscall.SIGSTOP || r.Orphans() != 0 {
		t.Errorf("%+v and %d orphans, want Started and Stopped", events, r.Orphans())
	}
}

// A failed exec's child is reaped by ForkExec or, if that is quicker, by the
// waiter. It is no orphan in either case.
func TestTheChildOfAFailedExecIsNoOrphan(t *testing.T) {
	r := registry()
	r.forking = true
	r.early.put(100, 253<<8, time.Now()) // Go's child, after it has told why
	r.early.put(101, 1<<8, time.Now())
	if p := r.born(1, 0, -1, syscall.ENOENT); p != nil || r.Orphans() != 1 || r.forking {
		t.Errorf("%v, %d orphans, want 1", p, r.Orphans())
	}
}

// What was started for nothing (the shim of a program that cannot be executed)
// comes and goes untold, whether it ends before or after that is known.
func TestAProcessThatIsNeverAnnounced(t *testing.T) {
	r := registry()
	r.forking = true
	pid, pidfd := child(t, "/bin/true")
	r.born(1, pid, pidfd, nil)
	dies(t, pid)
	r.consume(pid, unix.WNOHANG)
	if events := r.Take(); len(events) != 0 || r.Orphans() != 0 || len(r.procs) != 0 {
		t.Errorf("%+v, %d orphans, %v", events, r.Orphans(), r.procs)
	}
}

// A fork can hang for as long as it likes, while a fork bomb makes orphans.
func TestEarlyDoesNotGrowWithTheOrphans(t *testing.T) {
	var e early
	now := time.Unix(0, 0)
	e.begin(now)
	const every = time.Millisecond
	most, orphans := 0, 0
	const total = 200_000
	for pid := range total {
		now = now.Add(every)
		orphans += e.put(pid+2, 0, now)
		most = max(most, len(e.young)+len(e.old))
	}
	if limit := int(2*generation/every) + 2; most > limit {
		t.Errorf("%d entries, want at most %d", most, limit)
	}
	if orphans += e.flush(); orphans != total {
		t.Errorf("%d orphans, want %d", orphans, total)
	}
	if _, ok := e.take(total); ok {
		t.Error("an entry was left")
	}
}

// What was consumed in the last seconds is kept, also where these seconds
// are an hour of docker pause for graced, the forking thread included.
func TestEarlyKeepsWhatMayBeTheChild(t *testing.T) {
	var e early
	now := time.Unix(0, 0)
	e.begin(now)
	e.put(7, 42<<8, now)
	for i := range 20 {
		now = now.Add(time.Hour)
		e.put(100+i, 0, now)
	}
	if status, ok := e.take(7); !ok || status.ExitStatus() != 42 {
		t.Errorf("%#x, %v", status, ok)
	}
}

// However numbers are given anew and generations change, every end is counted
// once: as an orphan or as what was taken out.
func TestEarlyCountsEveryEndOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var e early
		now := time.Unix(0, 0)
		e.begin(now)
		put, counted := 0, 0
		for range random.IntN(3000) {
			now = now.Add(time.Duration(random.IntN(int(100 * time.Millisecond))))
			pid := 2 + random.IntN(50)
			switch random.IntN(10) {
			case 0:
				counted += e.put(pid, 0x137f, now) // stopped
			case 1:
				if status, ok := e.take(pid); ok && !status.Stopped() {
					counted++
				}
			default:
				put++
				counted += e.put(pid, 0, now)
			}
		}
		if counted += e.flush(); counted != put {
			t.Fatalf("%d ends counted, %d were there", counted, put)
		}
	}
}
