package docker_test

import (
	"testing"
	"time"
)

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
