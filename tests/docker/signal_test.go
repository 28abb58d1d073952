package docker_test

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// What docker kill sends that is no stop signal goes to the program as it is,
// each once, also the real-time ones; the container lives on.
func TestForwardedSignals(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{cmd: []string{"/app", "serve"}})
	c.hears("up")
	for _, sig := range []struct{ sent, got string }{
		{"HUP", "SIGHUP"}, {"USR1", "SIGUSR1"}, {"USR2", "SIGUSR2"}, {"ALRM", "SIGALRM"}, {"WINCH", "SIGWINCH"}, {"CONT", "SIGCONT"}, {"42", "42"}, {"64", "64"},
	} {
		c.kill(sig.sent)
		c.hears("signal " + sig.got)
		if n := len(c.heard("signal " + sig.got)); n != 1 {
			t.Errorf("the program got %s %d times", sig.got, n)
		}
	}
	c.stop()
	c.ends(0)
	if n := len(c.heard("signal SIGTERM")); n != 1 {
		t.Errorf("the program got SIGTERM %d times", n)
	}
}

// An image's STOPSIGNAL, or docker run's --stop-signal, starts the shutdown and
// is what the program gets; systemd's, which other programs do not understand,
// is a SIGTERM for them.
func TestStopSignal(t *testing.T) {
	for _, tt := range []struct{ signal, gets string }{
		{"SIGQUIT", "SIGQUIT"},
		{"SIGINT", "SIGINT"},
		{"SIGRTMIN+3", "SIGTERM"},
		{"37", "SIGTERM"},
	} {
		t.Run(tt.signal, func(t *testing.T) {
			inDocker(t, 1)
			c := start(t, spec{docker: []string{"--stop-signal", tt.signal}, cmd: []string{"/app", "serve", "-code", "5"}})
			c.hears("up")
			within(t, "docker stop", c.stop(), 8*time.Second)
			c.ends(5)
			c.told().has("killed", "0")
			var got []string
			for _, l := range c.heard("signal") {
				if l.text != "signal SIGCONT" {
					got = append(got, strings.TrimPrefix(l.text, "signal "))
				}
			}
			if len(got) != 1 || got[0] != tt.gets {
				t.Errorf("the program got %v, want %s", got, tt.gets)
			}
		})
	}
}

// The same by an image's own STOPSIGNAL.
func TestStopSignalOfImage(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{image: "whole", cmd: []string{"/app", "serve"}})
	c.hears("up")
	c.stop()
	c.ends(0)
	c.hears("signal SIGQUIT")
}

// A second docker stop, or any number of signals, changes nothing.
func TestRepeatedStop(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{cmd: []string{"/app", "serve", "-clean", "4s"}})
	c.hears("up")
	c.kill("TERM")
	c.hears("signal SIGTERM")
	c.kill("TERM")
	c.kill("QUIT")
	c.ends(0)
	end := c.told()
	end.has("repeated", "2")
	atLeast(t, "the program's clean-up", end.phase("stop"), 4*time.Second)
	if n := len(c.heard("signal SIGTERM")) + len(c.heard("signal SIGQUIT")); n != 1 {
		t.Errorf("the program got %d stop signals", n)
	}
}

// docker pause freezes graced with its clock running. A short one in the middle
// of a shutdown changes nothing.
func TestPausedInShutdown(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{cmd: []string{"/app", "serve", "-clean", "3s", "-code", "4"}})
	c.hears("up")
	c.kill("TERM")
	c.hears("signal SIGTERM")
	c.docker("pause", c.name)
	time.Sleep(time.Second)
	c.docker("unpause", c.name)
	c.ends(4)
	c.told().has("overruns", "0")
}

// One that lasts past the deadline leaves nothing to wait for: the end comes at
// once, and graced tells how late.
func TestPausedPastDeadline(t *testing.T) {
	inDocker(t, 1)
	// kill_at is 3s after the signal
	c := start(t, spec{flags: []string{"--grace", "4s"}, cmd: []string{"/app", "serve", "-deaf"}})
	c.hears("up")
	c.kill("TERM")
	c.hears("signal SIGTERM")
	c.docker("pause", c.name)
	time.Sleep(4 * time.Second)
	c.docker("unpause", c.name)
	thawed := time.Now()
	c.ends(137)
	within(t, "the end after the pause", time.Since(thawed), 5*time.Second)
	overruns := c.logged("overrun")
	if len(overruns) != 1 {
		t.Fatalf("%d overruns, want 1", len(overruns))
	}
	late, err := time.ParseDuration(overruns[0].attr("late"))
	if err != nil || late < 900*time.Millisecond {
		t.Errorf("the overrun is told as %s, and the pause ended 1s after the deadline at least", overruns[0].raw)
	}
	c.told().has("overruns", "1")
}

// docker stop of a paused container wakes it up and stops it.
func TestStopOfPaused(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{cmd: []string{"/app", "serve", "-code", "4"}})
	c.hears("up")
	c.docker("pause", c.name)
	c.stop()
	c.ends(4)
	c.told().has("overruns", "0")
}

// docker run in the foreground passes a Ctrl-C on as SIGINT. That is a person:
// the program gets it at once, as SIGINT. A second one does not wait.
func TestInterruptOfDockerRun(t *testing.T) {
	inDocker(t, 1)
	server := []string{"/app", "serve", "-addr", ":8080", "-poll", "http://127.0.0.1:8990/readyz", "-every", "50ms"}
	c := start(t, spec{cmd: append(server, "-code", "130")})
	c.hears("answer 200 ok")
	interrupt(t, c)
	c.ends(130)
	end := c.told()
	end.has("cause", "SIGINT")
	within(t, "delay", end.phase("delay"), time.Second)
	if n := len(c.heard("signal SIGINT")); n != 1 {
		t.Errorf("the program got SIGINT %d times", n)
	}

	c = start(t, spec{cmd: append(server, "-deaf")})
	c.hears("answer 200 ok")
	interrupt(t, c)
	first := c.hears("signal SIGINT")
	interrupt(t, c)
	within(t, "the way to the next signal", c.hears("signal SIGTERM").at.Sub(first.at), 3*time.Second)
	c.kill("INT") // docker run itself would end at a third Ctrl-C
	c.ends(137)
	within(t, "the shutdown", c.told().phase("took"), 6*time.Second)
}

// interrupt presses Ctrl-C on docker run.
func interrupt(t *testing.T, c *container) {
	t.Helper()
	if err := c.cli.Process.Signal(syscall.SIGINT); err != nil {
		select {
		case <-c.ended:
		default:
			t.Fatal(err)
		}
	}
}
