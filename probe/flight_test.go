package probe

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"graced/internal/record"
)

func newFlight(ctx context.Context, limit, gap time.Duration, ask func(context.Context) bool) *flight {
	return &flight{ctx: ctx, ask: ask, limit: limit, gap: gap, where: "test", panicked: func(string, any, []byte) {}}
}

func TestFlight(t *testing.T) {
	const limit, gap = 500 * time.Millisecond, 50 * time.Millisecond

	t.Run("all who ask meanwhile share one call", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var calls, yes atomic.Int64
			f := newFlight(t.Context(), limit, gap, func(context.Context) bool {
				calls.Add(1)
				time.Sleep(300 * time.Millisecond)
				return true
			})
			var wg sync.WaitGroup
			for i := range 100 {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * time.Millisecond)
					if f.do(t.Context()) {
						yes.Add(1)
					}
				})
			}
			start := time.Now()
			wg.Wait()
			if calls.Load() != 1 || yes.Load() != 100 || time.Since(start) != 300*time.Millisecond {
				t.Errorf("%d calls, %d times yes, %v", calls.Load(), yes.Load(), time.Since(start))
			}
		})
	})

	t.Run("the next call comes after the gap", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var calls int
			f := newFlight(t.Context(), limit, gap, func(context.Context) bool { calls++; return calls == 1 })
			for range 100 { // each millisecond
				if got := f.do(t.Context()); got != (calls == 1) {
					t.Errorf("got %v after %d calls", got, calls)
				}
				time.Sleep(time.Millisecond)
			}
			if calls != 2 {
				t.Errorf("%d calls in 100 ms, want 2", calls)
			}
		})
	})

	t.Run("a call that hangs is one call, and nobody waits longer than it may", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			hang := make(chan struct{})
			var calls atomic.Int64
			f := newFlight(t.Context(), limit, gap, func(context.Context) bool { calls.Add(1); <-hang; return true })
			for i, want := range []time.Duration{limit, 0, 0} {
				start := time.Now()
				if f.do(t.Context()) || time.Since(start) != want {
					t.Errorf("ask %d: took %v, want %v and false", i, time.Since(start), want)
				}
			}
			close(hang)
			synctest.Wait()
			if !f.do(t.Context()) || calls.Load() != 1 {
				t.Errorf("after it came back: %d calls", calls.Load())
			}
		})
	})

	t.Run("one who hangs up does not cancel it for the others", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFlight(t.Context(), limit, gap, func(ctx context.Context) bool {
				return sleep(100*time.Millisecond, ctx.Done())
			})
			ctx, hangUp := context.WithCancel(t.Context())
			go func() { time.Sleep(10 * time.Millisecond); hangUp() }()
			if f.do(ctx) {
				t.Error("an answer for one who hung up")
			}
			if !f.do(t.Context()) {
				t.Error("no answer for the other")
			}
		})
	})

	t.Run("a panic is told, and is no", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFlight(t.Context(), limit, 0, func(context.Context) bool { panic("oops") })
			var told atomic.Value
			f.panicked = func(where string, v any, stack []byte) { told.Store(v) }
			if f.do(t.Context()) || told.Load() != "oops" {
				t.Errorf("told %v", told.Load())
			}
		})
	})
}

// A listener that comes up is seen by the very request that asks.
func TestLook(t *testing.T) {
	w := newWorld(record.Snapshot{Phase: record.Starting, AwaitsListener: true, Reason: "starting: no listening port yet"})
	var looks atomic.Int64
	var listens atomic.Bool
	cfg := w.config()
	cfg.Look = func(context.Context) bool {
		looks.Add(1)
		if listens.Load() {
			w.set(ready)
		}
		return true
	}
	cfg.Metrics = func() http.Handler { return http.NotFoundHandler() }
	s := serve(t, cfg)
	for _, path := range []string{"/livez", "/nothing"} {
		get(t, s, path)
	}
	if n := looks.Load(); n != 0 {
		t.Errorf("%d looks, though nobody asked for readiness", n)
	}
	wantLine(t, get(t, s, "/readyz"), 503, "starting: no listening port yet\n")
	for i, path := range []string{"/statusz", "/metrics", "/startupz"} { // these say whether it is ready, too
		time.Sleep(2 * lookGap)
		get(t, s, path)
		if n := looks.Load(); n != int64(i+2) {
			t.Errorf("%d looks after %s, want %d", n, path, i+2)
		}
	}
	looks.Store(0)
	start := time.Now()
	for range 50 {
		get(t, s, "/healthz")
	}
	if n, most := looks.Load(), 2+int64(time.Since(start)/lookGap); n > most {
		t.Errorf("%d looks in %v", n, time.Since(start))
	}
	listens.Store(true)
	time.Sleep(lookGap)
	if got := get(t, s, "/startupz"); got.StatusCode != 200 || got.Close {
		t.Errorf("startup: got %d, close %v", got.StatusCode, got.Close)
	}
	// Not once it is ready, nor in a shutdown, whatever else the snapshot says.
	n := looks.Load()
	for _, snap := range []record.Snapshot{ready, draining()} {
		snap.AwaitsListener = true
		w.set(snap)
		time.Sleep(lookGap)
		get(t, s, "/readyz")
		get(t, s, "/startupz")
	}
	if looks.Load() != n {
		t.Errorf("%d looks for nothing", looks.Load()-n)
	}
}

// A look that never ends costs half a second, not the answer.
func TestLookThatHangs(t *testing.T) {
	w := newWorld(record.Snapshot{Phase: record.Starting, AwaitsListener: true})
	hang := make(chan struct{})
	defer close(hang)
	cfg := w.config()
	cfg.Look = func(context.Context) bool { <-hang; return true }
	s := serve(t, cfg)
	start := time.Now()
	for range 10 {
		wantLine(t, get(t, s, "/readyz"), 503, "starting\n")
	}
	if took := time.Since(start); took < lookLimit-50*time.Millisecond || took > 4*lookLimit {
		t.Errorf("ten answers took %v", took)
	}
}
