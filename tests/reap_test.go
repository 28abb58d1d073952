package tests

import (
	"fmt"
	"strconv"
	"sync"
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

// ends runs a program to its end and compares the code.
func ends(s setup, code int, argv ...string) error {
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
