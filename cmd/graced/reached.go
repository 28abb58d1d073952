package main

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"graced/reaper"
)

// reached knows which descendants got a signal of a ladder because it went to a
// process group or a tree. They are not to get a second one when they are left
// behind: many programs take that for "at once".
type reached struct {
	mu     sync.Mutex
	groups map[int]uint64 // the ticks since boot when one was signalled last
	those  map[reaper.Descendant]bool
	last   chan struct{} // closed when the tree that was signalled last was
}

// tick is the unit in which proc_pid_stat(5) tells starts: USER_HZ, which is 100
// wherever Go runs.
const tick = 10 * time.Millisecond

// group notes that a process group was signalled just now.
func (r *reached) group(pid int) {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.groups == nil {
		r.groups = map[int]uint64{}
	}
	r.groups[pid] = uint64(time.Duration(now.Nano()) / tick)
}

// tree makes the caller the next to signal a tree: once before is closed, and it
// closes done then.
func (r *reached) tree() (before, done chan struct{}) {
	before, done = r.trees(), make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = done
	return before, done
}

// trees is closed once all trees were signalled that were to be.
func (r *reached) trees() chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = make(chan struct{})
		close(r.last)
	}
	return r.last
}

// add notes those of a tree that were signalled.
func (r *reached) add(tree []reaper.Descendant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.those == nil {
		r.those = map[reaper.Descendant]bool{}
	}
	for _, d := range tree {
		r.those[reaper.Descendant{PID: d.PID, Start: d.Start}] = true
	}
}

// by says whether one was signalled. What started in the moment of a signal to
// its group, perhaps what the group runs to clean up, was not for certain.
func (r *reached) by(d reaper.Descendant) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, grouped := r.groups[d.Group]
	return grouped && d.Start < at || r.those[reaper.Descendant{PID: d.PID, Start: d.Start}]
}
