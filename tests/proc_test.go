package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// status reads a number of /proc/PID/status: Threads, VmRSS (in kB).
func status(t testing.TB, pid int, field string) int {
	t.Helper()
	return statusOf(t, fmt.Sprintf("/proc/%d/status", pid), field)
}

func statusOf(t testing.TB, path, field string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			n, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			return n
		}
	}
	t.Fatalf("%s has no %s", path, field)
	return 0
}

// descriptors counts the open files of a process.
func descriptors(t testing.TB, pid int) int {
	t.Helper()
	names, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// wakeups counts how often the threads of a process went to sleep of
// themselves, and so had been awake.
func wakeups(t testing.TB, pid int) int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("no threads of %d: %v", pid, err)
	}
	n := 0
	for _, path := range tasks {
		n += statusOf(t, path, "voluntary_ctxt_switches")
	}
	return n
}

// cpu is the processor time that a process has used, in ticks of 10 ms.
func cpu(t testing.TB, pid int) time.Duration {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+2:]))
	user, _ := strconv.Atoi(fields[11]) // fields 14 and 15 of proc_pid_stat(5)
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}
