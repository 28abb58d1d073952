package drain

import (
	"io"
	"net"
	"testing"
	"time"
)

// What a program wrote before it closed the connection is seen until it is
// delivered, also by who never saw its listener.
func TestOrphans(t *testing.T) {
	alone(t)
	ln := listen(t, "127.0.0.1:0")
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := ln.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	for name, refused := range map[string]error{"sock_diag": nil, "proc": errNoInfo} {
		l := New(Scope{})
		l.refused = refused
		if n, _, err := l.Orphans(); n != 0 || err != nil {
			t.Errorf("%s: %d while it is open, %v", name, n, err)
		}
		l.Close()
	}
	// more than the client's window takes
	sent := 0
	_ = server.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
	for {
		n, err := server.Write(make([]byte, 64<<10))
		sent += n
		if err != nil {
			break
		}
	}
	server.Close()
	for name, refused := range map[string]error{"sock_diag": nil, "proc": errNoInfo} {
		l := New(Scope{})
		l.refused = refused
		if n, _, err := l.Orphans(); n != 1 || err != nil {
			t.Errorf("%s: %d undelivered, %v", name, n, err)
		}
		l.Close()
	}
	if n, err := io.Copy(io.Discard, client); n != int64(sent) || err != nil {
		t.Errorf("%d bytes of %d, %v", n, sent, err)
	}
	l := New(Scope{})
	defer l.Close()
	if n, _, err := l.Orphans(); n != 0 || err != nil {
		t.Errorf("%d after it was delivered, %v", n, err)
	}
}
