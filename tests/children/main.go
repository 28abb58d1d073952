// Children is the programs of the end-to-end tests that are written in Go: it
// is which one by the name that it is started with, as busybox is. Those
// whose very point is a signal mask, a fork or a state that the Go runtime
// changes are in C, in the folder c.
//
// It is a program of its own and not the test binary started anew: that one is
// built with the race detector, so each start of it would take a second to end,
// need a C library in the container, and be no ordinary program.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// longest bounds every program's life.
const longest = 55 * time.Second

var programs = map[string]func(args []string) int{
	"begun":       begun,
	"enter":       enter,
	"first":       first,
	"http_abrupt": httpAbrupt,
	"http_slow":   httpSlow,
	"http_stream": httpStream,
	"last_answer": lastAnswer,
	"slow_boot":   slowBoot,
	"tty_child":   ttyChild,
}

func main() {
	name := filepath.Base(os.Args[0])
	program, ok := programs[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "children: there is no program %q\n", name)
		os.Exit(64)
	}
	if name != "enter" { // what it executes has bounds of its own
		time.AfterFunc(longest, func() {
			say("own limit reached")
			os.Exit(66)
		})
	}
	os.Exit(program(os.Args[1:]))
}

// begun tells how much processor time, in nanoseconds, a program written in Go
// has used when it begins.
func begun([]string) int {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		fail("%v", err)
	}
	say("%d", used.Utime.Nano()+used.Stime.Nano())
	return 0
}

// say writes a line at once, so that lines of several processes do not mix.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stdout, format+"\n", args...)
}

// arg is argument i, or usual.
func arg(args []string, i int, usual string) string {
	if i < len(args) {
		return args[i]
	}
	return usual
}

// seconds reads argument i.
func seconds(args []string, i int, usual string) time.Duration {
	f, err := strconv.ParseFloat(arg(args, i, usual), 64)
	if err != nil {
		fail("%q is no number of seconds", args[i])
	}
	return min(time.Duration(f*float64(time.Second)), longest)
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(64)
}
