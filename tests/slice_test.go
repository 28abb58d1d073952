package tests

import (
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// graced's threads ask the scheduler for short slices, so that they run soon
// where much else wants the processor; the program is scheduled as it would be
// without graced.
func TestShortSlicesAreNotInherited(t *testing.T) {
	sandbox(t)
	r := start(t, "graced", "--ready", "started", "--", "sleep", "50")
	r.ready(t)
	usual, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var child int
	eventually(5*time.Second, func() bool {
		for _, pid := range childrenOf(r.pid) {
			child = pid
		}
		return child != 0
	})
	if got, err := unix.SchedGetAttr(child, 0); err != nil || *got != *usual {
		t.Errorf("the program has %+v, %v; want %+v", got, err, usual)
	}
	threads, err := os.ReadDir("/proc/" + strconv.Itoa(r.pid) + "/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		tid, _ := strconv.Atoi(thread.Name())
		got, err := unix.SchedGetAttr(tid, 0)
		if err != nil {
			t.Fatal(err)
		}
		// a kernel before 6.12 has no slices of their own, and tells of none
		if usual.Runtime != 0 && got.Runtime != 100_000 || got.Nice != usual.Nice || got.Policy != usual.Policy {
			t.Errorf("thread %d has %+v", tid, got)
		}
	}
}
