package tests

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// The reader of the container's output goes away (a log daemon is restarted):
// graced and the program live on, and the stop is whole.
func TestOutputIsReadByNobodyAnyMore(t *testing.T) {
	t.Parallel()
	sandbox(t)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r := setup{stdout: in, stderr: in}.start(t, "graced", "--grace", "3s", "--ready", "started", "--log-level", "debug", "--", "ignore_term", "50")
	in.Close()
	r.ready(t)
	out.Close()
	r.signal(t, syscall.SIGHUP) // a line of the log, into the broken pipe
	r.answers(t, "/readyz", 200, time.Second)
	time.Sleep(200 * time.Millisecond)
	began := r.signal(t, syscall.SIGTERM)
	r.answers(t, "/readyz", 503, time.Second)
	r.exits(t, 137, 10*time.Second)
	if took := r.ended.Sub(began); took < time.Second || took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
}

// … but a program that writes into it has SIGPIPE as ever.
func TestProgramKeepsItsSigpipe(t *testing.T) {
	t.Parallel()
	sandbox(t)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out.Close()
	r := setup{stdout: in}.start(t, "graced", "--", "pipe_break", "writer")
	in.Close()
	r.exits(t, 141, 10*time.Second)
}

// As an ordinary pipeline has it: graced -- writer | reader.
func TestPipeline(t *testing.T) {
	t.Parallel()
	sandbox(t)
	r := start(t, "sh", "-c", "graced -- pipe_break writer | pipe_break reader 3; echo done")
	r.prints(t, "^done", 10*time.Second)
	r.exits(t, 0, 10*time.Second)
}

// Standard error is a pipe that nobody reads any more, and that is full: the
// stop is as ever, readiness too, and lines are dropped, not waited for.
func TestStandardErrorIsFull(t *testing.T) {
	t.Parallel()
	sandbox(t)
	s := setup{}
	fullPipe(t, &s)
	r := s.start(t, "graced", "--log-level", "debug", "--delay", "500ms", "--grace", "5s", "--", "sig_logger", "15", "1", "30")
	r.prints(t, "^ready", 10*time.Second)
	r.up(t)
	for range 50 {
		r.signal(t, syscall.SIGHUP)
		time.Sleep(2 * time.Millisecond)
	}
	began := r.signal(t, syscall.SIGTERM)
	r.answers(t, "/readyz", 503, time.Second)
	r.exits(t, 0, 5*time.Second)
	if took := r.ended.Sub(began); took < 500*time.Millisecond || took > 2*time.Second {
		t.Errorf("it took %v, want a little more than the delay", took)
	}
}
