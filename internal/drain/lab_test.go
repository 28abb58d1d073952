package drain

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// lab is a listener, one client of it, and who looks at both.
type lab struct {
	t      *testing.T
	ln     *net.TCPListener
	looker *Looker
}

// newLab listens on a host's address, and looks at its port only, so that tests do
// not see each other's.
func newLab(t *testing.T, host string) *lab {
	t.Helper()
	ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).AddrPort().Port()
	l := New(Scope{Ports: []uint16{port}})
	t.Cleanup(func() { ln.Close(); l.Close() })
	return &lab{t, ln.(*net.TCPListener), l}
}

// end is one end of a connection; what it is asked to do must work.
type end struct {
	*net.TCPConn
	t *testing.T
}

func (l *lab) end(c net.Conn, err error) end {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { c.Close() })
	return end{c.(*net.TCPConn), l.t}
}

// dial names one address: of [::] the net package would make two, and where the
// machine is slow connect to both.
func (l *lab) dial() end {
	l.t.Helper()
	at := l.ln.Addr().(*net.TCPAddr).AddrPort()
	if at.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(netip.IPv6Loopback(), at.Port())
	}
	return l.end(net.Dial("tcp", at.String()))
}

func (l *lab) accept() end {
	l.t.Helper()
	l.ln.SetDeadline(time.Now().Add(20 * time.Second))
	return l.end(l.ln.Accept())
}

// pair is a client and the server's end of its connection.
func (l *lab) pair() (client, server end) {
	l.t.Helper()
	client = l.dial()
	return client, l.accept()
}

func (e end) say(s string) {
	e.t.Helper()
	if _, err := io.WriteString(e, s); err != nil {
		e.t.Fatal(err)
	}
}

func (e end) hear(s string) {
	e.t.Helper()
	b := make([]byte, len(s))
	e.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadFull(e, b); err != nil || string(b) != s {
		e.t.Fatalf("heard %q, %v; want %q", b, err, s)
	}
}

func (e end) shut() {
	e.t.Helper()
	if err := e.CloseWrite(); err != nil {
		e.t.Fatal(err)
	}
}

// exchange is a request and its answer, at once or after a time.
func exchange(client, server end, after time.Duration) {
	client.t.Helper()
	client.say("request")
	server.hear("request")
	time.Sleep(after)
	server.say("answer")
	client.hear("answer")
}

// tick is longer than a tick of any kernel's clock (HZ=100).
const tick = 15 * time.Millisecond

// look is a census with all it judged.
func (l *lab) look(rules Rules) (Census, []Conn) {
	l.t.Helper()
	var list []Conn
	err := l.looker.fallingBack(func() error {
		list = list[:0]
		return l.looker.census(rules, func(s *sock, v Verdict, rule Rule) {
			list = append(list, Conn{
				Local: s.local(), Peer: s.peer(), State: s.state, Verdict: v, Rule: rule, Age: s.age(),
				Unread: s.rqueue, Unsent: s.wqueue,
			})
		})
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return l.looker.tally.census("test", 0), list
}

// want is a verdict, and the rules that may give it, by name.
type want struct {
	verdict Verdict
	rules   string // one of them, between bars; empty: any
	counts  func(Census) bool
}

func (w want) String() string { return w.verdict.String() + " (" + w.rules + ")" }

func (w want) holds(c Census, list []Conn) bool {
	if w.counts != nil && !w.counts(c) {
		return false
	}
	if w.verdict == Gone && len(list) == 0 {
		return true
	}
	for _, conn := range list {
		if conn.Verdict == w.verdict && (w.rules == "" || strings.Contains("|"+w.rules+"|", "|"+conn.Rule.String()+"|")) {
			return true
		}
	}
	return false
}

// becomes waits until the one connection is judged as wanted, and then sees that
// it stays so: what is busy now must not be idle after a while.
func (l *lab) becomes(rules Rules, w want) {
	l.t.Helper()
	l.await(rules, w)
	for stay := time.Now().Add(700 * time.Millisecond); time.Now().Before(stay); time.Sleep(50 * time.Millisecond) {
		if c, list := l.look(rules); !w.holds(c, list) {
			l.t.Fatalf("did not stay %v: %+v %v", w, list, c.counts())
		}
	}
}

// await waits until one of the wanted holds.
func (l *lab) await(rules Rules, any ...want) {
	l.t.Helper()
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, list := l.look(rules)
		for _, w := range any {
			if w.holds(c, list) {
				return
			}
		}
		if time.Now().After(limit) {
			l.t.Fatalf("never %v: %+v %v", any, list, c.counts())
		}
	}
}
