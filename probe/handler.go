package probe

import (
	"context"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"graced/internal/record"
)

const (
	lookLimit  = 500 * time.Millisecond // below the time-out of every usual prober (1 s)
	lookGap    = 50 * time.Millisecond
	aliveLimit = time.Second
)

// StatusPath is where the status is served, see Status.
const StatusPath = "/statusz"

// handler answers every request: it knows the paths, and what holds for each
// of them.
type handler struct {
	cfg     Config
	askers  *Askers
	look    *flight // nil: there is no Look
	alive   *flight
	metrics func() http.Handler
	routes  map[string]route
	paths   []string // the routes in order, to be shown
}

type route func(w *answer, r *http.Request)

func newHandler(ctx context.Context, cfg Config, askers *Askers) *handler {
	h := &handler{cfg: cfg, askers: askers, routes: make(map[string]route)}
	if cfg.Look != nil {
		h.look = &flight{ctx: ctx, ask: cfg.Look, limit: lookLimit, gap: lookGap, where: "look for a listener", panicked: cfg.Panic}
	}
	if cfg.Alive != nil {
		h.alive = &flight{ctx: ctx, ask: cfg.Alive, limit: aliveLimit, where: "liveness", panicked: cfg.Panic}
	}
	h.add(h.ready, cfg.Ready...)
	h.add(h.live, cfg.Live...)
	h.add(h.startup, cfg.Startup...)
	if cfg.Metrics != nil {
		h.metrics = sync.OnceValue(cfg.Metrics)
		h.add(h.scrape, cfg.MetricsPath)
	}
	h.add(h.status, StatusPath)
	return h
}

func (h *handler) add(to route, paths ...string) {
	for _, p := range paths {
		if _, taken := h.routes[p]; !taken {
			h.routes[p] = to
			h.paths = append(h.paths, p)
		}
	}
}

func (h *handler) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w := &answer{ResponseWriter: rw, conn: connOf(r.Context()), body: r.ContentLength != 0}
	w.compute()
	defer w.begin()
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if v == http.ErrAbortHandler { // the way a handler hangs up on purpose; net/http knows it
			panic(v)
		}
		h.cfg.Panic("readiness server: "+r.URL.Path, v, debug.Stack())
		if w.begun {
			panic(http.ErrAbortHandler) // half an answer: hang up, so that it is not taken for a whole one
		}
		clear(w.Header()) // it was for the answer that did not come
		w.Header().Set("Connection", "close")
		w.text(http.StatusInternalServerError, "graced failed to answer; its log says why\n")
	}()
	h.dispatch(w, r)
}

func (h *handler) dispatch(w *answer, r *http.Request) {
	w.keepAlive(h.snapshot())
	to, known := h.routes[r.URL.Path]
	switch {
	case !known:
		w.text(http.StatusNotFound, "nothing here; graced serves\n"+strings.Join(h.paths, "\n")+"\n")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		w.text(http.StatusMethodNotAllowed, "GET and HEAD only\n")
	default:
		to(w, r)
	}
}

// snapshot is the present one; an empty one in place of nil.
func (h *handler) snapshot() *record.Snapshot {
	if h.cfg.Snapshot != nil {
		if s := h.cfg.Snapshot(); s != nil {
			return s
		}
	}
	return &record.Snapshot{Phase: record.Starting}
}

// answer is a ResponseWriter that knows whether the answer has begun. From
// then on its connection waits for the client and may be closed.
type answer struct {
	http.ResponseWriter
	conn  *conn // nil without a listener of ours
	body  bool  // the request has one
	begun bool
}

func (w *answer) compute() {
	if w.conn != nil {
		w.conn.begin()
	}
}

func (w *answer) begin() {
	if w.begun {
		return
	}
	w.begun = true
	if w.conn != nil {
		w.conn.end()
	}
}

func (w *answer) WriteHeader(code int) {
	w.begin()
	w.ResponseWriter.WriteHeader(code)
}

func (w *answer) Write(p []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *answer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// keepAlive says whether the connection may serve another request. While not
// ready it may not: a client that pools connections is to make a new one, which
// goes to whoever is ready. Nor after a request with a body, which nothing here
// reads: net/http would wait for all of it before it answers.
func (w *answer) keepAlive(s *record.Snapshot) {
	if isReady(s) && !w.body {
		w.Header().Del("Connection")
	} else {
		w.Header().Set("Connection", "close")
	}
}

func (w *answer) text(code int, body string) {
	w.write(code, "text/plain; charset=utf-8", []byte(body))
}

func (w *answer) write(code int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store") // the answer of a moment ago may be wrong
	w.WriteHeader(code)
	_, _ = w.Write(body) // the client is gone: nobody to tell
}
