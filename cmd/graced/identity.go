package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"graced/internal/plan"
	"graced/reaper"
	"graced/supervisor"
)

// identify says what a process is. Its executable and its name are read at
// once. Its command line is in its own memory, so reading it can wait for a
// page that does not come; it is read only where it decides, and not waited
// for for long.
func identify(pid int, terminal bool) plan.Identity {
	if !ownProc() {
		return plan.Identity{Terminal: terminal}
	}
	dir := "/proc/" + strconv.Itoa(pid)
	id := plan.Identity{Comm: firstLine(dir + "/comm"), Terminal: terminal}
	if exe, err := os.Readlink(dir + "/exe"); err == nil {
		id.Exe = filepath.Base(strings.TrimSuffix(exe, " (deleted)"))
	}
	if plan.NeedsTitle(id) {
		id.Title = title(dir + "/cmdline")
	}
	return id
}

// ownProc says whether /proc is that of graced's own PID namespace. That of
// another one (unshare --pid without --mount-proc) shows strangers under the
// numbers of graced's processes.
var ownProc = sync.OnceValue(func() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
})

// titleWithin bounds the wait for a command line.
const titleWithin = 50 * time.Millisecond

// titles has an entry while a command line is being read. Each read that hangs
// keeps a thread of graced, so there is one at a time: behind one that
// hangs, the other processes are known by their names only.
var (
	titles     = make(chan struct{}, 1)
	titleBegan atomic.Int64 // the Unix time in nanoseconds of the last entry
)

func title(path string) []string {
	timer := time.NewTimer(titleWithin)
	defer timer.Stop()
	select {
	case titles <- struct{}{}:
	default:
		if time.Since(time.Unix(0, titleBegan.Load())) > titleWithin {
			return nil // that one hangs; a survey of a thousand processes must not wait for each
		}
		select {
		case titles <- struct{}{}:
		case <-timer.C:
			return nil
		}
	}
	titleBegan.Store(time.Now().UnixNano())
	got := make(chan []string, 1)
	go func() {
		defer func() { <-titles }()
		data, _ := os.ReadFile(path)
		got <- words(data)
	}()
	select {
	case words := <-got:
		return words
	case <-timer.C:
		return nil
	}
}

// words splits a command line of /proc. Trailing empty arguments are lost. A
// zombie has none, nor has a process whose command line cannot be read.
func words(data []byte) []string {
	data = bytes.TrimRight(data, "\x00")
	if len(data) == 0 {
		return nil
	}
	var words []string
	for word := range bytes.SplitSeq(data, []byte{0}) {
		words = append(words, string(word))
	}
	return words
}

func firstLine(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return line
}

// leftover describes a process that was left behind.
func leftover(d reaper.Descendant) supervisor.Leftover {
	return supervisor.Leftover{PID: d.PID, Start: d.Start, Name: d.Comm, ID: identify(d.PID, d.Terminal), Ignores: ignores(d.PID)}
}

// ignores reads SigIgn of proc_pid_status(5).
func ignores(pid int) uint64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(data, []byte("\nSigIgn:\t"))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	mask, _ := strconv.ParseUint(string(line), 16, 64)
	return mask
}
