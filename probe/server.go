package probe

import (
	"bytes"
	"context"
	"log"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"graced/internal/record"
)

// Bounds on what one client can hold. A probe is a request of a few hundred
// bytes that is sent at once, so all of them are far above what one needs; they
// are what a client costs that never ends its request or never reads its
// answer.
const (
	headerTimeout = 5 * time.Second // from the accept to the end of the first header; later ones: see conn.SetReadDeadline
	readTimeout   = 10 * time.Second
	writeTimeout  = 10 * time.Second // above every bound of the answers themselves: lookLimit, aliveLimit
	// idleTimeout is longer than the period of every usual prober and scraper
	// (at most a minute), so that a kept-alive connection is not closed just
	// when its next request is under way.
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 8 << 10 // net/http adds 4 KiB of its own

	defaultMaxConns = 256
)

// Server serves readiness on one port, from Serve to graced's last moment.
type Server struct {
	tcp    net.Listener
	addr   netip.AddrPort
	askers Askers

	serve, close sync.Once
	done         chan struct{} // closed by Close
	ctx          context.Context
	cancel       context.CancelFunc
	mu           sync.Mutex
	http         *http.Server // nil before Serve
}

// Config is what a Server answers with. Snapshot is required; each of the
// others may be left out.
type Config struct {
	// Paths. Defaults: /readyz and /healthz, /livez, /startupz. A path that is
	// in several means the first of them.
	Ready, Live, Startup []string
	// MetricsPath is where Metrics is served; default /metrics.
	MetricsPath string

	// Snapshot is the supervisor's state. It never blocks.
	Snapshot func() *record.Snapshot
	// Look is called when somebody asks for readiness or startup and the
	// snapshot says AwaitsListener. It looks whether the processes listen by
	// now, tells the supervisor, and returns when the next Snapshot has it;
	// false: it could not find out within its context. At most one is under
	// way, each gets 500 ms, and the next begins 50 ms after the last ended at
	// the earliest: whoever asks meanwhile shares its result.
	Look func(ctx context.Context) bool
	// Alive asks the supervisor's loop for a sign of life. Liveness is 200 if
	// it returns true within a second. At most one is under way.
	Alive func(ctx context.Context) bool
	// Metrics makes the handler of MetricsPath. It is called at the first
	// request, so that nobody pays for metrics that nobody reads.
	Metrics func() http.Handler

	// Connections counts those of the processes for the status, where the
	// snapshot has no count. It answers from a cache that is a second old at most.
	Connections func() record.Connections

	// Told is called after somebody who counts as an asker was told "not
	// ready": Askers.Away may have changed. It must not block.
	Told func()
	// Panic is told of a panic in the server or in a function of this Config.
	// The request gets a 500, the server goes on.
	Panic func(where string, v any, stack []byte)

	// MaxConns bounds the open connections; default 256. It is lowered to a
	// quarter of the limit of open files, so that probes never take the
	// descriptors that the supervisor needs. At the bound the oldest connection
	// that waits for its client is closed.
	MaxConns int
}

func (c Config) withDefaults() Config {
	if len(c.Ready) == 0 {
		c.Ready = []string{"/readyz", "/healthz"}
	}
	if len(c.Live) == 0 {
		c.Live = []string{"/livez"}
	}
	if len(c.Startup) == 0 {
		c.Startup = []string{"/startupz"}
	}
	if c.MetricsPath == "" {
		c.MetricsPath = "/metrics"
	}
	if c.Told == nil {
		c.Told = func() {}
	}
	if c.Panic == nil {
		c.Panic = func(string, any, []byte) {}
	}
	c.MaxConns = maxConns(c.MaxConns)
	return c
}

// maxConns is how many connections are kept when the user wants want.
func maxConns(want int) int {
	if want <= 0 {
		want = defaultMaxConns
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return want
	}
	return int(max(1, min(uint64(want), files.Cur/4)))
}

func newServer(tcp net.Listener, addr netip.AddrPort) *Server {
	s := &Server{tcp: tcp, addr: addr, done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Addr is the address that the server is bound to, with the port that the
// kernel chose if none was asked for. A wildcard address is [::] where it
// serves IPv4 too.
func (s *Server) Addr() netip.AddrPort { return s.addr }

// Askers are those who ask this server for readiness.
func (s *Server) Askers() *Askers { return &s.askers }

// Serve starts to answer and returns at once. Only the first call counts.
func (s *Server) Serve(cfg Config) {
	s.serve.Do(func() {
		cfg = cfg.withDefaults()
		bounded := &listener{
			tcp:   s.tcp,
			conns: newConns(cfg.MaxConns, crowded(s.tcp)),
			done:  s.done,
		}
		srv := &http.Server{
			Handler:                      newHandler(s.ctx, cfg, &s.askers),
			ReadHeaderTimeout:            headerTimeout,
			ReadTimeout:                  readTimeout,
			WriteTimeout:                 writeTimeout,
			IdleTimeout:                  idleTimeout,
			MaxHeaderBytes:               maxHeaderBytes,
			DisableGeneralOptionsHandler: true, // "OPTIONS *" is no path of ours: 404 like any other
			BaseContext:                  func(net.Listener) context.Context { return s.ctx },
			ConnContext:                  withConn,
			ErrorLog:                     log.New(httpLog{cfg.Panic}, "", 0),
		}
		s.mu.Lock()
		s.http = srv
		s.mu.Unlock()
		go func() {
			for pause := firstPause; serveOnce(srv, bounded, cfg.Panic) && sleep(pause, s.done); pause = longer(pause) {
			}
		}()
	})
}

// serveOnce accepts connections until the listener is closed. After a panic it
// returns true: it is to be called again.
func serveOnce(srv *http.Server, l net.Listener, panicked func(string, any, []byte)) (again bool) {
	defer func() {
		if v := recover(); v != nil {
			panicked("readiness server: accept", v, debug.Stack())
			again = true
		}
	}()
	_ = srv.Serve(l) // its error is always that the listener was closed
	return false
}

// Close closes the port and every connection, without waiting for anything.
// It is for graced's last moment only: until then somebody may ask.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.done)
		s.cancel()
		_ = s.tcp.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.http != nil {
			_ = s.http.Close()
		}
	})
}

// httpLog takes what net/http has to say. Nearly all of it is about clients
// that went away; graced's stderr is not for that, and a write to it can block.
// What is left is a panic in net/http's own code.
type httpLog struct {
	panicked func(where string, v any, stack []byte)
}

func (l httpLog) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("panic serving")) {
		line, stack, _ := bytes.Cut(bytes.Clone(p), []byte("\n")) // log reuses p
		l.panicked("readiness server: net/http", string(line), stack)
	}
	return len(p), nil
}

// sleep waits for d, or until done is closed: then it returns false.
func sleep(d time.Duration, done <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-done:
		return false
	}
}
