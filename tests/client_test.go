package tests

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// port is where graced serves its probes by default.
const port = "127.0.0.1:8990"

// dial makes a connection inside of the network namespace: a socket belongs
// to the namespace that its thread is in when it is made.
func (r *running) dial(ctx context.Context, network, address string) (net.Conn, error) {
	runtime.LockOSThread()
	own, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(own)
	if err := unix.Setns(int(r.network.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("cannot enter the network namespace: %w", err)
	}
	conn, dialErr := (&net.Dialer{KeepAlive: -1}).DialContext(ctx, network, address)
	if err := unix.Setns(own, unix.CLONE_NEWNET); err != nil {
		return conn, err // locked as it is, the thread ends with its goroutine
	}
	runtime.UnlockOSThread()
	return conn, dialErr
}

// client makes an HTTP client of one connection that is kept.
func (r *running) client() *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: r.dial, MaxConnsPerHost: 1, DisableCompression: true}}
}

// get asks once on a connection of its own.
func (r *running) get(path string) (status int, body string, err error) {
	client := r.client()
	defer client.CloseIdleConnections()
	return get(client, "http://"+port+path)
}

func get(client *http.Client, url string) (int, string, error) {
	resp, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// answers waits until path answers with status, and gives the body.
func (r *running) answers(t testing.TB, path string, status int, within time.Duration) string {
	t.Helper()
	var got int
	var body string
	var err error
	if !eventually(within, func() bool {
		got, body, err = r.get(path)
		return err == nil && got == status
	}) {
		t.Fatalf("%s: %d %q %v, want %d within %v", path, got, body, err, status, within)
	}
	return body
}

// ready waits until readiness is 200.
func (r *running) ready(t testing.TB) {
	t.Helper()
	r.answers(t, "/readyz", http.StatusOK, 10*time.Second)
}

// up waits until graced itself knows that everything runs: a stop that comes
// while a program is being started is its first event, without any delay.
func (r *running) up(t testing.TB) {
	t.Helper()
	if !r.isUp() {
		t.Fatal("graced does not get to the phase running")
	}
}

func (r *running) isUp() bool {
	return eventually(10*time.Second, func() bool {
		_, body, err := r.get("/statusz")
		return err == nil && strings.Contains(body, `"phase": "running"`)
	})
}

// metric reads one series of /metrics: `graced_kills_total{process="app"}`.
func (r *running) metric(t testing.TB, series string) string {
	t.Helper()
	_, body, err := r.get("/metrics")
	if err != nil {
		t.Fatalf("/metrics: %v", err)
	}
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// watcher asks one path again and again, on one connection where it is kept,
// and notes each change of the answer.
type watcher struct {
	stop    chan struct{}
	done    chan struct{}
	changes []change
	asked   int
}

type change struct {
	at     time.Time
	status int // 0: no answer
}

func (r *running) watch(path string, every time.Duration) *watcher {
	w := &watcher{stop: make(chan struct{}), done: make(chan struct{})}
	client := r.client()
	client.Timeout = 2 * time.Second
	go func() {
		defer close(w.done)
		defer client.CloseIdleConnections()
		for {
			status, _, _ := get(client, "http://"+port+path)
			w.asked++
			if n := len(w.changes); n == 0 || w.changes[n-1].status != status {
				w.changes = append(w.changes, change{time.Now(), status})
			}
			select {
			case <-w.stop:
				return
			case <-r.done:
				return
			case <-time.After(every):
			}
		}
	}()
	return w
}

// end stops watching and gives the statuses in their order, without doubles.
func (w *watcher) end() []int {
	close(w.stop)
	<-w.done
	var statuses []int
	for _, c := range w.changes {
		statuses = append(statuses, c.status)
	}
	return statuses
}

// raw sends bytes on a connection of its own and reads the answer.
func (r *running) raw(request string) (*http.Response, error) {
	conn, err := r.dial(context.Background(), "tcp", port)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(conn, request); err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(conn), nil)
}
