// Package takeover receives every signal that a Go program can, from the
// moment its package is started or shortly after, which is before main and
// before the larger packages of the program.
//
// Why so early: until os/signal has taken a signal over, the Go runtime ends
// the process with exit code 2 when it comes, where a PID 1 written in C would
// just not see it. Go starts packages in the order of their imports and, where
// that leaves a choice, of their paths; this one imports little, so only the
// runtime's own start (under a millisecond) remains without cover.
package takeover

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"graced/internal/boot"
	"graced/signals"
)

// pending holds a bit for each signal that came and was not yet taken by
// Take: bit N-1 is signal N. The kernel merges equal signals in the same way.
var pending atomic.Uint64

// wake has one entry when pending may have changed.
var wake = make(chan struct{}, 1)

// init waits for boot (imported for that) to have read which signals are
// ignored: taking them over loses it.
func init() {
	if boot.Failed != nil {
		close(complete)
		return
	}
	// Each takes the runtime two switches of threads: 20 µs, and many
	// milliseconds on a busy machine. So only those are waited for whose default
	// action would end graced and that really come.
	for _, sig := range urgent {
		receive(sig)
	}
	go func() {
		defer close(complete)
		for n := 1; n <= signals.Max; n++ {
			sig := syscall.Signal(n)
			if signals.KindOf(sig) != signals.Unreceivable && !slices.Contains(urgent, sig) && !receive(sig) {
				return
			}
		}
	}()
}

var urgent = []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, signals.RTMin + 3}

// complete is closed when every signal is received.
var complete = make(chan struct{})

// Wait waits until every signal is received, which takes a millisecond from
// the start of this package: before it, those that the runtime ignores
// (SIGUSR1, the real-time ones) could be lost. So nothing that is to be forwarded to
// is started before.
func Wait() { <-complete }

// receive gives sig a channel of its own. One shared channel loses signals: a
// thousand SIGUSR1 fill it, and the SIGTERM after them is dropped. Those that
// graced only takes so that the runtime does not act on them share a channel
// that nobody reads; SIGCHLD has readers of its own (see Children).
// false: they were released.
func receive(sig syscall.Signal) bool {
	taking.Lock()
	defer taking.Unlock()
	if released {
		return false
	}
	if sig == syscall.SIGCHLD {
		signal.Notify(children, sig)
		return true
	}
	if signals.KindOf(sig) == signals.Own {
		signal.Notify(unread, sig)
		return true
	}
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, sig)
	bit := uint64(1) << (sig - 1)
	go func() {
		for range ch {
			pending.Or(bit)
			select {
			case wake <- struct{}{}:
			default:
			}
		}
	}()
	return true
}

var (
	unread   = make(chan os.Signal, 1)
	children = make(chan os.Signal, 1)
	taking   sync.Mutex
	released bool // under taking
)

// Wake has an entry after a signal came; Take then says which.
func Wake() <-chan struct{} { return wake }

// Children has an entry after a SIGCHLD. One entry may stand for many.
func Children() <-chan os.Signal { return children }

// Take returns the signals that came since it was last called, each at most
// once, the lowest number first, and forgets them.
func Take() []syscall.Signal {
	bits := pending.Swap(0)
	if bits == 0 {
		return nil
	}
	var got []syscall.Signal
	for n := 1; n <= signals.Max; n++ {
		if bits&(1<<(n-1)) != 0 {
			got = append(got, syscall.Signal(n))
		}
	}
	return got
}

// Release gives the signals back to their default actions, for the
// subcommands that are ordinary short programs.
func Release() {
	taking.Lock()
	defer taking.Unlock()
	released = true
	signal.Reset()
}
