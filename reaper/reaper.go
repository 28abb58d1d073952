// Package reaper starts processes, waits for them and signals them. It is the
// only place of graced that does: a pid is retired and signalled under one
// lock, so that no signal can reach a stranger that got the number of a dead
// child, and one waiter consumes every exit, so that no status is lost to
// another one.
package reaper

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ID names a process for whoever had it started. It stays when the pid changes.
type ID int

// Reaper is the one owner of the children. Its methods may be called from any
// goroutine and, but for Descendants, KillAll and SignalTree, never wait for
// anything but a short lock.
type Reaper struct {
	pid     int
	options Options

	mu      sync.Mutex
	procs   map[int]*process // by pid, those not yet consumed
	byID    map[ID]*process  // those of procs that were told as Started
	forking bool             // a fork is under way: there may be a child whose pid is not known yet
	early   early            // what was consumed meanwhile: perhaps that one
	events  []Event          // for Take
	hushed  bool             // an orphan was told of just now
	more    bool             // and there were more since

	orphans atomic.Uint64
	wake    chan struct{}
	spawned chan struct{} // there may be children again
	queue   chan request
}

// process is a child that was asked for. Until it is known to have executed its
// program it is not told of: what becomes of it before waits here, and is never
// told if the start failed.
type process struct {
	id     ID
	pid    int
	told   bool               // Started was told
	over   bool               // it was consumed before that
	status syscall.WaitStatus // of one that is over
	stop   syscall.Signal     // it was stopped by that before it was told
}

// Options are what a Reaper needs to know.
type Options struct {
	// Children has an entry after a SIGCHLD.
	Children <-chan os.Signal
	// Stops reports children that are stopped by a signal too; for a child that
	// holds a terminal.
	Stops bool
	// Most is the largest number of processes that are asked for at one time.
	Most int
	// Fault takes a panic of one of the reaper's own goroutines.
	Fault func(where string, v any)
}

// Event is what happened to a process that was asked for.
type Event struct {
	Kind EventKind
	ID   ID
	PID  int
	At   time.Time
	// Status is that of an Exited process, Signal what a Stopped one was stopped by.
	Status syscall.WaitStatus
	Signal syscall.Signal
	// Err says why a process is NotStarted: a *StartError.
	Err error
}

// EventKind is what an Event says.
type EventKind uint8

const (
	Started EventKind = iota
	NotStarted
	Exited
	Stopped
)

// New makes graced the reaper of whatever its processes leave behind, and
// starts the spawner and the waiter, each on a thread of its own.
func New(o Options) (*Reaper, error) {
	r := &Reaper{
		pid:     os.Getpid(),
		options: o,
		procs:   map[int]*process{},
		byID:    map[ID]*process{},
		wake:    make(chan struct{}, 1),
		spawned: make(chan struct{}, 1),
		queue:   make(chan request, max(o.Most, 1)),
	}
	if r.pid != 1 {
		// orphans of our descendants would go to somebody else's init
		if err := setSubreaper(); err != nil {
			return nil, err
		}
	}
	go r.guard("spawner", r.spawner)
	go r.guard("waiter", r.waiter)
	return r, nil
}

// guard runs one of the two goroutines without which graced is blind. It is
// started again after a panic: its state is in r.
func (r *Reaper) guard(where string, run func()) {
	for {
		func() {
			defer func() {
				if v := recover(); v != nil && r.options.Fault != nil {
					r.options.Fault("reaper "+where, v)
				}
			}()
			run()
		}()
		time.Sleep(100 * time.Millisecond) // a panic that comes again must not burn a core
	}
}

// Wake has an entry when Take has something, or orphans were reaped, or no
// child is left.
func (r *Reaper) Wake() <-chan struct{} { return r.wake }

// Take returns what happened since it was last called.
func (r *Reaper) Take() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	return events
}

// tell adds an event; the lock is held.
func (r *Reaper) tell(e Event) {
	e.At = time.Now()
	r.events = append(r.events, e)
	poke(r.wake)
}

// Orphans is the number of processes reaped that nobody asked for: what other
// processes left behind.
func (r *Reaper) Orphans() uint64 { return r.orphans.Load() }

// PID is the pid of a process that was started and not yet reaped.
func (r *Reaper) PID(id ID) (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.byID[id]
	if !ok {
		return 0, false
	}
	return p.pid, true
}

// hush is how long it is not told again that an orphan was reaped: a program that
// forks without end would otherwise keep the loop from its own work. That the
// last child is gone is told at once.
const hush = 10 * time.Millisecond

// orphaned counts orphans; the lock is held.
func (r *Reaper) orphaned(n int) {
	if n == 0 {
		return
	}
	r.orphans.Add(uint64(n))
	if r.hushed {
		r.more = true
		return
	}
	r.hushed = true
	poke(r.wake)
	time.AfterFunc(hush, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.hushed = false
		if r.more {
			r.more = false
			poke(r.wake)
		}
	})
}

// Signal sends sig to a process, or with group to its process group. The
// process cannot be reaped meanwhile, so its pid cannot be another's. One that
// has left for another group and leaves its own empty gets the signal by itself.
// ESRCH: it is gone. EPERM: it is another user's now.
func (r *Reaper) Signal(id ID, sig syscall.Signal, group bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.byID[id]
	if !ok {
		return syscall.ESRCH
	}
	if group {
		if err := syscall.Kill(-p.pid, sig); err != syscall.ESRCH {
			return err
		}
	}
	return syscall.Kill(p.pid, sig)
}

// poke puts an entry into a channel that holds one.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
