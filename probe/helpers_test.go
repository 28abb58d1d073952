package probe

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"graced/internal/record"
)

// world is what a supervisor would be to the server: a snapshot that the test
// sets, and counters of what was called.
type world struct {
	snap   atomic.Pointer[record.Snapshot]
	told   atomic.Int64
	mu     sync.Mutex
	panics []string
}

func newWorld(s record.Snapshot) *world {
	w := new(world)
	w.set(s)
	return w
}

func (w *world) set(s record.Snapshot) { w.snap.Store(&s) }

func (w *world) config() Config {
	return Config{
		Snapshot: w.snap.Load,
		Told:     func() { w.told.Add(1) },
		Panic: func(where string, v any, stack []byte) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.panics = append(w.panics, fmt.Sprintf("%s: %v", where, v))
		},
	}
}

func (w *world) panicked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.panics...)
}

var ready = record.Snapshot{Phase: record.Running, Ready: true, EverReady: true}

// draining is a shutdown that began now.
func draining() record.Snapshot {
	now := time.Now()
	return record.Snapshot{
		Phase: record.Drain, EverReady: true, Reason: "draining: 42 connections busy",
		NotReadySince: now, T0: now, Deadline: now.Add(17400 * time.Millisecond), Budget: 17400 * time.Millisecond,
	}
}

// serve starts a server on 127.0.0.1 for the length of the test.
func serve(t testing.TB, cfg Config) *Server { return serveOn(t, "127.0.0.1:0", cfg) }

func serveOn(t testing.TB, addr string, cfg Config) *Server {
	t.Helper()
	s, err := Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.Serve(cfg)
	return s
}

// client is one kept-alive connection to a server, spoken byte by byte so that
// nothing reconnects behind the test's back.
type client struct {
	t testing.TB
	net.Conn
	in *bufio.Reader
}

func dial(t testing.TB, s *Server) *client {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &client{t, c, bufio.NewReader(c)}
}

// answered is an answer, read to its end.
type answered struct {
	*http.Response
	body string
}

// do sends METHOD PATH with further header lines and reads the answer.
func (c *client) do(method, path string, headers ...string) answered {
	c.t.Helper()
	got, err := c.try(method, path, headers...)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return got
}

func (c *client) get(path string, headers ...string) answered {
	c.t.Helper()
	return c.do("GET", path, headers...)
}

func (c *client) try(method, path string, headers ...string) (answered, error) {
	request := method + " " + path + " HTTP/1.1\r\nHost: x\r\n"
	for _, h := range headers {
		request += h + "\r\n"
	}
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, request+"\r\n"); err != nil {
		return answered{}, err
	}
	resp, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		return answered{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answered{resp, string(body)}, err
}

// closed says whether the server closes the connection without another byte.
func (c *client) closed() bool {
	c.SetDeadline(time.Now().Add(10 * time.Second))
	_, err := c.in.ReadByte()
	var timeout net.Error
	return err != nil && !(asNetError(err, &timeout) && timeout.Timeout())
}

func asNetError(err error, to *net.Error) bool {
	ne, ok := err.(net.Error)
	*to = ne
	return ok
}

// get asks on a connection of its own.
func get(t testing.TB, s *Server, path string, headers ...string) answered {
	t.Helper()
	c := dial(t, s)
	defer c.Close()
	return c.get(path, headers...)
}

// descriptors counts the open ones of this process.
func descriptors(t testing.TB) int {
	t.Helper()
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(dir)
}

// settles waits until there are no more goroutines and descriptors than before.
func settles(t testing.TB, goroutines, fds int) {
	t.Helper()
	var g, f int
	for range 500 {
		if g, f = runtime.NumGoroutine(), descriptors(t); g <= goroutines && f <= fds {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<16)
	stacks = stacks[:runtime.Stack(stacks, true)]
	t.Errorf("%d goroutines and %d descriptors are left, there were %d and %d\n%s", g, f, goroutines, fds, stacks)
}

func wantLine(t *testing.T, got answered, code int, line string) {
	t.Helper()
	if got.StatusCode != code || got.body != line {
		t.Errorf("got %d %q, want %d %q", got.StatusCode, got.body, code, line)
	}
}

func wantPrefix(t *testing.T, got answered, code int, prefix string) {
	t.Helper()
	if got.StatusCode != code || !strings.HasPrefix(got.body, prefix) {
		t.Errorf("got %d %q, want %d %q…", got.StatusCode, got.body, code, prefix)
	}
}
