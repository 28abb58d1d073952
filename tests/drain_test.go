package tests

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A drain of many connections looks at them again and again, and takes less than
// a twentieth of a core for it. It ends with the last request.
func TestDrainOfManyConnectionsCostsLittle(t *testing.T) {
	sandbox(t)
	r := start(t, "graced", "--grace", "30s", "--drain-max", "20s", "--drain", "idle", "--", "http_slow", "8080", "drain")
	r.ready(t)
	open := func(path string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		c, err := r.dial(ctx, "tcp", "127.0.0.1:8080")
		if err != nil {
			return nil, err
		}
		_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		return c, err
	}
	n := times(10_000, 2_000, 500)
	conns := make(chan net.Conn, n+1)
	defer func() {
		close(conns)
		for c := range conns {
			c.Close()
		}
	}()
	var opening sync.WaitGroup
	for range 2 {
		opening.Go(func() {
			for range n / 2 {
				c, err := open("/0")
				if err != nil {
					t.Error(err)
					return
				}
				conns <- c
				_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
				if answer, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || answer.StatusCode != 200 {
					t.Error(err)
					return
				}
			}
		})
	}
	opening.Wait()
	busy, err := open("/9")
	if err != nil {
		t.Fatal(err)
	}
	conns <- busy
	r.prints(t, "^begin /9", 5*time.Second)
	asked := time.Now()
	r.signal(t, syscall.SIGTERM)
	r.answers(t, "/readyz", 503, time.Second)
	time.Sleep(time.Second)
	began, used := time.Now(), processorTime(t, r.pid)
	time.Sleep(5 * time.Second)
	share := 100 * float64(processorTime(t, r.pid)-used) / float64(time.Since(began))
	t.Logf("%d connections: %.1f %% of a core", n, share)
	if share > 5 {
		t.Errorf("%d connections took %.1f %% of a core, want less than 5", n, share)
	}
	if r.stdout.count("^term") != 0 {
		t.Error("it was told to stop with a request in flight")
	}
	_ = busy.SetReadDeadline(time.Now().Add(20 * time.Second))
	if answer, err := http.ReadResponse(bufio.NewReader(busy), nil); err != nil || answer.StatusCode != 200 {
		t.Errorf("the last request: %v", err)
	}
	answered := time.Now()
	r.exits(t, 0, 20*time.Second)
	t.Logf("the last answer after %v, the end %v after it", answered.Sub(asked), r.ended.Sub(answered))
	if after := r.ended.Sub(answered); after > 5*time.Second {
		t.Errorf("it ended %v after the last answer", after)
	}
}

// A program that leaves by itself with an answer on its way keeps graced until
// the client has it, for two seconds at most: with the first process of a container
// its network goes. Nobody has asked for readiness here, so nobody has looked at
// the listener.
func TestLastAnswerIsDelivered(t *testing.T) {
	t.Parallel()
	sandbox(t)
	for _, reads := range []bool{true, false} {
		r := start(t, "graced", "--", "last_answer", "8080")
		r.prints(t, "^ready", 10*time.Second)
		c, err := r.dial(context.Background(), "tcp", "127.0.0.1:8080")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.(*net.TCPConn).SetReadBuffer(32 << 10)
		r.prints(t, "^leaving", 10*time.Second)
		left := time.Now()
		time.Sleep(500 * time.Millisecond)
		select {
		case <-r.done:
			t.Fatalf("it left %v after the program, with an answer undelivered", r.ended.Sub(left))
		default:
		}
		if reads {
			if n, err := io.Copy(io.Discard, c); n != 512<<10 || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
		}
		r.exits(t, 0, 5*time.Second)
		if took := r.ended.Sub(left); reads && took > 1500*time.Millisecond || took > 2500*time.Millisecond {
			t.Errorf("it took %v, the answer was read: %v", took, reads)
		}
	}
}

// processorTime is what all threads of a process have used;
// Documentation/scheduler/sched-stats.rst of the kernel.
func processorTime(t *testing.T, pid int) (used time.Duration) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/task", pid)
	tasks, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		data, err := os.ReadFile(dir + "/" + task.Name() + "/schedstat")
		if err != nil {
			skip(t, "the kernel does not tell how much processor time a thread has used: "+err.Error())
		}
		ns, err := strconv.ParseInt(strings.Fields(string(data))[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		used += time.Duration(ns)
	}
	return used
}
