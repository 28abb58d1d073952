package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"graced/internal/record"
)

func TestReadyAndNot(t *testing.T) {
	w := newWorld(record.Snapshot{Phase: record.Starting, Reason: "starting: web: connection refused"})
	s := serve(t, w.config())
	for _, path := range []string{"/readyz", "/healthz", "/startupz"} {
		wantLine(t, get(t, s, path), 503, "starting: web: connection refused\n")
	}
	wantLine(t, get(t, s, "/livez"), 200, "ok")
	w.set(ready)
	for _, path := range []string{"/readyz", "/healthz", "/startupz", "/livez"} {
		wantLine(t, get(t, s, path), 200, "ok")
	}
	w.set(record.Snapshot{Phase: record.Running, EverReady: true, Reason: "restarting: php: exited 1"})
	wantLine(t, get(t, s, "/readyz"), 503, "restarting: php: exited 1\n")
	wantLine(t, get(t, s, "/startupz"), 200, "ok")
	w.set(draining())
	if got := get(t, s, "/readyz"); got.StatusCode != 503 ||
		!regexp.MustCompile(`^draining: 42 connections busy, 1[67]\.\ds left\n$`).MatchString(got.body) {
		t.Errorf("draining: got %d %q", got.StatusCode, got.body)
	}
	wantLine(t, get(t, s, "/livez"), 200, "ok")
	wantLine(t, get(t, s, "/startupz"), 200, "ok")
}

// One connection, kept alive over the start of the shutdown.
func TestKeptAliveConnectionFlips(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(addr, func(t *testing.T) {
			w := newWorld(ready)
			s := serveOn(t, addr, w.config())
			c := dial(t, s)
			for range 3 {
				if got := c.get("/readyz"); got.StatusCode != 200 || got.Close {
					t.Fatalf("ready: got %d, close %v", got.StatusCode, got.Close)
				}
			}
			w.set(draining())
			if got := c.get("/readyz"); got.StatusCode != 503 || !got.Close {
				t.Fatalf("draining: got %d, close %v; want 503, true", got.StatusCode, got.Close)
			}
			if !c.closed() {
				t.Error("the connection is still open after Connection: close")
			}
			// Every answer says so, of whatever path.
			for _, path := range []string{"/healthz", "/livez", "/startupz", "/statusz", "/nothing"} {
				if got := get(t, s, path); !got.Close {
					t.Errorf("%s: %d without Connection: close while draining", path, got.StatusCode)
				}
			}
		})
	}
}

// A snapshot that claims both is a mistake; nobody is told to come.
func TestNeverReadyInAShutdown(t *testing.T) {
	snap := draining()
	snap.Ready = true
	s := serve(t, newWorld(snap).config())
	wantPrefix(t, get(t, s, "/readyz"), 503, "draining")
	var status Status
	if err := json.Unmarshal([]byte(get(t, s, "/statusz").body), &status); err != nil || status.Ready {
		t.Errorf("statusz: ready %v, %v", status.Ready, err)
	}
}

func TestVerbose(t *testing.T) {
	snap := draining()
	snap.Processes = []record.ProcessState{
		{Name: "web", State: "stopping", PID: 7},
		{Name: "php", State: "running", PID: 8, Ready: true},
		{Name: "job", State: "exited", Exited: true, Code: 3},
		{Name: "odd\nname", State: "running"},
	}
	w := newWorld(snap)
	s := serve(t, w.config())
	got := get(t, s, "/readyz?verbose")
	want := regexp.MustCompile(`^\[-\]ready draining: 42 connections busy, 1\d\.\ds left
\[-\]process/web stopping
\[\+\]process/php ok
\[-\]process/job exited 3
\[-\]process/odd name running, not ready yet
readyz check failed
$`)
	if got.StatusCode != 503 || !want.MatchString(got.body) {
		t.Errorf("got %d\n%s", got.StatusCode, got.body)
	}
	wantLine(t, get(t, s, "/livez?verbose=1"), 200, "[+]loop ok\nlivez check passed\n")
	wantLine(t, get(t, s, "/startupz?a=b&verbose"), 200, "[+]startup ok\nstartupz check passed\n")
	wantLine(t, get(t, s, "/livez?verb"), 200, "ok")
	w.set(ready)
	wantLine(t, get(t, s, "/healthz?verbose"), 200, "[+]ready ok\nhealthz check passed\n")
}

func TestMethodsAndPaths(t *testing.T) {
	cfg := newWorld(ready).config()
	cfg.Ready = []string{"/up", "/both"}
	cfg.Live = []string{"/both", "/alive"}
	s := serve(t, cfg)
	c := dial(t, s)
	head := c.do("HEAD", "/up")
	if head.StatusCode != 200 || head.ContentLength != 2 || head.body != "" {
		t.Errorf("HEAD: got %d, length %d, %q", head.StatusCode, head.ContentLength, head.body)
	}
	for _, method := range []string{"POST", "OPTIONS", "DELETE", "BREW"} {
		if got := c.do(method, "/up"); got.StatusCode != 405 || got.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: got %d, Allow %q", method, got.StatusCode, got.Header.Get("Allow"))
		}
	}
	const paths = "nothing here; graced serves\n/up\n/both\n/alive\n/startupz\n/statusz\n"
	wantLine(t, c.get("/"), 404, paths)
	wantLine(t, c.get("/readyz"), 404, paths)
	wantLine(t, c.get("/up/"), 404, paths)
	wantLine(t, c.do("OPTIONS", "*"), 404, paths)
	wantLine(t, c.get("/metrics"), 404, paths)
	wantLine(t, c.get("/both?verbose"), 200, "[+]ready ok\nboth check passed\n")
}

// HAProxy's plain check, and a request with a body that never comes.
func TestOddClients(t *testing.T) {
	s := serve(t, newWorld(ready).config())
	for _, request := range []string{
		"GET /readyz HTTP/1.0\r\n\r\n",
		"GET /readyz HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
		"GET /readyz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
		"GET /readyz HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n",
	} {
		c := dial(t, s)
		start := time.Now()
		c.SetDeadline(start.Add(readTimeout / 2))
		io.WriteString(c, request)
		resp, err := http.ReadResponse(c.in, nil)
		if err != nil {
			t.Errorf("%q: %v", request, err)
			continue
		}
		if resp.StatusCode != 200 || !resp.Close {
			t.Errorf("%q: got %d, close %v", request, resp.StatusCode, resp.Close)
		}
	}
	c := dial(t, s)
	c.SetDeadline(time.Now().Add(5 * time.Second))
	io.WriteString(c, "GET /readyz HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", maxHeaderBytes+5000))
	if resp, err := http.ReadResponse(c.in, nil); err != nil || resp.StatusCode != 431 {
		t.Errorf("a header without end: got %v, %v", resp, err)
	}
}

func TestMetricsAreMadeAtTheFirstRequest(t *testing.T) {
	var made atomic.Int64
	w := newWorld(ready)
	cfg := w.config()
	cfg.MetricsPath = "/m"
	cfg.Metrics = func() http.Handler {
		made.Add(1)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "graced_ready 1\n") })
	}
	s := serve(t, cfg)
	get(t, s, "/readyz")
	get(t, s, "/nothing")
	if made.Load() != 0 {
		t.Error("made before anybody asked")
	}
	for range 3 {
		wantLine(t, get(t, s, "/m"), 200, "graced_ready 1\n")
	}
	if made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
	w.set(draining())
	if got := get(t, s, "/m"); got.StatusCode != 200 || !got.Close {
		t.Errorf("draining: got %d, close %v", got.StatusCode, got.Close)
	}
}

func TestLivezDoesNotHangWithTheLoop(t *testing.T) {
	hang := make(chan struct{})
	var calls atomic.Int64
	cfg := newWorld(ready).config()
	cfg.Alive = func(context.Context) bool { // not even its context stops it
		calls.Add(1)
		<-hang
		return true
	}
	s := serve(t, cfg)
	for i := range 5 {
		start := time.Now()
		wantLine(t, get(t, s, "/livez"), 503, "graced's loop has not answered within 1s\n")
		if took := time.Since(start); i == 0 && took < aliveLimit-50*time.Millisecond || took > 3*aliveLimit {
			t.Errorf("ask %d took %v", i, took)
		}
	}
	wantLine(t, get(t, s, "/readyz"), 200, "ok") // from the snapshot
	if n := calls.Load(); n != 1 {
		t.Errorf("%d calls of a loop that hangs", n)
	}
	close(hang)
	for range 100 {
		if get(t, s, "/livez").StatusCode == 200 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("livez did not recover with the loop")
}

func TestPanics(t *testing.T) {
	w := newWorld(ready)
	cfg := w.config()
	var bad atomic.Bool
	bad.Store(true)
	cfg.Snapshot = func() *record.Snapshot {
		if bad.Load() {
			panic("no snapshot")
		}
		return w.snap.Load()
	}
	cfg.Alive = func(context.Context) bool { panic("no life") }
	cfg.Metrics = func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			if r.URL.RawQuery == "half" {
				fmt.Fprint(w, strings.Repeat("half ", 10_000))
			}
			if r.URL.RawQuery == "abort" {
				panic(http.ErrAbortHandler)
			}
			panic("no metrics")
		})
	}
	s := serve(t, cfg)
	wantPrefix(t, get(t, s, "/readyz"), 500, "graced failed to answer")
	bad.Store(false)
	wantLine(t, get(t, s, "/readyz"), 200, "ok")
	wantPrefix(t, get(t, s, "/livez"), 503, "graced's loop")
	if got := get(t, s, "/metrics"); got.StatusCode != 500 || got.Header.Get("Content-Encoding") != "" || !got.Close {
		t.Errorf("got %d %v", got.StatusCode, got.Header)
	}
	for _, path := range []string{"/metrics?half", "/metrics?abort"} {
		if got, err := dial(t, s).try("GET", path); err == nil {
			t.Errorf("%s: half an answer looks like a whole one: %d", path, got.StatusCode)
		}
	}
	wantLine(t, get(t, s, "/readyz"), 200, "ok")
	want := []string{
		"readiness server: /readyz: no snapshot",
		"liveness: no life",
		"readiness server: /metrics: no metrics",
		"readiness server: /metrics: no metrics",
	}
	if got := w.panicked(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("told of panics\n%q, want\n%q", got, want)
	}
}

func askers(s *Server) int {
	a := s.Askers()
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.known)
}

func TestWhoAsks(t *testing.T) {
	w := newWorld(ready)
	s := serve(t, w.config())
	no := []string{"/livez", "/startupz", "/statusz", "/metrics", "/nothing"}
	c := dial(t, s)
	for range 3 {
		for _, path := range no {
			c.get(path)
		}
		c.get("/readyz", "User-Agent: "+HealthAgent+"1.0")
		c.do("POST", "/readyz")
		time.Sleep(time.Millisecond)
	}
	if n := askers(s); n != 0 {
		t.Errorf("%d askers, want none", n)
	}
	// From two ports: one asker all the same.
	get(t, s, "/readyz", "User-Agent: lb")
	get(t, s, "/readyz", "User-Agent: lb")
	c.do("HEAD", "/readyz", "User-Agent: lb")
	if n := askers(s); n != 1 {
		t.Errorf("%d askers, want 1", n)
	}
	if n := w.told.Load(); n != 0 {
		t.Errorf("told %d times while ready", n)
	}
	drain := draining()
	w.set(drain)
	for i := range 3 {
		get(t, s, "/livez")
		get(t, s, "/healthz", "User-Agent: "+HealthAgent+"1.0")
		get(t, s, "/readyz", "User-Agent: lb")
		if n := w.told.Load(); n != int64(i+1) {
			t.Errorf("told %d times, want %d", n, i+1)
		}
	}
	now := time.Now()
	away, next := s.Askers().Away(now, drain.NotReadySince)
	if !away && next.Sub(now) > lastWord {
		t.Errorf("told three times: away %v, next in %v", away, next.Sub(now))
	}
}

// Ten thousand probes, in batches on one connection, and two hundred
// connections.
func TestProbesLeaveNothingBehind(t *testing.T) {
	cfg := newWorld(ready).config()
	cfg.Alive = func(context.Context) bool { return true }
	s := serve(t, cfg)
	kept := dial(t, s)
	kept.get("/readyz")
	get(t, s, "/livez")
	settles(t, runtime.NumGoroutine(), descriptors(t))
	goroutines, fds := runtime.NumGoroutine(), descriptors(t)
	var batch strings.Builder
	const size = 50
	paths := []string{"/readyz", "/livez", "/healthz?verbose", "/statusz", "/nothing"}
	for i := range size {
		fmt.Fprintf(&batch, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", paths[i%len(paths)])
	}
	for i := range 10_000 / size {
		kept.SetDeadline(time.Now().Add(10 * time.Second))
		go io.WriteString(kept, batch.String()) // the answers are more than the kernel holds
		for range size {
			resp, err := http.ReadResponse(kept.in, nil)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
		}
		get(t, s, paths[i%len(paths)])
	}
	settles(t, goroutines, fds)
	if n := askers(s); n != 2 { // two ready paths, no agent
		t.Errorf("%d askers", n)
	}
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	goroutines, fds := runtime.NumGoroutine(), descriptors(t)
	w := newWorld(record.Snapshot{AwaitsListener: true})
	cfg := w.config()
	looked := make(chan error, 1)
	cfg.Look = func(ctx context.Context) bool { <-ctx.Done(); looked <- ctx.Err(); return false }
	s := serve(t, cfg)
	idle, busy := dial(t, s), dial(t, s)
	io.WriteString(busy, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
	time.Sleep(20 * time.Millisecond)
	start := time.Now()
	s.Close()
	s.Close()
	if took := time.Since(start); took > lookLimit/2 {
		t.Errorf("Close took %v", took)
	}
	if err := <-looked; err != context.Canceled {
		t.Errorf("the look under way ended with %v", err)
	}
	idle.Close()
	busy.Close()
	settles(t, goroutines, fds)

	unserved, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unserved.Close()
	settles(t, goroutines, fds)
}
