package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	early, tried := 0, 0
	for i := range times(200, 100, 60) {
		wait := time.Duration(i%100) * 100 * time.Microsecond
		code, used, err := stopEarly(wait)
		tried++
		switch {
		case used < beginning && (err != nil || code == 2):
			early++
		case err != nil:
			t.Errorf("SIGTERM %v after the start (%v of processor time): %v", wait, used, err)
		case code != 143:
			t.Errorf("SIGTERM %v after the start (%v of processor time): code %d, want 143", wait, used, code)
		}
	}
	t.Logf("%d of %d fell into the runtime's own start", early, tried)
}

// stopEarly sends one SIGTERM wait after the exec. The program dies of it, if
// it is there by then; so the code is 143 either way.
func stopEarly(wait time.Duration) (code int, used time.Duration, err error) {
	r, err := launch(setup{}, "graced", "--log-level", "error", "--", "sh", "-c", "trap 'exit 143' TERM; echo up; while :; do sleep 0.05; done")
	if err != nil {
		return 0, time.Hour, err
	}
	defer r.kill()
	// what the program enter used before the exec is not graced's
	before := mainThread(r.pid)
	for time.Since(r.began) < wait {
	}
	used = mainThread(r.pid) - before
	if err := r.process.Signal(syscall.SIGTERM); err != nil {
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
