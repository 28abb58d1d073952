package signals

import (
	"errors"
	"slices"
	"syscall"
)

// Stops are the stop signals of the contract: what platforms, container
// tools and people send to end a container. systemd's own containers take
// SIGRTMIN+3; the others are the STOPSIGNALs of the usual images.
func Stops() []syscall.Signal {
	return []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, RTMin + 3}
}

// Kind is what graced does with a signal that it receives and that is no stop
// signal.
type Kind uint8

const (
	// Forwarded: it is meant for the program.
	Forwarded Kind = iota
	// Own: graced's own business, or the Go runtime's. SIGCHLD tells of
	// children. SIGURG is how the runtime interrupts its own threads, up to
	// a hundred times a second, so one from outside cannot be told from those.
	// SIGTTIN, SIGTTOU and SIGPIPE are about graced's own reads and writes.
	// SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSTKFLT and SIGSYS are about
	// graced's own instructions; sent by somebody they are dropped.
	Own
	// Unreceivable: the kernel never delivers SIGKILL and SIGSTOP, the Go
	// runtime keeps SIGPROF, 32, 33 and 34.
	Unreceivable
)

// KindOf says what graced does with sig.
func KindOf(sig syscall.Signal) Kind {
	switch sig {
	case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGPROF, 32, 33, 34:
		return Unreceivable
	case syscall.SIGCHLD, syscall.SIGURG, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGPIPE,
		syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGSTKFLT, syscall.SIGSYS:
		return Own
	}
	if sig < 1 || sig > Max {
		return Unreceivable
	}
	return Forwarded
}

// CheckStop says why sig cannot be one that graced listens to as a stop
// signal, if it cannot.
func CheckStop(sig syscall.Signal) error {
	switch KindOf(sig) {
	case Unreceivable:
		return errors.New(Name(sig) + " cannot be received by graced (the kernel or the Go runtime keeps it), so it cannot be a stop signal")
	case Own:
		return errors.New(Name(sig) + " is graced's own business, so it cannot be a stop signal")
	}
	return nil
}

// CheckRung says why sig cannot be a rung of a ladder, if it cannot. SIGKILL
// is refused since it always follows the last rung by itself; SIGSTOP,
// SIGCONT and SIGCHLD end nothing.
func CheckRung(sig syscall.Signal) error {
	switch sig {
	case syscall.SIGKILL:
		return errors.New("SIGKILL always follows the last rung; leave it out")
	case syscall.SIGSTOP, syscall.SIGCONT, syscall.SIGCHLD:
		return errors.New(Name(sig) + " ends no program; name its stop signal, such as SIGTERM")
	}
	return nil
}

// Rewrite maps forwarded signals to others before they are sent; 0 drops one.
type Rewrite map[syscall.Signal]syscall.Signal

// Apply says what is sent in the place of sig; 0 is nothing.
func (r Rewrite) Apply(sig syscall.Signal) syscall.Signal {
	if to, ok := r[sig]; ok {
		return to
	}
	return sig
}

// CheckRewrite says why from cannot be rewritten, if it cannot: only what is
// forwarded can. stops are the stop signals in force.
func CheckRewrite(from syscall.Signal, stops []syscall.Signal) error {
	if slices.Contains(stops, from) {
		return errors.New(Name(from) + " is a stop signal and is never forwarded; --signal sets what the program gets in its place")
	}
	if KindOf(from) != Forwarded {
		return errors.New(Name(from) + " is not forwarded, so it cannot be rewritten")
	}
	return nil
}
