package probe

import (
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestListen(t *testing.T) {
	for _, tt := range []struct{ addr, bound string }{
		{"127.0.0.1:0", "127.0.0.1"},
		{"localhost:0", "127.0.0.1"},
		{"[::1]:0", "::1"},
		{":0", "::"},
		{"[::]:0", "::"},
		{"0.0.0.0:0", "0.0.0.0"},
	} {
		s, err := Listen(tt.addr)
		if err != nil {
			t.Errorf("%s: %v", tt.addr, err)
			continue
		}
		if got := s.Addr(); got.Addr().String() != tt.bound || got.Port() == 0 {
			t.Errorf("%s: bound to %v", tt.addr, got)
		}
		s.Close()
	}
}

func TestListenRefusals(t *testing.T) {
	for _, tt := range []struct{ addr, want string }{
		{"8990", `cannot listen on "8990": it is no address with a port; --listen takes ADDRESS:PORT, such as :8990 or 127.0.0.1:8990, or off`},
		{"", `it is no address with a port`},
		{"::1:8990", `it is no address with a port`},
		{":http", `port "http" is no number from 0 to 65535`},
		{":65536", `port "65536" is no number from 0 to 65535`},
		{":-1", `port "-1" is no number`},
		{"example.com:80", `"example.com" is no IP address`},
		{"192.0.2.1:8990", `cannot assign requested address (no interface of this network namespace has it); --listen sets another address, --listen off none`},
	} {
		s, err := Listen(tt.addr)
		if err == nil {
			s.Close()
			t.Errorf("%q: no error", tt.addr)
		} else if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v; want …%s…", tt.addr, err, tt.want)
		}
	}
	first, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err = Listen(first.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("a taken port: %v", err)
	}
}

// A wildcard serves both families, so that it does not matter how a prober
// writes the address.
func TestWildcardServesBothFamilies(t *testing.T) {
	s := serveOn(t, ":0", newWorld(ready).config())
	_, port, _ := net.SplitHostPort(s.Addr().String())
	for _, host := range []string{"127.0.0.1", "::1"} {
		c, err := net.Dial("tcp", net.JoinHostPort(host, port))
		if err != nil {
			t.Errorf("%s: %v", host, err)
			continue
		}
		c.Close()
	}
}

// scripted is a net.Listener whose accepts go as told, one after the other.
type scripted struct {
	net.Listener
	mu     sync.Mutex
	script []any // an error to return, a string to panic with
}

func (l *scripted) Accept() (net.Conn, error) {
	l.mu.Lock()
	if len(l.script) == 0 {
		l.mu.Unlock()
		return l.Listener.Accept()
	}
	next := l.script[0]
	l.script = l.script[1:]
	l.mu.Unlock()
	if err, ok := next.(error); ok {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", err)}
	}
	panic(next)
}

func TestAcceptGoesOn(t *testing.T) {
	s, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := &scripted{Listener: s.tcp}
	s.tcp = l
	w := newWorld(ready)
	s.Serve(w.config())
	stranger := dial(t, s)
	kept := dial(t, s)
	wantLine(t, kept.get("/readyz"), 200, "ok")
	time.Sleep(2 * sheltered)

	l.mu.Lock()
	l.script = []any{syscall.EMFILE, syscall.ENFILE, syscall.ECONNABORTED, syscall.ENOBUFS, "accept is broken", "twice"}
	l.mu.Unlock()
	// One accept is under way already; the next ones follow the script.
	wantLine(t, get(t, s, "/readyz"), 200, "ok")
	start := time.Now()
	wantLine(t, get(t, s, "/readyz"), 200, "ok")
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("recovering took %v", took)
	}
	start = time.Now()
	if !stranger.closed() || time.Since(start) > headerTimeout/2 {
		t.Error("out of descriptors, and the connection that never asked is still there")
	}
	if got := w.panicked(); len(got) != 2 || got[0] != "readiness server: accept: accept is broken" {
		t.Errorf("told of panics %q", got)
	}
}

func TestMaxConns(t *testing.T) {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	quarter := int(min(files.Cur/4, 1<<30))
	for _, tt := range []struct{ want, got int }{
		{0, min(defaultMaxConns, quarter)}, {-1, min(defaultMaxConns, quarter)}, {1, 1}, {1 << 30, quarter},
	} {
		if got := maxConns(tt.want); got != tt.got {
			t.Errorf("maxConns(%d) = %d, want %d", tt.want, got, tt.got)
		}
	}
}

func TestHTTPLogIsSilentButForPanics(t *testing.T) {
	w := newWorld(ready)
	l := httpLog{w.config().Panic}
	l.Write([]byte("http: TLS handshake error from 10.0.0.1: EOF\n"))
	l.Write([]byte("http: panic serving 10.0.0.1:5: oops\ngoroutine 7 [running]:\n"))
	if got := w.panicked(); len(got) != 1 || !strings.Contains(got[0], "oops") {
		t.Errorf("told of panics %q", got)
	}
}
