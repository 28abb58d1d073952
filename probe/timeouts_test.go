package probe

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a net.Listener without a network, for tests in virtual time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func TestTimeouts(t *testing.T) {
	const whole = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
	const half = "GET /livez HTTP/1.1\r\nHost: "
	for _, tt := range []struct {
		name   string
		send   []string // and read an answer after each but the last, if it is whole
		closed time.Duration
	}{
		{"a client that says nothing", nil, headerTimeout},
		{"a header that does not end", []string{half}, headerTimeout},
		{"kept alive between two requests", []string{whole}, idleTimeout},
		{"kept alive, then half a header", []string{whole, whole, half}, idleTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
				s := newServer(p, netip.AddrPort{})
				s.Serve(newWorld(ready).config())
				c, server := net.Pipe()
				p.conns <- server
				answer := make([]byte, 4096)
				for _, request := range tt.send {
					io.WriteString(c, request)
					if request == whole {
						if _, err := c.Read(answer); err != nil {
							t.Fatal(err)
						}
					}
				}
				start := time.Now()
				if n, err := c.Read(answer); err == nil {
					t.Errorf("got %q", answer[:n])
				}
				if took := time.Since(start); took != tt.closed {
					t.Errorf("closed after %v, want %v", took, tt.closed)
				}
				s.Close()
			})
		})
	}
}

// A client that does not read its answer: the answer is given up.
func TestWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		s := newServer(p, netip.AddrPort{})
		s.Serve(newWorld(ready).config())
		c, server := net.Pipe() // has no buffer: the server's write waits for the read
		p.conns <- server
		io.WriteString(c, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
		time.Sleep(writeTimeout + time.Millisecond)
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("read %d bytes after the time-out", n)
		}
		s.Close()
	})
}
