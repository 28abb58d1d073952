package drain

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A connection whose handshake is not over: TCP_DEFER_ACCEPT keeps it there until
// the client sends (tcp(7)).
func TestHandshake(t *testing.T) {
	t.Parallel()
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		cerr := c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, 30)
		})
		if cerr != nil {
			return cerr
		}
		return err
	}}
	lc.SetMultipathTCP(false)
	ln, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	port := ln.Addr().(*net.TCPAddr).AddrPort().Port()
	for name, refused := range map[string]error{"sock_diag": nil, "proc": errNoInfo} {
		t.Run(name, func(t *testing.T) {
			l := labOf(t, ln.(*net.TCPListener), Scope{Ports: []uint16{port}})
			l.looker.refused = refused
			client := l.dial()
			l.await(caseRules, want{Busy, "handshake under way", func(c Census) bool { return c.Unaccepted == 1 }})
			client.say("request")
			l.await(caseRules, want{Busy, "unread request", func(c Census) bool { return c.Unaccepted == 1 }})
			l.accept().Close()
			client.Close()
		})
	}
}

// certificate is for 127.0.0.1 and nobody checks it.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TLS: a handshake is not told from a request at once, and so takes until the
// unsure time at the most; what follows is as without. Where the client has the last
// word of a handshake, as in TLS 1.3, and a tick later than the server, a connection
// without a request is taken for busy.
func TestTLS(t *testing.T) {
	t.Parallel()
	config := &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, "127.0.0.1")
			c, s := l.pair()
			client := tls.Client(c, &tls.Config{
				InsecureSkipVerify: true, MaxVersion: version, ClientSessionCache: tls.NewLRUClientSessionCache(1),
			})
			server := tls.Server(s, config)
			shaken := make(chan error, 1)
			go func() { shaken <- server.Handshake() }()
			if err := client.Handshake(); err != nil {
				t.Fatal(err)
			}
			if err := <-shaken; err != nil {
				t.Fatal(err)
			}
			l.await(shortUnsure, want{Idle, "cannot be told|answered|answered at once", nil}, want{Busy, "received last", nil})

			// A first request, answered at once; then a slow one, answered in the end.
			say := func(to *tls.Conn, from *tls.Conn) {
				t.Helper()
				if _, err := to.Write([]byte("hello")); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(from, make([]byte, 5)); err != nil {
					t.Fatal(err)
				}
			}
			say(client, server)
			say(server, client)
			l.await(shortUnsure, want{Idle, "", nil})
			say(client, server)
			l.becomes(shortUnsure, want{Busy, "received last", nil})
			say(server, client)
			l.await(shortUnsure, want{Idle, "answered", nil})
		})
	}
}

// HTTP/2 has many requests in one connection, and the kernel knows one.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	l := newLab(t, "127.0.0.1")
	entered, release := make(chan struct{}), make(chan struct{})
	server := &http.Server{
		Protocols: new(http.Protocols),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				close(entered)
				<-release
			}
			io.WriteString(w, "answer")
		}),
	}
	server.Protocols.SetUnencryptedHTTP2(true)
	go server.Serve(l.ln)
	defer server.Close()
	transport := &http.Transport{Protocols: server.Protocols}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 20 * time.Second}
	get := func(path string) error {
		resp, err := client.Get("http://" + l.ln.Addr().String() + path)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	if err := get("/"); err != nil {
		t.Fatal(err)
	}
	// Idle, or taken for busy: the client's SETTINGS may be acknowledged last.
	l.await(shortUnsure, want{Idle, "", nil}, want{Busy, "received last", nil})
	slow := make(chan error, 1)
	go func() { slow <- get("/slow") }()
	<-entered
	l.becomes(caseRules, want{Busy, "received last", nil})
	if err := get("/"); err != nil {
		t.Fatal(err)
	}
	// A limit: the slow one is still there.
	l.await(shortUnsure, want{Idle, "", nil})
	if c, list := l.look(caseRules); c.Quiet(UntilClosed) || c.Open != 1 {
		t.Errorf("until closed: %+v", list)
	}
	close(release)
	if err := <-slow; err != nil {
		t.Error(err)
	}
}
