package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A stop in the first moments is neither lost nor does it end graced without
// its program: the first thing that graced does is to take signals over.
//
// The Go runtime itself needs most of a millisecond of processor time before
// any code of graced runs. Then SIGTERM is lost (PID 1 without a handler) or
// ends graced with 2; the README says so. How much that is here and now is
// measured by a program that only begins.
func TestStopInTheFirstMilliseconds(t *testing.T) {
	sandbox(t)
	var beginning time.Duration
	for range 20 {
		out, err := exec.Command(filepath.Join(bin, "begun")).Output()
		if err != nil {
			t.Fatal(err)
		}
		ns, _ := strconv.Atoi(strings.TrimSpace(string(out)))
		beginning = max(beginning, time.Duration(ns))
	}
	t.Logf("the runtime's own start takes up to %v", beginning)
	for _, stop := range []struct {
		sig   syscall.Signal
		codes []int // the last is that of a program that was there
		least time.Duration
		tries int
	}{
		{syscall.SIGTERM, []int{143}, 0, times(200, 100, 60)},
		// the others come soon after it
		{syscall.SIGINT, []int{130}, 2 * beginning, times(200, 15, 10)},
		{syscall.SIGQUIT, []int{131}, 2 * beginning, times(200, 15, 10)},
		{37, []int{165, 143}, 2 * beginning, times(200, 15, 10)}, // SIGRTMIN+3 is a SIGTERM to the program
	} {
		early := 0
		for i := range stop.tries {
			wait := time.Duration(i) * 10 * time.Millisecond / time.Duration(stop.tries)
			code, used, err := stopEarly(stop.sig, wait, stop.least)
			switch {
			case used < max(beginning, stop.least) && (err != nil || code == 2):
				early++
			case err != nil:
				t.Errorf("signal %d %v after the start (%v of processor time): %v", stop.sig, wait, used, err)
			case !slices.Contains(stop.codes, code):
				t.Errorf("signal %d %v after the start (%v of processor time): code %d, want %v", stop.sig, wait, used, code, stop.codes)
			}
		}
		t.Logf("signal %d: %d of %d fell into the runtime's own start", stop.sig, early, stop.tries)
	}
}

// stopEarly sends one stop signal wait after the exec, and not before graced has
// used some processor time. The program dies of it, if it is there by then; so the
// code is that of the signal either way.
func stopEarly(sig syscall.Signal, wait, least time.Duration) (code int, used time.Duration, err error) {
	r, err := launch(setup{}, "graced", "--log-level", "error", "--", "sh", "-c",
		"trap 'exit 143' TERM; trap 'exit 130' INT; trap 'exit 131' QUIT; echo up; while :; do sleep 0.05; done")
	if err != nil {
		return 0, time.Hour, err
	}
	defer r.kill()
	// what the program enter used before the exec is not graced's
	before := mainThread(r.pid)
	for time.Since(r.began) < wait || mainThread(r.pid)-before < least && time.Since(r.began) < 100*time.Millisecond {
	}
	used = mainThread(r.pid) - before
	if err := r.process.Signal(sig); err != nil {
		return 0, used, err
	}
	var up time.Time
	if !eventually(10*time.Second, func() bool {
		if up.IsZero() && r.stdout.text() != "" {
			up = time.Now()
		}
		return r.over() || !up.IsZero() && time.Since(up) > 400*time.Millisecond
	}) || !r.over() {
		return 0, used, fmt.Errorf("the signal was lost; standard output: %q", r.stdout.text())
	}
	if text := r.stderr.text(); text != "" && r.state.ExitCode() != 2 {
		return 0, used, fmt.Errorf("standard error has %q", text)
	}
	status := r.state.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal()), used, nil
	}
	return status.ExitStatus(), used, nil
}

// mainThread is the processor time of a process's first thread.
func mainThread(pid int) time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		return time.Hour
	}
	ns, _ := strconv.ParseInt(strings.Fields(string(data))[0], 10, 64)
	return time.Duration(ns)
}

// SIGURG, which the Go runtime sends itself and which anybody may send, does
// nothing, from the first moment on.
func TestUrgentDataBeforeTheProgramIsThere(t *testing.T) {
	t.Parallel()
	sandbox(t)
	for range times(20, 5, 3) {
		r := start(t, "graced", "--", "sig_logger", "15", "1", "20")
		sent := 0
		for ; r.stdout.text() == "" && sent < 20_000; sent++ {
			r.signal(t, syscall.SIGURG)
			time.Sleep(50 * time.Microsecond)
		}
		r.prints(t, "^ready", 10*time.Second)
		r.signal(t, syscall.SIGTERM)
		r.exits(t, 0, 5*time.Second)
		if sent == 0 || r.stdout.count("^sig 23") > 0 {
			t.Errorf("of %d SIGURG the program got one:\n%s", sent, r.stdout.text())
		}
	}
}

// A stop while the program is still booting ends it at once; nothing is left.
func TestStopWhileTheProgramBoots(t *testing.T) {
	t.Parallel()
	sandbox(t)
	for _, wait := range []time.Duration{0, 20, 100, 500} {
		t.Run(fmt.Sprintf("%dms", wait), func(t *testing.T) {
			r := start(t, "graced", "--grace", "20s", "--", "slow_boot", "8080", "30")
			// its threads come after it has taken signals over
			eventually(10*time.Second, func() bool { return status(t, r.pid, "Threads") > 9 })
			time.Sleep(wait * time.Millisecond)
			stopped := r.signal(t, syscall.SIGTERM)
			r.exits(t, 143, 10*time.Second)
			if took := r.ended.Sub(stopped); took > 2*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}
