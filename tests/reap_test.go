package tests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// atOnce runs f n times, a few at a time, and stops at the first that fails.
func atOnce(t *testing.T, n, most int, f func(i int) error) {
	t.Helper()
	work := make(chan int)
	var mu sync.Mutex
	var first error
	var all sync.WaitGroup
	for range most {
		all.Go(func() {
			for i := range work {
				if err := f(i); err != nil {
					mu.Lock()
					if first == nil {
						first = fmt.Errorf("run %d of %d: %w", i+1, n, err)
					}
					mu.Unlock()
				}
			}
		})
	}
	for i := range n {
		mu.Lock()
		failed := first != nil
		mu.Unlock()
		if failed {
			break
		}
		work <- i
	}
	close(work)
	all.Wait()
	if first != nil {
		t.Fatal(first)
	}
}

// errLate: it ended right, but not at once.
var errLate = errors.New("late")

// ends runs a program that ends at once and compares the code. An end that is
// noticed late is one that was missed, and found by chance; a machine that had no
// time for it has some for a second one.
func ends(s setup, code int, argv ...string) error {
	err := endsOnce(s, code, argv...)
	if errors.Is(err, errLate) {
		err = endsOnce(s, code, argv...)
	}
	return err
}

func endsOnce(s setup, code int, argv ...string) error {
	r, err := launch(s, argv...)
	if err != nil {
		return err
	}
	defer r.kill()
	select {
	case <-r.done:
	case <-time.After(20 * time.Second):
		return fmt.Errorf("it hangs; standard error: %s", tail(r.stderr.text()))
	}
	if got := r.state.ExitCode(); got != code {
		return fmt.Errorf("code %d, want %d; standard error: %s", got, code, tail(r.stderr.text()))
	}
	if text := r.stderr.text(); text != "" {
		return fmt.Errorf("standard error has %q", text)
	}
	if took := r.ended.Sub(r.began); took > 1500*time.Millisecond {
		return fmt.Errorf("%w: it took %v", errLate, took)
	}
	return nil
}

// A program whose end falls together with many others' keeps its code: nobody
// else waits for it, and no death is forgotten because one SIGCHLD stood for
// several.
func TestCodeIsKeptWhileOthersDie(t *testing.T) {
	sandbox(t)
	atOnce(t, times(500, 120, 60), 3, func(i int) error {
		return ends(setup{}, 42, "graced", "--", "exit_race", "42", strconv.Itoa([]int{16, 64}[i%2]))
	})
}

// A program that ends before anybody knows its pid is not lost.
func TestCodeOfAProgramThatEndsAtOnce(t *testing.T) {
	sandbox(t)
	atOnce(t, times(500, 120, 40), 3, func(i int) error {
		return ends(setup{}, i%100, "graced", "--", "die", "exit", strconv.Itoa(i%100))
	})
}

// The end of a program is noticed at once though a process that it has left
// behind holds its standard output.
func TestEndIsNoticedWhileOutputIsHeld(t *testing.T) {
	t.Parallel()
	sandbox(t)
	const want = 150 * time.Millisecond
	best := time.Hour
	for range 5 { // the machine may have been busy
		r := start(t, "graced", "--log-level", "debug", "--", "hold_stdout", "20", "3")
		r.exits(t, 3, 5*time.Second)
		r.logsExactly(t, 1, "event=process_exit", "code=3")
		best = min(best, r.stderr.at(t, `"event":"process_exit"`).Sub(r.stdout.at(t, "^leaving")))
		if best <= want {
			return
		}
	}
	t.Errorf("it was noticed after %v, want %v", best, want)
}

// Every code there is.
func TestEveryExitCode(t *testing.T) {
	sandbox(t)
	step := times(1, 5, 25)
	atOnce(t, 256/step, 3, func(i int) error {
		return ends(setup{}, i*step, "graced", "--", "die", "exit", strconv.Itoa(i*step))
	})
}

// Whatever is left behind is reaped, in masses too, and then again.
func TestThousandsOfOrphans(t *testing.T) {
	sandbox(t)
	r := start(t, "graced", "--", "sh", "-c", "orphan_storm 4000 400 0 1000; orphan_storm 1000 200 0 500; exit 9")
	r.prints(t, "orphans=4000 zombies=0", 40*time.Second)
	r.prints(t, "orphans=1000 zombies=0", 40*time.Second)
	r.exits(t, 9, 10*time.Second)
	if text := r.stderr.text(); text != "" {
		t.Errorf("standard error has %q", text)
	}
}

// The negative control: without a reaper the same storm leaves its zombies, so
// that the count above means something.
func TestThousandsOfOrphansNeedAReaper(t *testing.T) {
	t.Parallel()
	sandbox(t)
	r := start(t, "sh", "-c", "orphan_storm 300 100 0 500 & exec sleep 5")
	r.prints(t, "orphans=300 zombies=[1-9]", 20*time.Second)
}

// The metrics count orphans, and have as many series as before.
func TestOrphansAreCounted(t *testing.T) {
	t.Parallel()
	sandbox(t)
	r := start(t, "graced", "--ready", "started", "--", "sh", "-c", "orphan_storm 1000 200 0 500; echo done; exec sleep 30")
	r.ready(t)
	before := r.series(t)
	r.prints(t, "^done", 20*time.Second)
	if n, _ := strconv.ParseFloat(r.metric(t, "graced_orphans_reaped_total"), 64); n < 1000 {
		t.Errorf("%v orphans counted, want at least 1000", n)
	}
	for _, path := range []string{"/nothing", "/readyz/", "/%00", "/readyz?x=" + "%ff", "//readyz"} {
		if _, _, err := r.get(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	after := r.series(t)
	if len(after) != len(before) || len(after) > 60 {
		t.Errorf("%d series before, %d after, want the same and at most 60", len(before), len(after))
	}
}

// An idle graced uses no processor time; nor does one whose program is stopped.
func TestIdleCostsNothing(t *testing.T) {
	t.Parallel()
	sandbox(t)
	for _, program := range [][]string{{"ignore_term", "40"}, {"stop_self", "stop", "default"}} {
		t.Run(program[0], func(t *testing.T) {
			t.Parallel()
			r := start(t, append([]string{"graced", "--"}, program...)...)
			r.prints(t, "^ready", 10*time.Second)
			time.Sleep(500 * time.Millisecond)
			before := cpu(t, r.pid)
			time.Sleep(time.Duration(times(10, 3, 2)) * time.Second)
			if used := cpu(t, r.pid) - before; used > 20*time.Millisecond {
				t.Errorf("it used %v", used)
			}
			if text := r.stderr.text(); text != "" {
				t.Errorf("standard error has %q", text)
			}
		})
	}
}

// The log says whether there is a core: what the kernel said where the program ran
// without graced. A pattern that starts a program for cores is that one's affair.
func TestCoreIsTold(t *testing.T) {
	t.Parallel()
	sandbox(t)
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil || len(pattern) == 0 || pattern[0] == '|' {
		t.Logf("cores go to %q: nothing to compare", pattern)
		return
	}
	for _, most := range []string{"0", "100000000"} {
		dir := t.TempDir()
		bare := exec.Command("start_as", "core="+most, "die", "core", "11")
		bare.Dir = dir
		_ = bare.Run() // it dies of SIGSEGV
		core := bare.ProcessState.Sys().(syscall.WaitStatus).CoreDump()
		r := setup{enter: []string{"-dir", dir}, under: []string{"start_as", "core=" + most}}.start(t, "graced", "--log-level", "debug", "--", "die", "core", "11")
		r.exits(t, 139, 10*time.Second)
		r.logsExactly(t, 1, "event=process_exit", "code=139", "signal=SIGSEGV", fmt.Sprintf("core=%t", core))
		t.Logf("at most %s bytes: a core is written: %t", most, core)
	}
}
