package reaper

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childState is what waitid(2) says of a child without consuming it.
type childState struct {
	pid     int
	stopped bool
}

// siginfo is the part of siginfo_t that waitid fills in; the union starts at
// the word after si_code that its largest member is aligned to: byte 12 on
// 32-bit machines, 16 on 64-bit ones. unix.Siginfo does not name the fields.
type siginfo [128]byte

const unionOffset = 12 + 4*(unsafe.Sizeof(uintptr(0))/8)

func (s *siginfo) code() int32 { return *(*int32)(unsafe.Pointer(&s[8])) }
func (s *siginfo) pid() int32  { return *(*int32)(unsafe.Pointer(&s[unionOffset])) }

// Values of si_code for SIGCHLD; sigaction(2).
const cldStopped = 5

// waitNext waits until some child is in one of the states of options, and
// leaves it there, so that its number cannot be another's yet. With WNOHANG
// and no such child the pid is 0.
func waitNext(options int) (childState, error) { return peek(unix.P_ALL, 0, options) }

// peek is waitNext for the children that idType and id choose; waitid(2).
func peek(idType, id, options int) (childState, error) {
	var info siginfo
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, uintptr(idType), uintptr(id), uintptr(unsafe.Pointer(&info)), uintptr(options|unix.WNOWAIT), 0, 0)
		switch errno {
		case 0:
			return childState{int(info.pid()), info.code() == cldStopped}, nil
		case syscall.EINTR:
			continue
		}
		return childState{}, errno
	}
}

// waiter consumes every exit. It peeks first, so that the number is still the
// dead child's while it is looked up under the lock.
func (r *Reaper) waiter() {
	runtime.LockOSThread() // a thread that only waits; it is one of the counted ones
	options := unix.WEXITED
	if r.options.Stops {
		options |= unix.WSTOPPED
	}
	for {
		child, err := waitNext(options)
		switch {
		case err == syscall.ECHILD:
			poke(r.wake) // nothing is left: whoever waits for that looks now
			// PID 1 gets children without having any: what a process leaves
			// that was put into the container from outside. SIGCHLD tells.
			select {
			case <-r.options.Children:
			case <-r.spawned:
			}
		case err != nil:
			// cannot be: EINVAL would be a wrong option. Not to spin is all that is left.
			panic("waitid: " + err.Error())
		case child.stopped:
			r.consume(child.pid, unix.WNOHANG|unix.WUNTRACED)
		default:
			r.consume(child.pid, unix.WNOHANG)
		}
	}
}

// consume takes the zombie pid, or the news that it was stopped, and finds
// whose it is.
func (r *Reaper) consume(pid, options int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var status syscall.WaitStatus
	got, err := syscall.Wait4(pid, &status, options, nil)
	if err != nil || got != pid {
		return // ForkExec itself reaps a child whose exec failed; a stopped one may go on already
	}
	p, known := r.procs[pid]
	switch {
	case known && status.Stopped():
		r.suspend(p, status.StopSignal())
	case known:
		r.retire(p, status)
	case r.forking:
		r.orphaned(r.early.put(pid, status, time.Now())) // who it was is known when the fork returns
	case !status.Stopped():
		r.orphaned(1)
	}
}

// retire takes p out of the registry, after it was consumed; the lock is held.
func (r *Reaper) retire(p *process, status syscall.WaitStatus) {
	delete(r.procs, p.pid)
	if !p.told {
		p.over, p.status = true, status
		return
	}
	if r.byID[p.id] == p {
		delete(r.byID, p.id)
	}
	r.tell(Event{Kind: Exited, ID: p.id, PID: p.pid, Status: status})
}

// suspend takes note that p was stopped; the lock is held.
func (r *Reaper) suspend(p *process, by syscall.Signal) {
	if !p.told {
		p.stop = by
		return
	}
	r.tell(Event{Kind: Stopped, ID: p.id, PID: p.pid, Signal: by})
}

// Childless says whether there is no child left, alive or not. For PID 1 and
// for a subreaper that means no descendant either.
func (r *Reaper) Childless() bool {
	_, err := waitNext(unix.WEXITED | unix.WNOHANG)
	return err == syscall.ECHILD
}

func setSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }
