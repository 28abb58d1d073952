package tests

import (
	"context"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Probed ten thousand times, graced has as many threads and descriptors as
// before, and little memory.
func TestProbesLeaveNothingBehind(t *testing.T) {
	sandbox(t)
	r := start(t, "graced", "--", "http_abrupt", "8080")
	r.ready(t)
	probe := func(n int) {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				kept := r.client()
				defer kept.CloseIdleConnections()
				for i := range n / 4 {
					path := []string{"/readyz", "/livez", "/startupz", "/metrics", "/statusz"}[i%5]
					if i%2 == 0 {
						if status, _, err := get(kept, "http://"+port+path); status != 200 {
							t.Errorf("%s: %d %v", path, status, err)
							return
						}
					} else if status, _, err := r.get(path); status != 200 {
						t.Errorf("%s: %d %v", path, status, err)
						return
					}
				}
			})
		}
		all.Wait()
	}
	probe(400)
	settled := func() bool { return descriptors(t, r.pid) <= 12 }
	eventually(2*time.Second, settled)
	threads, files := status(t, r.pid, "Threads"), descriptors(t, r.pid)
	probe(times(10_000, 10_000, 2_000))
	eventually(2*time.Second, func() bool { return descriptors(t, r.pid) <= files })
	if n := status(t, r.pid, "Threads"); n > max(threads, 12) {
		t.Errorf("%d threads before, %d after", threads, n)
	}
	if n := descriptors(t, r.pid); n > files {
		t.Errorf("%d descriptors before, %d after", files, n)
	}
	// a moment after the burst it has given back what only that needed
	eventually(5*time.Second, func() bool { return status(t, r.pid, "VmRSS") <= 12<<10 })
	if kb := status(t, r.pid, "VmRSS"); kb > 12<<10 {
		t.Errorf("it uses %d kB, want at most 12 MB", kb)
	} else {
		t.Logf("%d kB, %d threads, %d descriptors", kb, threads, files)
	}
}

// Idle, with its port open and a prober connected that keeps its connection,
// graced does not wake up.
func TestIdleDoesNotWakeUp(t *testing.T) {
	sandbox(t)
	r := start(t, "graced", "--", "http_abrupt", "8080")
	r.ready(t)
	client := r.client()
	defer client.CloseIdleConnections()
	if _, _, err := get(client, "http://"+port+"/readyz"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second) // the runtime goes to rest after its work
	before := wakeups(t, r.pid)
	window := time.Duration(times(20, 5, 3)) * time.Second
	time.Sleep(window)
	if n := wakeups(t, r.pid) - before; n > 2 {
		t.Errorf("it woke up %d times in %v", n, window)
	}
	if kb := status(t, r.pid, "VmRSS"); kb > 12<<10 {
		t.Errorf("it uses %d kB, want at most 12 MB", kb)
	}
}

// Thousands of connections that say nothing, or half a request, or read no
// answer, change neither a probe's answer nor the stop.
func TestPortCannotBeStarved(t *testing.T) {
	sandbox(t)
	r := start(t, "graced", "--grace", "5s", "--", "http_slow", "8080", "linger")
	r.ready(t)
	kept := r.client()
	defer kept.CloseIdleConnections()
	if status, _, err := get(kept, "http://"+port+"/readyz"); status != 200 {
		t.Fatalf("%d %v", status, err)
	}
	says := []string{"", "G", "GET /readyz HTTP/1.1\r\nHost: x\r\n", "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "POST /readyz HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nx"}
	n := times(10_000, 1_500, 500)
	var mu sync.Mutex
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	stop := make(chan struct{})
	var filling sync.WaitGroup
	for range 3 {
		filling.Go(func() {
			for i := range n / 3 {
				select {
				case <-stop:
					return
				default:
				}
				ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
				c, err := r.dial(ctx, "tcp", port)
				cancel()
				if err != nil {
					continue // the queue is full: that is how a bound looks
				}
				_ = c.SetWriteDeadline(time.Now().Add(time.Second))
				_, _ = io.WriteString(c, says[i%len(says)])
				mu.Lock()
				conns = append(conns, c)
				mu.Unlock()
			}
		})
	}
	// While they come the two processors have much else to do; when they are
	// there, nothing is to be noticed of them.
	var meanwhile, slowest time.Duration
	for range 20 {
		began := time.Now()
		status, _, err := r.get("/readyz")
		meanwhile = max(meanwhile, time.Since(began))
		if status != 200 {
			t.Errorf("a probe while they come: %d %v", status, err)
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	filling.Wait()
	close(stop)
	for range 10 {
		began := time.Now()
		status, _, err := r.get("/readyz")
		slowest = max(slowest, time.Since(began))
		if status != 200 {
			t.Errorf("a probe beside %d connections: %d %v", len(conns), status, err)
			break
		}
	}
	if slowest > 500*time.Millisecond || meanwhile > 2*time.Second {
		t.Errorf("the slowest probe took %v, while they came %v", slowest, meanwhile)
	}
	if kb := status(t, r.pid, "VmRSS"); kb > 64<<10 {
		t.Errorf("it uses %d kB", kb)
	}
	began := r.signal(t, syscall.SIGTERM)
	r.answers(t, "/readyz", 503, time.Second)
	r.exits(t, 137, 10*time.Second)
	if took := r.ended.Sub(began); took > 5*time.Second {
		t.Errorf("the stop took %v of the 5s", took)
	}
	t.Logf("%d connections; the slowest probe took %v, while they came %v", len(conns), slowest, meanwhile)
}
