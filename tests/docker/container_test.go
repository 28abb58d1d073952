package docker_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// line is one that came out of the container.
type line struct {
	at    time.Time // when it was written, by its writer's word
	text  string    // what the program announced
	event string    // or the event of graced's line,
	attrs map[string]any
	raw   string // or neither
}

// attr is a field of graced's line, as text.
func (l line) attr(key string) string {
	if v, ok := l.attrs[key]; ok {
		return fmt.Sprint(v)
	}
	return ""
}

func parse(raw string) line {
	l := line{at: time.Now(), raw: raw}
	if strings.HasPrefix(raw, "{") {
		if json.Unmarshal([]byte(raw), &l.attrs) == nil {
			l.event = l.attr("event")
			if at, err := time.Parse(time.RFC3339Nano, l.attr("time")); err == nil {
				l.at = at
			}
		}
		return l
	}
	first, rest, _ := strings.Cut(raw, " ")
	if ns, err := strconv.ParseInt(first, 10, 64); err == nil && len(first) == 19 {
		l.at, l.text = time.Unix(0, ns), rest
	}
	return l
}

// lines are what came so far, and a way to wait for more.
type lines struct {
	mu   sync.Mutex
	more *sync.Cond
	got  []line
	over bool
}

func newLines() *lines {
	l := &lines{}
	l.more = sync.NewCond(&l.mu)
	return l
}

func (l *lines) read(r io.Reader) {
	scanner := bufio.NewScanner(r)
	for scanner.Scan() {
		l.mu.Lock()
		l.got = append(l.got, parse(scanner.Text()))
		l.more.Broadcast()
		l.mu.Unlock()
	}
}

func (l *lines) close() {
	l.mu.Lock()
	l.over = true
	l.more.Broadcast()
	l.mu.Unlock()
}

func (l *lines) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for _, line := range l.got {
		fmt.Fprintln(&b, line.raw)
	}
	return b.String()
}

func (l *lines) find(is func(line) bool) (found []line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.got {
		if is(line) {
			found = append(found, line)
		}
	}
	return found
}

// await waits for a line.
func (l *lines) await(is func(line) bool) (line, bool) {
	overdue := time.AfterFunc(patience, func() { // the lock orders it after a Wait that has begun
		l.mu.Lock()
		defer l.mu.Unlock()
		l.more.Broadcast()
	})
	defer overdue.Stop()
	deadline := time.Now().Add(patience)
	l.mu.Lock()
	defer l.mu.Unlock()
	for next := 0; ; {
		for ; next < len(l.got); next++ {
			if is(l.got[next]) {
				return l.got[next], true
			}
		}
		if l.over || !time.Now().Before(deadline) {
			return line{}, false
		}
		l.more.Wait()
	}
}

func says(text string) func(line) bool {
	return func(l line) bool { return l.text == text || strings.HasPrefix(l.text, text+" ") }
}

func tells(event string) func(line) bool { return func(l line) bool { return l.event == event } }

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

// story is the one line that tells the whole shutdown.
type story struct {
	line
	t *testing.T
}

// told waits for the container's end and gives graced's last line of the
// shutdown; there must be exactly one.
func (c *container) told() story {
	c.t.Helper()
	c.code()
	ends := c.logged("shutdown_end")
	if len(ends) != 1 {
		c.t.Fatalf("%d shutdown_end lines, want 1", len(ends))
	}
	return story{ends[0], c.t}
}

// has checks a field.
func (s story) has(key, want string) {
	s.t.Helper()
	if got := s.attr(key); got != want {
		s.t.Errorf("shutdown_end has %s=%q, want %q", key, got, want)
	}
}

// phase is how long a phase took.
func (s story) phase(name string) time.Duration {
	s.t.Helper()
	d, err := time.ParseDuration(s.attr(name))
	if err != nil {
		s.t.Fatalf("shutdown_end has no time of %s: %v", name, err)
	}
	return d
}

// within checks an upper bound.
func within(t *testing.T, what string, got, limit time.Duration) {
	t.Helper()
	if got > limit {
		t.Errorf("%s took %v, more than %v", what, got.Round(time.Millisecond), limit)
	}
}

// atLeast checks a lower bound.
func atLeast(t *testing.T, what string, got, limit time.Duration) {
	t.Helper()
	if got < limit {
		t.Errorf("%s took %v, less than %v", what, got.Round(time.Millisecond), limit)
	}
}

// inOrder checks that each line was written after the one before.
func inOrder(t *testing.T, lines ...line) {
	t.Helper()
	for i := 1; i < len(lines); i++ {
		if lines[i].at.Before(lines[i-1].at) {
			t.Errorf("%q came %v before %q", lines[i].raw, lines[i-1].at.Sub(lines[i].at), lines[i-1].raw)
		}
	}
}
