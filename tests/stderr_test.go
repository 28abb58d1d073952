package tests

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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
	for lines := bufio.NewScanner(out); ; { // before, it has not yet made up its mind about signals
		if !lines.Scan() {
			t.Fatal("the program does not start")
		}
		if strings.HasPrefix(lines.Text(), "ready") {
			break
		}
	}
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

// Standard error is a pipe, or a socket as of journald, that nobody reads any
// more, and that is full: the stop is as ever, readiness too, and lines are
// dropped, not waited for.
func TestStandardErrorIsFull(t *testing.T) {
	t.Parallel()
	sandbox(t)
	for name, fill := range map[string]func(*testing.T, *setup){
		"a pipe":   func(t *testing.T, s *setup) { fullPipe(t, s) },
		"a socket": fullSocket,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told time.Duration
			for range 3 { // the best of them: the machine may have been busy
				s := setup{}
				fill(t, &s)
				if told = stopOfAMute(t, s); told <= 200*time.Millisecond {
					return
				}
			}
			t.Errorf("the first 503 came after %v, want 200ms", told)
		})
	}
}

// stopOfAMute makes one stop where standard error is full, and says when the first
// 503 came.
func stopOfAMute(t *testing.T, s setup) (told time.Duration) {
	t.Helper()
	r := s.start(t, "graced", "--log-level", "debug", "--delay", "500ms", "--grace", "5s", "--ready", "started", "--", "sig_logger", "15", "1", "30")
	r.ready(t)
	r.up(t)
	dropped := func() float64 {
		for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM} {
			r.signal(t, sig)
		}
		n, _ := strconv.ParseFloat(r.metric(t, "graced_log_lines_dropped_total"), 64)
		return n
	}
	if !eventually(10*time.Second, func() bool { return dropped() > 0 }) {
		t.Error("no line is counted as dropped")
	}
	began := r.signal(t, syscall.SIGTERM)
	r.answers(t, "/readyz", 503, time.Second)
	told = time.Since(began)
	r.exits(t, 0, 5*time.Second)
	if took := r.ended.Sub(began); took < 500*time.Millisecond || took > 2*time.Second {
		t.Errorf("it took %v, want a little more than the delay", took)
	}
	return told
}

// fullSocket has standard error be a stream socket whose buffer is full.
func fullSocket(t *testing.T, s *setup) {
	t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	reader, in := os.NewFile(uintptr(ends[0]), "reader"), os.NewFile(uintptr(ends[1]), "socket")
	t.Cleanup(func() { reader.Close(); in.Close() })
	for {
		if err := unix.Send(ends[1], make([]byte, 4096), unix.MSG_DONTWAIT); err != nil {
			break // full
		}
	}
	s.stderr = in
}
