package main

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"graced/reaper"
)

// Who was signalled with a group is who was there before; who was with a tree is
// who was found.
func TestReached(t *testing.T) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		t.Fatal(err)
	}
	ticks := uint64(time.Duration(now.Nano()) / tick)
	var r reached
	old := reaper.Descendant{PID: 7, Group: 5, Start: ticks - 100}
	if r.by(old) {
		t.Error("before any signal")
	}
	r.group(5)
	other := reaper.Descendant{PID: 8, Group: 6, Start: ticks - 100}
	for d, want := range map[reaper.Descendant]bool{
		old:                                    true,
		other:                                  false,
		{PID: 9, Group: 5, Start: ticks + 100}: false, // started since
	} {
		if r.by(d) != want {
			t.Errorf("%+v: %v", d, !want)
		}
	}
	r.add([]reaper.Descendant{{PID: 8, Group: 6, Start: other.Start}})
	later := other
	later.Start++
	if !r.by(other) || r.by(later) {
		t.Error("one of a tree, or a later process with its number")
	}
}

// Trees are signalled one after the other, and a survey waits for all of them.
func TestTreesInTheirOrder(t *testing.T) {
	var r reached
	<-r.trees()
	first, firstDone := r.tree()
	second, secondDone := r.tree()
	<-first
	select {
	case <-second:
		t.Error("the second before the first")
	case <-r.trees():
		t.Error("a survey before the first")
	default:
	}
	close(firstDone)
	<-second
	close(secondDone)
	<-r.trees()
}
