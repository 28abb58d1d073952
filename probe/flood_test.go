package probe

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"graced/internal/record"
)

// floodVar makes the test binary a flood: its value is the address.
const floodVar = "GRACED_TEST_FLOOD"

func TestMain(m *testing.M) {
	if addr := os.Getenv(floodVar); addr != "" {
		floodMain(addr)
		return
	}
	os.Exit(m.Run())
}

// Two thousand clients that say nothing, or a byte now and then, and that come
// back when they are thrown out: a prober does not notice, from the start over
// the shutdown to the end. The clients are a process of their own, as they would
// be.
func TestFlood(t *testing.T) {
	goroutines, fds := runtime.NumGoroutine(), descriptors(t)
	w := newWorld(record.Snapshot{Phase: record.Starting, AwaitsListener: true, Reason: "starting: no listening port yet"})
	cfg := w.config()
	cfg.Look = func(context.Context) bool { return false }
	cfg.Alive = func(context.Context) bool { return true }
	s := serve(t, cfg)
	stop := startFlood(t, s)
	var kept *client

	want, prefix := 503, "starting"
	var slowest time.Duration
	var most int
	for i := range 36 {
		switch i {
		case 12:
			w.set(ready)
			want, prefix = 200, "ok"
			kept = dial(t, s)
			wantLine(t, kept.get("/startupz"), 200, "ok")
		case 24:
			wantLine(t, kept.get("/livez"), 200, "ok") // idle in between, and still there
			w.set(draining())
			want, prefix = 503, "draining"
		}
		start := time.Now()
		wantPrefix(t, get(t, s, "/readyz"), want, prefix)
		slowest = max(slowest, time.Since(start))
		start = time.Now()
		wantPrefix(t, get(t, s, "/livez"), 200, "ok")
		slowest = max(slowest, time.Since(start))
		most = max(most, descriptors(t))
		time.Sleep(5 * time.Millisecond)
	}
	clients, thrownOut := stop()
	t.Logf("%d clients, %d times thrown out; slowest probe %v; at most %d descriptors", clients, thrownOut, slowest, most)
	if slowest > 2*time.Second {
		t.Errorf("the slowest probe took %v", slowest)
	}
	if clients < defaultMaxConns || thrownOut == 0 { // or this is no test of the bound
		t.Errorf("%d clients, %d times thrown out: no flood", clients, thrownOut)
	}
	if limit := fds + defaultMaxConns + 20; most > limit {
		t.Errorf("%d descriptors were open, want at most %d", most, limit)
	}
	kept.Close()
	s.Close()
	settles(t, goroutines, fds)
}

// startFlood returns once most of the flood is there.
func startFlood(t *testing.T, s *Server) (stop func() (clients, thrownOut int)) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), floodVar+"="+s.Addr().String())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	lines := bufio.NewReader(out)
	line, _ := lines.ReadString('\n')
	if line != "flooding\n" {
		t.Fatalf("the flood says %q", line)
	}
	return func() (clients, thrownOut int) {
		in.Close()
		line, _ := lines.ReadString('\n')
		if _, err := fmt.Sscan(line, &clients, &thrownOut); err != nil {
			t.Errorf("the flood says %q at its end: %v", line, err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		return clients, thrownOut
	}
}

// floodMain floods addr until stdin ends.
func floodMain(addr string) {
	// Behind the server in the queue for a processor: what is measured is the
	// server, not how a machine with two processors shares them.
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 5)
	clients := 2000
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
		files.Cur = files.Max
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files)
		clients = int(min(uint64(clients), files.Max-50))
	}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var connected, thrownOut atomic.Int64
	for i := range clients {
		wg.Go(func() { flood(ctx, addr, i, &connected, &thrownOut) })
	}
	for connected.Load() < int64(clients/2) {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("flooding")
	io.Copy(io.Discard, os.Stdin)
	stop()
	fmt.Println(strconv.Itoa(clients), thrownOut.Load())
	wg.Wait()
}

// flood holds a connection: silent, or with a header that never ends. It comes
// back a little after it was thrown out.
func flood(ctx context.Context, addr string, i int, connected, thrownOut *atomic.Int64) {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	for ctx.Err() == nil {
		c, err := dialer.DialContext(ctx, "tcp", addr)
		if err != nil {
			continue
		}
		connected.Add(1)
		onStop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
		if i%2 == 0 {
			io.WriteString(c, "GET /readyz HTTP/1.1\r\nX-Slow: ")
			for {
				if _, err := c.Write([]byte{'z'}); err != nil {
					break
				}
				sleep(500*time.Millisecond, ctx.Done())
			}
		} else {
			c.Read(make([]byte, 1))
		}
		if ctx.Err() == nil {
			thrownOut.Add(1)
		}
		onStop()
		c.Close()
		sleep(time.Second, ctx.Done())
	}
}
