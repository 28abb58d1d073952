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

// settleRuntime makes the Go runtime one that can be PID 1, before the first
// fork.
func settleRuntime() {
	// The settings of the environment are the child's (see boot); where they
	// could not be shed, they are overridden here.
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(math.MaxInt64)
	// Two threads of Go code are enough, on a machine of any size. Setting it also
	// ends the runtime's own watch of the container's CPU limit, which would
	// wake up an idle graced.
	runtime.GOMAXPROCS(2)
	prewarm()
}

// gcPercent lets the heap grow to a megabyte between collections, not four:
// after ten thousand probes graced then has 11 MB resident, not 13, and the
// probes take as long.
const gcPercent = 25

// spareThreads are made at the start. With those that the runtime and graced
// keep (main, the runtime's monitor, its template, the signal loop, the
// spawner, the waiter, the log writer) they make at most 12.
const spareThreads = 4

// prewarm makes the threads that graced may need at once. In a container whose
// pids limit is used up the runtime cannot make one more, and it then ends the
// process: a fork bomb in the program would take PID 1 down, and the
// container with it.
func prewarm() {
	if tight() {
		return // there is so little room that the program needs it more
	}
	var parked sync.WaitGroup
	release := make(chan struct{})
	for range spareThreads {
		parked.Add(1)
		go func() {
			// a locked goroutine that waits keeps its thread from being used for
			// another, so each gets one of its own; unlocked, they stay as spares
			runtime.LockOSThread()
			parked.Done()
			<-release
			runtime.UnlockOSThread()
		}()
	}
	parked.Wait()
	close(release)
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
