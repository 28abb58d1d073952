package tests

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// difference is a row of the README's table "Coming from tini".
type difference struct {
	tini string // how the left cell begins
	why  string
	// shows runs both and shows that the row is true.
	shows func(t *testing.T)
}

var differences = []difference{
	{"passes every signal on as it is", "the program gets the signal that it understands, when load balancers have looked away", func(t *testing.T) {
		for init, want := range map[string]int{"tini": 2, "graced": 1} {
			r := start(t, init, "--", "sig_logger", "12", "1", "20")
			r.prints(t, "^ready", 10*time.Second)
			r.signal(t, syscall.SIGTERM)
			r.prints(t, "^sig 15", 5*time.Second)
			r.signal(t, syscall.SIGTERM)
			time.Sleep(200 * time.Millisecond) // of two that are pending the lower number comes first
			r.signal(t, syscall.SIGUSR2)
			r.exits(t, 0, 10*time.Second)
			if n := r.stdout.count("^sig 15"); n != want {
				t.Errorf("%s passed %d SIGTERM on, want %d", init, n, want)
			}
		}
	}},
	{"waits for ever", "the platform would kill everything, and nobody would know why", func(t *testing.T) {
		patient, bounded := start(t, "tini", "--", "ignore_term", "50"), start(t, "graced", "--grace", "3s", "--", "ignore_term", "50")
		for _, r := range []*running{patient, bounded} {
			r.prints(t, "^ready", 10*time.Second)
			r.signal(t, syscall.SIGTERM)
		}
		bounded.exits(t, 137, 5*time.Second)
		if patient.over() {
			t.Error("tini did not wait")
		}
	}},
	{"leaves when the program does", "workers have work to finish too", func(t *testing.T) {
		for init, want := range map[string]int{"tini": 0, "graced": 3} {
			r := start(t, init, "--", "slow_workers", "3", "1", "session")
			r.prints(t, "^ready$", 10*time.Second)
			r.signal(t, syscall.SIGTERM)
			r.exits(t, 5, 10*time.Second)
			if n := r.stdout.count("^clean "); n != want {
				t.Errorf("under %s %d workers cleaned up, want %d", init, n, want)
			}
		}
	}},
	{"`-s`, `-g`", "words say what they do", func(t *testing.T) {
		start(t, "tini", "-s", "-g", "--", "die", "exit", "3").exits(t, 3, 10*time.Second)
		start(t, "graced", "-s", "-g", "--", "die", "exit", "3").exits(t, 125, 10*time.Second)
	}},
	{"descriptors that were closed", "the Go runtime opens the first three; TestTiniStartsTheProgramInTheSameState has them", nil},
	{"passes on real-time signals with their count", "the Go runtime keeps a bit for each signal", func(t *testing.T) {
		r := start(t, "graced", "--", "sig_logger", "12", "1", "20")
		r.prints(t, "^ready", 10*time.Second)
		for range 50 {
			r.signal(t, 40)
		}
		r.prints(t, "^sig 40", 5*time.Second)
		r.signal(t, syscall.SIGUSR2)
		r.exits(t, 0, 10*time.Second)
		if n := r.stdout.count("^sig 40"); n < 1 || n > 50 {
			t.Errorf("%d of 50 came", n)
		}
	}},
	{"keeps every blocked signal blocked", "a program that cannot be told to stop would be killed; TestTiniStartsTheProgramInTheSameState has them", nil},
	{"passes on SIGURG, SIGPROF, SIGPIPE and SIGSTKFLT |", "the Go runtime keeps SIGPROF, and of the others one from outside cannot be told from graced's own", func(t *testing.T) {
		for init, want := range map[string]int{"tini": 1, "graced": 0} {
			r := start(t, init, "--", "sig_logger", "12", "1", "20")
			r.prints(t, "^ready", 10*time.Second)
			unpassed := []syscall.Signal{syscall.SIGURG, syscall.SIGPROF, syscall.SIGPIPE, syscall.SIGSTKFLT}
			for _, sig := range unpassed {
				r.signal(t, sig)
			}
			time.Sleep(100 * time.Millisecond)
			r.signal(t, syscall.SIGUSR2)
			r.exits(t, 0, 10*time.Second)
			for _, sig := range unpassed {
				if n := r.stdout.count(fmt.Sprintf("^sig %d ", sig)); n != want {
					t.Errorf("%s passed %d of %v on, want %d", init, n, sig, want)
				}
			}
		}
	}},
}

// TestDifferencesFromTini shows each row of the README's table, and that none
// is missing on either side.
func TestDifferencesFromTini(t *testing.T) {
	t.Parallel()
	sandbox(t)
	need(t, "tini")
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(readme), "| tini | graced |\n| --- | --- |\n")
	if !found {
		t.Fatal("the README has no table of the differences any more")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	for _, d := range differences {
		t.Run(d.tini, func(t *testing.T) {
			told := false
			for i, row := range rows {
				if strings.HasPrefix(row, "| "+d.tini) {
					told, rows[i] = true, ""
					break
				}
			}
			if !told {
				t.Errorf("the README has no row that begins with %q (%s)", d.tini, d.why)
			}
			if d.shows != nil {
				d.shows(t)
			}
		})
	}
	for _, row := range rows {
		if row != "" {
			t.Errorf("the README has a row that nothing here shows: %s", row)
		}
	}
}
