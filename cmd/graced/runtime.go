package main

import (
	"bytes"
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

// allThreads is how many graced needs at one time: main, the runtime's
// monitor, its template and its signal thread, the signal loop, the spawner, the
// waiter, the log writer, two that run Go code, and two that are in a system call
// meanwhile.
const allThreads = 12

// prewarm makes the threads that graced may need at once. In a container whose
// pids limit is used up the runtime cannot make one more, and it then ends the
// process: a fork bomb in the program would take PID 1 down, and the
// container with it.
func prewarm() {
	if tight() {
		return // there is so little room that the program needs it more
	}
	var gone sync.WaitGroup
	release := make(chan struct{})
	for made := 0; made < allThreads && threads(made) < allThreads; made++ {
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

// threads counts the threads there are by now; proc_pid_stat(5), field 20. Where
// there is no /proc it is the most likely number: the runtime has six, and each
// of made goroutines has taken one.
func threads(made int) int {
	const num = 17 // field 3 is the first after the name
	data, _ := os.ReadFile("/proc/self/stat")
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) <= num {
		return 6 + made
	}
	n, _ := strconv.Atoi(fields[num])
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
