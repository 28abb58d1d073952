// Package signals knows the names and numbers of signals, which of them ask
// for a stop, and how they reach graced.
//
// It imports neither fmt nor strings: the sub-package takeover has to be ready
// before any of the larger packages of the program start (see there), and Go
// starts packages in the order of their imports.
package signals

import (
	"errors"
	"strconv"
	"syscall"
)

// The C library keeps the first two real-time signals of the kernel (32, 33)
// for its threads, so that SIGRTMIN is 34 for every program and container
// tool, and SIGRTMIN+3 is 37; signal(7).
const (
	RTMin = syscall.Signal(34)
	RTMax = syscall.Signal(64)
)

// Max is the highest signal number that Linux knows.
const Max = 64

// names has the standard signals by their numbers on every architecture that
// Go knows but MIPS; signal(7). A table of our own, since
// unix.SignalName has no real-time signals and is empty for some.
var names = [32]string{
	1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 5: "TRAP", 6: "ABRT", 7: "BUS", 8: "FPE",
	9: "KILL", 10: "USR1", 11: "SEGV", 12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM",
	16: "STKFLT", 17: "CHLD", 18: "CONT", 19: "STOP", 20: "TSTP", 21: "TTIN", 22: "TTOU",
	23: "URG", 24: "XCPU", 25: "XFSZ", 26: "VTALRM", 27: "PROF", 28: "WINCH", 29: "IO",
	30: "PWR", 31: "SYS",
}

// aliases are second names that signal(7) and kill(1) accept.
var aliases = [...]struct {
	name string
	sig  syscall.Signal
}{{"IOT", 6}, {"CLD", 17}, {"POLL", 29}}

// Name gives the name with which users and logs know sig: SIGTERM, SIGRTMIN+3,
// and "signal 77" for a number that Linux does not have.
func Name(sig syscall.Signal) string {
	switch n := int(sig); {
	case n > 0 && n < len(names):
		return "SIG" + names[n]
	case sig == RTMin:
		return "SIGRTMIN"
	case sig == RTMax:
		return "SIGRTMAX"
	case sig > RTMin && sig < RTMax:
		return "SIGRTMIN+" + strconv.Itoa(n-int(RTMin))
	default:
		return "signal " + strconv.Itoa(n)
	}
}

// Parse reads a signal: a name with or without SIG in either case (SIGTERM,
// term), a number (15), or a real-time signal (SIGRTMIN, RTMIN+3, RTMAX-1).
// 32 and 33, which the C library keeps for itself, are refused, since no
// program can be sent them in good faith.
func Parse(text string) (syscall.Signal, error) {
	name := upper(text)
	if name == "" {
		return 0, errors.New(`empty signal name; write one such as SIGTERM`)
	}
	if n, err := strconv.Atoi(name); err == nil {
		switch {
		case n == 32 || n == 33:
			return 0, errors.New("signal " + name + " is kept by the C library for its threads; real-time signals for programs begin at 34, SIGRTMIN")
		case n < 1 || n > Max:
			return 0, errors.New("signal " + name + " does not exist; numbers go from 1 to 64")
		}
		return syscall.Signal(n), nil
	}
	if len(name) > 3 && name[:3] == "SIG" {
		name = name[3:]
	}
	for n, known := range names {
		if known != "" && known == name {
			return syscall.Signal(n), nil
		}
	}
	for _, a := range aliases {
		if a.name == name {
			return a.sig, nil
		}
	}
	if sig, ok := realTime(name); ok {
		return sig, nil
	}
	return 0, unknown(text, name)
}

// realTime reads RTMIN, RTMIN+N, RTMAX and RTMAX-N.
func realTime(name string) (syscall.Signal, bool) {
	if len(name) < 5 {
		return 0, false
	}
	base, rest := name[:5], name[5:]
	var from, sign int
	switch base {
	case "RTMIN":
		from, sign = int(RTMin), 1
	case "RTMAX":
		from, sign = int(RTMax), -1
	default:
		return 0, false
	}
	if rest == "" {
		return syscall.Signal(from), true
	}
	if len(rest) < 2 || (sign == 1) != (rest[0] == '+') || (sign == -1) != (rest[0] == '-') || rest[1] < '0' || rest[1] > '9' {
		return 0, false
	}
	n, err := strconv.Atoi(rest[1:])
	if err != nil || n > int(RTMax-RTMin) {
		return 0, false
	}
	return syscall.Signal(from + sign*n), true
}

// unknown is the error for a name that is none, with the nearest known one.
func unknown(text, name string) error {
	msg := "unknown signal " + strconv.Quote(text)
	best, near := 3, ""
	for _, known := range names[1:] {
		// as many wrong letters as right ones are still a near miss, more are not
		if d := distance(name, known); d < best && 2*d <= len(known) {
			best, near = d, known
		}
	}
	if near != "" {
		return errors.New(msg + "; did you mean SIG" + near + "?")
	}
	return errors.New(msg + "; write a name (SIGTERM), a number (15) or a real-time signal (SIGRTMIN+3)")
}

// distance counts the letters to add, drop or change to come from a to b; two
// neighbours that changed places count as one (TREM, TERM).
func distance(a, b string) int {
	if len(a) > 16 {
		return len(a)
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// upper is strings.ToUpper for ASCII; see the package's comment.
func upper(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}
