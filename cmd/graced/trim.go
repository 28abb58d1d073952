package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
)

// trimAfter is how long graced runs before it lets go of what only its start
// needed. A job that ends before then does not pay for it.
const trimAfter = time.Second

// trimEach is the number of requests after which graced does so again, when a
// burst of them is over. Counting needs no timer: an idle graced never wakes up.
const trimEach = 1000

// trimSoon has memory given back in a moment.
func (h *host) trimSoon() {
	time.AfterFunc(trimAfter, func() { h.background("trim", trim) })
}

// trim gives memory back: the heap that is free, and the pages of graced's own
// program that are mapped. Those stay in the page cache and come
// back when they are used; until then a container's first process that does
// nothing does not look as if it used 12 MB.
func trim() {
	debug.FreeOSMemory()
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer file.Close()
	for _, m := range cleanMappings(file, self) {
		// of a private mapping of a file it drops the pages, which are read again
		// from the file when they are touched; madvise(2)
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.start, m.length, syscall.MADV_DONTNEED)
	}
}

type mapping struct{ start, length uintptr }

// cleanMappings reads proc_pid_smaps(5) and gives the mappings of path that
// are read-only and have no page of their own: a changed one, as of a program
// that was relocated, would be lost.
func cleanMappings(smaps io.Reader, path string) []mapping {
	var found []mapping
	var current *mapping
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := bytes.Fields(lines.Bytes())
		switch {
		case len(fields) >= 6 && bytes.IndexByte(fields[0], '-') > 0:
			current = nil
			from, to, ok := bytes.Cut(fields[0], []byte("-"))
			start, err1 := strconv.ParseUint(string(from), 16, 64)
			end, err2 := strconv.ParseUint(string(to), 16, 64)
			if ok && err1 == nil && err2 == nil && string(fields[5]) == path && len(fields[1]) == 4 && fields[1][1] == '-' && fields[1][3] == 'p' {
				found = append(found, mapping{uintptr(start), uintptr(end - start)})
				current = &found[len(found)-1]
			}
		case current != nil && len(fields) >= 2 && string(fields[0]) == "Anonymous:" && string(fields[1]) != "0":
			found, current = found[:len(found)-1], nil
		}
	}
	return found
}
