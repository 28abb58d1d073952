package reaper

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// early keeps what was consumed while a fork was under way. A child can be dead
// and consumed before its parent knows its pid; then its status is here. All
// else in it are orphans.
//
// A fork can hang (the exec of a file on a dead server) while orphans keep
// coming, so it must not grow with them. The parent of a vfork is woken before
// its child is a zombie, so an entry that is older than a few seconds cannot be
// the child's: there are two generations, and the older one is dropped, as
// orphans, when the younger one has been filled for so long.
type early struct {
	young, old map[int]syscall.WaitStatus
	age        time.Duration // of young
	last       time.Time     // when age was brought up to date
}

const (
	generation = 5 * time.Second
	// ageStep is the most that one entry makes a generation older: in the
	// time that graced is frozen or starved, the forking thread is so too.
	ageStep = 50 * time.Millisecond
)

// begin is the start of a fork.
func (e *early) begin(now time.Time) { e.age, e.last = 0, now }

// put keeps what pid was consumed with. It gives the number of orphans that are
// known as such by that.
func (e *early) put(pid int, status syscall.WaitStatus, now time.Time) (orphans int) {
	e.age += min(now.Sub(e.last), ageStep)
	e.last = now
	if e.age >= generation {
		orphans = ended(e.old)
		e.old, e.young, e.age = e.young, nil, 0
	}
	if before, ok := e.take(pid); ok && !before.Stopped() {
		orphans++ // the number was given anew already: at most the last to have it is the child
	}
	if e.young == nil {
		e.young = map[int]syscall.WaitStatus{}
	}
	e.young[pid] = status
	return orphans
}

// take takes the entry of pid out, if there is one.
func (e *early) take(pid int) (syscall.WaitStatus, bool) {
	for _, m := range []map[int]syscall.WaitStatus{e.young, e.old} {
		if status, ok := m[pid]; ok {
			delete(m, pid)
			return status, true
		}
	}
	return 0, false
}

// takeFailed takes out the child of a fork that failed, if it is there: what
// ForkExec could not reap itself because the waiter was quicker. Its pid is
// never known; Go's child leaves with this code when its exec fails.
func (e *early) takeFailed() {
	const code = 253
	for _, m := range []map[int]syscall.WaitStatus{e.young, e.old} {
		for pid, status := range m {
			if status.Exited() && status.ExitStatus() == code {
				delete(m, pid)
				return
			}
		}
	}
}

// flush empties it at the end of a fork. It gives the number of orphans.
func (e *early) flush() (orphans int) {
	orphans = ended(e.young) + ended(e.old)
	e.young, e.old = nil, nil
	return orphans
}

// ended counts what was reaped, not only stopped.
func ended(m map[int]syscall.WaitStatus) (n int) {
	for _, status := range m {
		if !status.Stopped() {
			n++
		}
	}
	return n
}

// born ends a fork: it enters the new child, or finds what has become of it
// already. pidfd stands for the child, -1 if the kernel has no such thing.
func (r *Reaper) born(id ID, pid, pidfd int, err error) *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forking = false
	if err != nil {
		r.early.takeFailed()
		r.orphaned(r.early.flush())
		return nil
	}
	p := &process{id: id, pid: pid}
	status, ok := r.early.take(pid)
	switch gone := consumed(pid, pidfd); { // asked under the lock, so it stays true
	case gone && ok:
		p.over, p.status = true, status
	case gone:
		// Somebody else has waited for it, and its status is lost. Never to
		// tell that it ended would be worse.
		p.over, p.status = true, syscall.WaitStatus(syscall.SIGKILL)
	case ok && status.Stopped():
		p.stop = status.StopSignal()
	case ok:
		r.orphaned(1) // one that had the same number before
	}
	if !p.over {
		r.procs[pid] = p
	}
	r.orphaned(r.early.flush())
	return p
}

// consumed says whether the child was waited for already. A descriptor knows
// it for certain; the number (Linux before 5.4) could be another child's by now.
func consumed(pid, pidfd int) bool {
	if pidfd >= 0 {
		if _, err := peek(unix.P_PIDFD, pidfd, unix.WEXITED|unix.WNOHANG); err != syscall.EINVAL {
			return err == syscall.ECHILD
		}
	}
	_, err := peek(unix.P_PID, pid, unix.WEXITED|unix.WNOHANG)
	return err == syscall.ECHILD
}
