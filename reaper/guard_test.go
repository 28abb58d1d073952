package reaper

import (
	"errors"
	"syscall"
	"testing"
	"time"
)

// A panic in a start leaves the registry usable, and who asked gets an answer.
func TestAPanicInAStart(t *testing.T) {
	r := registry()
	procs := r.procs
	r.procs = nil // to enter a child panics, under the lock
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was not handed on to guard")
			}
		}()
		r.serve(request{9, Command{Argv: []string{"/bin/true"}, Stderr: 2}})
	}()
	var start *StartError
	if events := r.Take(); len(events) != 1 || events[0].Kind != NotStarted || events[0].ID != 9 || !errors.As(events[0].Err, &start) {
		t.Errorf("%+v, want NotStarted", events)
	}
	if r.forking {
		t.Error("a fork seems to be under way for ever")
	}
	r.procs = procs
	r.serve(request{10, Command{Argv: []string{"/bin/true"}, Stderr: 2}})
	if events := r.Take(); len(events) != 1 || events[0].Kind != Started {
		t.Errorf("%+v, want Started", events)
	}
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); err == syscall.ECHILD {
			break
		}
	}
}

// Also if the fork itself was what panicked: no fork is under way then, and what
// was consumed meanwhile are orphans.
func TestAPanicInAFork(t *testing.T) {
	r := registry()
	r.forking = true
	r.early.put(100, 0, time.Now())
	r.abandon(9, "x")
	if events := r.Take(); len(events) != 1 || events[0].Kind != NotStarted || r.forking || r.Orphans() != 1 {
		t.Errorf("%+v, forking %v, %d orphans", events, r.forking, r.Orphans())
	}
}

// The two goroutines are started again after a panic, and the panic is told.
func TestGuard(t *testing.T) {
	faults := make(chan any, 8)
	r := registry()
	r.options.Fault = func(where string, v any) { faults <- where + ": " + v.(string) }
	runs := make(chan struct{})
	go r.guard("waiter", func() {
		runs <- struct{}{}
		<-runs
		panic("again")
	})
	for range 2 {
		<-runs
		runs <- struct{}{}
		if got := <-faults; got != "reaper waiter: again" {
			t.Errorf("told %q", got)
		}
	}
	<-runs
}
