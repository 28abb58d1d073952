package tests

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// From the stop on readiness is 503 and never 200 again, also on a connection
// that is kept; liveness is 200 all the time; the port answers until graced's
// last moment, whatever the program does with its own.
func TestReadinessNeverComesBack(t *testing.T) {
	t.Parallel()
	sandbox(t)
	for _, mode := range []string{"linger", "early"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := start(t, "graced", "--grace", "4s", "--delay", "500ms", "--", "start_as", "ignore=1", "http_slow", "8080", mode)
			r.ready(t)
			ready, live := r.watch("/readyz", 5*time.Millisecond), r.watch("/livez", 5*time.Millisecond)
			time.Sleep(100 * time.Millisecond)
			stopped := r.signal(t, syscall.SIGTERM)
			for range 10 { // none of these brings it back
				time.Sleep(50 * time.Millisecond)
				for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT, syscall.SIGWINCH, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2} {
					_ = r.process.Signal(sig)
				}
			}
			<-r.done
			statuses := ready.end()
			if n := len(statuses); n > 0 && statuses[n-1] == 0 {
				statuses = statuses[:n-1] // after the end
			}
			if !slices.Equal(statuses, []int{200, 503}) {
				t.Errorf("readiness was %v", statuses)
			}
			if len(ready.changes) > 1 {
				if d := ready.changes[1].at.Sub(stopped); d > 100*time.Millisecond {
					t.Errorf("the first 503 came after %v", d)
				}
			}
			// to the last moment, as near as asking each 5 ms can tell
			for _, w := range []*watcher{ready} {
				if last := w.changes[len(w.changes)-1]; last.status == 0 && r.ended.Sub(last.at) > 200*time.Millisecond {
					t.Errorf("the port was silent for the last %v", r.ended.Sub(last.at))
				}
			}
			alive := live.end()
			if n := len(alive); n > 0 && alive[n-1] == 0 {
				alive = alive[:n-1]
			}
			if !slices.Equal(alive, []int{200}) {
				t.Errorf("liveness was %v", alive)
			}
		})
	}
}

// The 503 comes at once.
func TestNotReadyAtOnce(t *testing.T) {
	sandbox(t)
	var slowest time.Duration
	for range times(20, 5, 3) {
		r := start(t, "graced", "--delay", "300ms", "--", "http_abrupt", "8080")
		r.ready(t)
		client := r.client()
		if status, _, err := get(client, "http://"+port+"/readyz"); status != 200 {
			t.Fatalf("%d %v", status, err)
		}
		stopped := r.signal(t, syscall.SIGTERM)
		for {
			status, _, err := get(client, "http://"+port+"/readyz")
			if err != nil {
				t.Fatal(err)
			}
			if status == 503 {
				break
			}
		}
		slowest = max(slowest, time.Since(stopped))
		client.CloseIdleConnections()
		r.exits(t, 143, 5*time.Second)
	}
	if slowest > 50*time.Millisecond {
		t.Errorf("the slowest took %v, want 50ms", slowest)
	}
	t.Logf("the slowest took %v", slowest)
}

// A load balancer that obeys readiness sends requests to a server that dies at
// SIGTERM, and loses none: first 503, then the delay, then the signal.
func TestNoRequestIsLost(t *testing.T) {
	t.Parallel()
	sandbox(t)
	r := start(t, "graced", "--delay", "1500ms", "--", "http_abrupt", "8080")
	r.ready(t)
	client := r.client()
	defer client.CloseIdleConnections()
	var sent, failed int
	var last error
	told := time.Time{}
	for i := 0; told.IsZero() || time.Since(told) < time.Second; i++ {
		if i == 10 {
			r.signal(t, syscall.SIGTERM)
		}
		if told.IsZero() && i%5 == 0 {
			if status, _, err := r.get("/readyz"); err != nil || status == 503 {
				told = time.Now()
			}
		}
		sent++
		if status, _, err := get(client, "http://127.0.0.1:8080/"); status != 200 {
			failed, last = failed+1, err
		}
		time.Sleep(20 * time.Millisecond)
	}
	if failed > 0 {
		t.Errorf("%d of %d requests failed: %v", failed, sent, last)
	}
	r.exits(t, 143, 5*time.Second)
}

// While it is not ready graced closes the connections of those who ask, so that
// a pool makes a new one, which goes to somebody who is ready.
func TestNotReadyClosesConnections(t *testing.T) {
	t.Parallel()
	sandbox(t)
	r := start(t, "graced", "--delay", "500ms", "--", "http_abrupt", "8080")
	r.ready(t)
	resp, err := r.raw("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if resp.Close {
		t.Error("the connection is closed while ready")
	}
	r.signal(t, syscall.SIGTERM)
	r.answers(t, "/readyz", 503, time.Second)
	for _, path := range []string{"/readyz", "/livez", "/metrics"} {
		resp, err := r.raw("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")
		if err != nil {
			t.Fatal(err)
		}
		if !resp.Close {
			t.Errorf("%s: the connection is kept while not ready", path)
		}
	}
	r.exits(t, 143, 5*time.Second)
}

// A stream without an end keeps the program, but not beyond its time.
func TestEndlessStream(t *testing.T) {
	t.Parallel()
	sandbox(t)
	r := start(t, "graced", "--grace", "3s", "--drain", "off", "--", "http_stream", "8080")
	read := r.stream(t)
	began := r.signal(t, syscall.SIGTERM)
	r.prints(t, "^term", 5*time.Second)
	r.exits(t, 137, 10*time.Second)
	killedAt(t, r.ended.Sub(began), 2*time.Second)
	select {
	case cut := <-read:
		if d := cut.Sub(began); d < 1500*time.Millisecond {
			t.Errorf("the stream was cut after %v", d)
		}
	case <-time.After(2 * time.Second): // the namespace is gone, and a RST with it
	}
	r.logsExactly(t, 1, "event=overrun", "process=.+")
}

// stream has a client read http_stream's stream, and tells when it was cut.
func (r *running) stream(t *testing.T) (cut <-chan time.Time) {
	t.Helper()
	r.prints(t, "^ready", 10*time.Second)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:8080/events", nil)
	resp, err := (&http.Client{Transport: &http.Transport{DialContext: r.dial}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan time.Time, 1)
	go func() {
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		read <- time.Now()
	}()
	r.prints(t, "^open", 5*time.Second)
	return read
}

// The drain waits for it up to its ceiling, and says who was still busy; then
// the program is told, and what was planned for it is all there.
func TestEndlessStreamInTheDrain(t *testing.T) {
	t.Parallel()
	sandbox(t)
	r := start(t, "graced", "--grace", "4s", "--delay", "0s", "--drain-max", "1s", "--", "http_stream", "8080")
	cut := r.stream(t)
	began := r.signal(t, syscall.SIGTERM)
	r.prints(t, "^term", 5*time.Second)
	if d := r.stdout.at(t, "^term").Sub(began); d < time.Second || d > 1500*time.Millisecond {
		t.Errorf("the program was told after %v, want the drain's ceiling, 1s", d)
	}
	r.exits(t, 137, 10*time.Second)
	killedAt(t, r.ended.Sub(began), 3*time.Second)
	select {
	case at := <-cut:
		if d := at.Sub(began); d < 2500*time.Millisecond {
			t.Errorf("the stream was cut after %v", d)
		}
	case <-time.After(2 * time.Second):
	}
	r.logsExactly(t, 2, "event=overrun")
	r.logsExactly(t, 1, "event=overrun", "level=WARN", "phase=drain", `deadline=1\.0s`, "busy=1", `peer1=127\.0\.0\.1:[0-9]+: .+`)
	r.logsExactly(t, 1, "event=overrun", "phase=stop", "process=.+", `deadline=3\.0s`)
	r.logsExactly(t, 1, "event=shutdown_end", "code=137", "overruns=2", "killed=1")
}

// Two hundred requests a second and the garbage they make: none of the runtime's
// own signals gets to the program.
func TestRuntimeSignalsStayInside(t *testing.T) {
	t.Parallel()
	sandbox(t)
	r := start(t, "graced", "--ready", "started", "--", "sig_logger", "15", "1", "30")
	r.ready(t)
	var watchers []*watcher
	for range 4 {
		watchers = append(watchers, r.watch("/metrics", 10*time.Millisecond))
	}
	time.Sleep(time.Duration(times(20, 2, 1)) * time.Second)
	for _, w := range watchers {
		w.end()
	}
	if n := r.stdout.count("^sig "); n > 0 {
		t.Errorf("the program got %d signals:\n%s", n, r.stdout.text())
	}
	r.signal(t, syscall.SIGTERM)
	r.exits(t, 0, 5*time.Second)
}

// The delay is what it is set to, whether anybody asks or not.
func TestDelayIsExact(t *testing.T) {
	t.Parallel()
	sandbox(t)
	for _, asked := range []bool{false, true} {
		r := start(t, "graced", "--delay", "1s", "--", "sig_logger", "15", "1", "30")
		r.prints(t, "^ready", 10*time.Second)
		r.up(t)
		var w *watcher
		if asked {
			w = r.watch("/readyz", 50*time.Millisecond)
		}
		began := r.signal(t, syscall.SIGTERM)
		r.exits(t, 0, 10*time.Second)
		if d := r.stdout.at(t, "^sig 15").Sub(began); d < time.Second || d > 1300*time.Millisecond {
			t.Errorf("the signal came after %v, want 1s (asked: %t)", d, asked)
		}
		if w != nil {
			w.end()
		}
	}
}

// `auto` waits until everyone who asks has been told three times, and for
// nobody else.
func TestAutoDelayWaitsForThoseWhoAsk(t *testing.T) {
	t.Parallel()
	sandbox(t)
	r := start(t, "graced", "--grace", "20s", "--drain", "off", "--", "http_abrupt", "8080")
	r.ready(t)
	w := r.watch("/readyz", 300*time.Millisecond)
	time.Sleep(time.Second)
	began := r.signal(t, syscall.SIGTERM)
	r.exits(t, 143, 20*time.Second)
	w.end()
	if d := r.ended.Sub(began); d < 700*time.Millisecond || d > 4*time.Second {
		t.Errorf("the stop took %v, want three askings and one more interval: about 1.2s", d)
	}

	r = start(t, "graced", "--grace", "20s", "--drain", "off", "--", "http_abrupt", "8080")
	r.ready(t) // once is no asker
	began = r.signal(t, syscall.SIGTERM)
	r.exits(t, 143, 20*time.Second)
	if d := r.ended.Sub(began); d > time.Second {
		t.Errorf("the stop took %v though nobody asks", d)
	}
}

// The nginx way: an image with STOPSIGNAL SIGQUIT, around the real one.
func TestNginxFinishesItsRequests(t *testing.T) {
	t.Parallel()
	sandbox(t)
	need(t, "nginx", "root")
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(dir, "nginx.conf")
	text := `worker_processes 1; pid ` + dir + `/pid; error_log stderr; events {}
http { access_log off; client_body_temp_path ` + dir + `; proxy_temp_path ` + dir + `; fastcgi_temp_path ` + dir + `; uwsgi_temp_path ` + dir + `; scgi_temp_path ` + dir + `;
  server { listen 127.0.0.1:8080; location / { return 200 ok; } location /slow { proxy_pass http://127.0.0.1:8081/; } } }`
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, stop := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGTERM} {
		t.Run(stop.String(), func(t *testing.T) {
			r := start(t, "sh", "-c", "http_slow 8081 linger & exec graced --delay 0s -- nginx -c "+conf+" -g 'daemon off;'")
			r.prints(t, "ready 8081", 10*time.Second)
			if !eventually(10*time.Second, func() bool {
				client := r.client()
				defer client.CloseIdleConnections()
				status, _, err := get(client, "http://127.0.0.1:8080/")
				return err == nil && status == 200
			}) {
				t.Fatal("nginx does not answer")
			}
			answer := make(chan error, 1)
			go func() {
				client := r.client()
				defer client.CloseIdleConnections()
				_, _, err := get(client, "http://127.0.0.1:8080/slow/1")
				answer <- err
			}()
			r.prints(t, "^begin", 5*time.Second)
			r.signal(t, stop)
			if err := <-answer; err != nil {
				t.Errorf("the request in flight was cut: %v", err)
			}
			r.exits(t, 0, 10*time.Second)
		})
	}
}
