package main

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// shortSlice is how long graced's threads want the processor at a time, in
// nanoseconds: the least that Linux takes.
const shortSlice = 100_000

// askForShortSlices has the scheduler run each thread of graced soon after it
// wakes up, whatever else wants the processor. Since Linux 6.12 a thread with a
// short slice has an early deadline (EEVDF; sched_setattr(2), the runtime of a
// SCHED_OTHER thread); an older kernel takes no notice. It needs no privilege,
// and gives graced no more of the processor than before. The exit needs it most:
// each of the threads has to run once more for it, and the first process of a
// container is not gone before.
//
// The program does not inherit it (SCHED_FLAG_RESET_ON_FORK). With the slice
// that flag resets a negative nice value and utilisation clamps; where there
// are such, they are the program's, and graced does without.
func askForShortSlices() {
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL || attr.Nice < 0 || attr.Util_min != 0 || attr.Util_max != 0 && attr.Util_max != 1024 {
		return
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, task := range tasks {
		if tid, err := strconv.Atoi(task.Name()); err == nil {
			_ = unix.SchedSetAttr(tid, &unix.SchedAttr{
				Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: attr.Nice,
				Flags: unix.SCHED_FLAG_RESET_ON_FORK, Runtime: shortSlice,
			}, 0)
		}
	}
}
