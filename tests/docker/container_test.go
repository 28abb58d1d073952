package docker_test

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// spec is a container to start.
type spec struct {
	image  string   // "": plain
	docker []string // flags of docker run
	flags  []string // graced's
	bare   bool     // without graced
	cmd    []string // the program; nil: the image's CMD
	pty    bool     // docker run -it
	stdin  string   // what docker run -i is given; "": it has no -i
}

// args are the words after docker.
func (s spec) args(name string) []string {
	args := []string{"run", "--rm", "--name", name}
	if !slices.Contains(s.docker, "--network") {
		args = append(args, "--network", "none")
	}
	if s.pty {
		args = append(args, "--interactive", "--tty")
	}
	if s.stdin != "" {
		args = append(args, "--interactive")
	}
	args = append(args, s.docker...)
	cmd := s.cmd
	switch {
	case s.bare:
		args = append(args, "--entrypoint", s.cmd[0])
		cmd = s.cmd[1:]
	case s.flags != nil:
		args = append(args, "--entrypoint", "/graced")
		cmd = append(append(slices.Clone(s.flags), "--"), s.cmd...)
	}
	if s.image == "" {
		s.image = "plain"
	}
	return append(append(args, image(s.image)), cmd...)
}

// container is one that was started, in the foreground of a docker run whose
// streams are read.
type container struct {
	t     *testing.T
	name  string
	cli   *exec.Cmd
	lines *lines
	term  *terminal // with spec.pty

	ended chan struct{}
	err   error // of docker run
}

var count atomic.Int64

// start starts a container. Whatever happens, it is gone at the test's end.
func start(t *testing.T, s spec) *container {
	t.Helper()
	name := run + "-" + strconv.FormatInt(count.Add(1), 10)
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	c := &container{t: t, name: name, lines: newLines(), ended: make(chan struct{})}
	c.cli = exec.CommandContext(ctx, "docker", s.args(name)...)
	var reading sync.WaitGroup
	if s.pty {
		c.term = openTerminal(t, c.cli)
	} else {
		if s.stdin != "" {
			c.cli.Stdin = strings.NewReader(s.stdin)
		}
		for _, stream := range []func() (io.ReadCloser, error){c.cli.StdoutPipe, c.cli.StderrPipe} {
			r, err := stream()
			if err != nil {
				t.Fatal(err)
			}
			reading.Go(func() { c.lines.read(r) })
		}
	}
	if err := c.cli.Start(); err != nil {
		t.Fatal(err)
	}
	if s.pty {
		c.term.begin(&reading)
	}
	go func() {
		reading.Wait()
		c.err = c.cli.Wait()
		c.lines.close()
		close(c.ended)
	}()
	t.Cleanup(func() {
		c.remove()
		cancel()
		if t.Failed() {
			t.Logf("docker %s\n%s", strings.Join(c.cli.Args[1:], " "), c.transcript())
		}
	})
	return c
}

// remove ends what has not ended. docker run may not have made it yet, so once
// may not be enough.
func (c *container) remove() {
	for {
		select {
		case <-c.ended:
			return
		case <-time.After(100 * time.Millisecond):
			_, _ = docker(context.Background(), "rm", "--force", c.name)
		}
	}
}

func (c *container) transcript() string {
	if c.term != nil {
		return c.term.text()
	}
	return c.lines.all()
}

// hears waits until the program has announced text, or a line that begins with
// these words.
func (c *container) hears(text string) line {
	c.t.Helper()
	l, ok := c.lines.await(says(text))
	if !ok {
		c.t.Fatalf("the program did not announce %q", text)
	}
	return l
}

// logs waits until graced has logged an event.
func (c *container) logs(event string) line {
	c.t.Helper()
	l, ok := c.lines.await(tells(event))
	if !ok {
		c.t.Fatalf("graced did not log %q", event)
	}
	return l
}

// prints waits for a line with text in it that comes from anyone.
func (c *container) prints(text string) {
	c.t.Helper()
	if _, ok := c.lines.await(func(l line) bool { return strings.Contains(l.raw, text) }); !ok {
		c.t.Fatalf("nobody printed %q", text)
	}
}

// heard has what the program has announced so far that begins with text;
// logged has graced's lines of an event.
func (c *container) heard(text string) []line   { return c.lines.find(says(text)) }
func (c *container) logged(event string) []line { return c.lines.find(tells(event)) }

// docker runs a docker command, which must succeed.
func (c *container) docker(args ...string) string {
	c.t.Helper()
	out, err := docker(context.Background(), args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// exec runs a command in the container and gives what it prints, and its code.
func (c *container) exec(args ...string) (string, int) {
	c.t.Helper()
	return c.execAs("", args...)
}

// execAs does so as a user; "": the container's.
func (c *container) execAs(user string, args ...string) (string, int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "docker", append([]string{"exec", "--user=" + user, c.name}, args...)...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatalf("docker exec: %v", err)
	}
	code := 0
	if exit != nil {
		code = exit.ExitCode()
	}
	return strings.TrimSpace(string(out)), code
}

// kill sends a signal to PID 1.
func (c *container) kill(signal string) { c.t.Helper(); c.docker("kill", "--signal", signal, c.name) }

// stop is docker stop; it gives how long that took.
func (c *container) stop(flags ...string) time.Duration {
	c.t.Helper()
	began := time.Now()
	c.docker(append(append([]string{"stop"}, flags...), c.name)...)
	return time.Since(began)
}

// code waits for the container's end and gives its exit code.
func (c *container) code() int {
	c.t.Helper()
	select {
	case <-c.ended:
	case <-time.After(2 * patience):
		c.t.Fatal("the container did not end")
	}
	var exit *exec.ExitError
	switch {
	case c.err == nil:
		return 0
	case errors.As(c.err, &exit):
		return exit.ExitCode()
	}
	c.t.Fatalf("docker run: %v", c.err)
	return -1
}

// ends checks the exit code.
func (c *container) ends(want int) {
	c.t.Helper()
	if got := c.code(); got != want {
		c.t.Errorf("exit code %d, want %d", got, want)
	}
}
