package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
)

// settleRuntime makes the Go runtime one that can be PID 1.
func settleRuntime() {
	// The settings of the environment are the child's (see boot); where they
	// could not be shed, they are overridden here.
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(math.MaxInt64)
}

// gcPercent lets the heap grow to a megabyte between collections, not four:
// after ten thousand probes graced then has 11 MB resident, not 13, and the
// probes take as long.
const gcPercent = 25

// allThreads is how many graced needs at one time: the runtime's monitor, its
// template, its signal thread and its poller, the spawner, the waiter, two that
// run Go code, and those that are in a system call meanwhile: one that writes the
// log, one that accepts a prober's connection, one that looks at /proc or the
// sockets, and one to spare.
const allThreads = 12

// prewarm makes the threads that graced may need at once. In a container whose
// pids limit is used up the runtime cannot make one more, and it then ends the
// process: a fork bomb in the program would take PID 1 down, and the
// container with it. It comes before the first fork, and once the signals are
// taken over: that needs a thread now and then, and with all of these locked it
// would have further ones made.
func prewarm() {
	// Two threads of Go code are enough, on a machine of any size. Setting it also
	// ends the runtime's own watch of the container's CPU limit, which would
	// wake up an idle graced.
	defer runtime.GOMAXPROCS(2)
	if tight() {
		return // there is so little room that the program needs it more
	}
	runtime.GOMAXPROCS(1) // one after another: nobody has a thread made for what runs beside
	var gone sync.WaitGroup
	release := make(chan struct{})
	for made := 0; made < allThreads && threads() < allThreads; made++ {
		parked := make(chan struct{})
		gone.Go(func() {
			// a locked goroutine that waits keeps its thread from being used for
			// another, so each gets one of its own; unlocked, they stay as spares
			runtime.LockOSThread()
			close(parked)
			<-release
			runtime.UnlockOSThread()
		})
		<-parked
	}
	close(release)
	gone.Wait() // only now are they idle: before, whoever needs one would make another
}

// threads counts the threads there are, and those that are being made. It asks
// the runtime and not /proc: while this thread would be in that system call the
// runtime might make another one in its place.
func threads() int {
	n, _ := runtime.ThreadCreateProfile(nil)
	return n
}

// tight says whether the pids limit of the container is under what graced and
// a small program need: 12 threads and a few processes.
func tight() bool {
	for _, path := range [...]string{"/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"} {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		limit, err := strconv.Atoi(strings.TrimSpace(string(data)))
		return err == nil && limit < 16 // "max" is no number
	}
	return false
}
