package drain

import (
	"net"
	"strings"
	"testing"
	"time"
)

// cases are connections that are made with real sockets, each in the state that
// its name says, and what is made of it. Those that are judged idle and hold a
// request are marked: they are the limits of what can be seen.
var cases = []struct {
	name  string
	make  func(l *lab)
	rules Rules // none: caseRules
	want  want
	limit bool // wrong: a request is lost
}{
	{name: "fresh, nothing sent", make: func(l *lab) {
		l.pair()
	}, want: want{Idle, "never used", nil}},

	{name: "first request slow", make: func(l *lab) {
		client, server := l.pair()
		client.say("request")
		server.hear("request")
	}, want: want{Busy, "first request not answered", nil}},

	{name: "slow after an answer", make: func(l *lab) {
		client, server := l.pair()
		exchange(client, server, 0)
		time.Sleep(tick)
		client.say("request")
		server.hear("request")
	}, want: want{Busy, "received last", nil}},

	{name: "slow and answered", make: func(l *lab) {
		client, server := l.pair()
		exchange(client, server, 2*tick)
	}, want: want{Idle, "answered", nil}},

	{name: "answered at once", make: func(l *lab) {
		client, server := l.pair()
		exchange(client, server, 0)
	}, want: want{Idle, "answered|answered at once", nil}},

	{name: "streamed without long pauses", make: func(l *lab) {
		client, server := l.pair()
		client.say("request")
		server.hear("request")
		time.Sleep(tick)
		server.say("chunk")
		l.stream(server, client, 50*time.Millisecond)
	}, rules: Rules{Quiet: 3 * time.Second, Unsure: time.Hour}, want: want{Busy, "answered", nil}},

	{name: "streamed with pauses longer than the quiet time", make: func(l *lab) {
		client, server := l.pair()
		client.say("request")
		server.hear("request")
		time.Sleep(tick)
		server.say("chunk")
		client.hear("chunk")
	}, want: want{Idle, "answered", nil}, limit: true},

	{name: "half a request head", make: func(l *lab) {
		client, server := l.pair()
		client.say("GET / HT")
		server.hear("GET / HT")
	}, want: want{Busy, "first request not answered", nil}},

	{name: "chunked upload, paused", make: func(l *lab) {
		client, server := l.pair()
		exchange(client, server, 0)
		for range 3 {
			time.Sleep(tick)
			client.say("chunk")
			server.hear("chunk")
		}
	}, want: want{Busy, "received last", nil}},

	{name: "100 Continue, the body still to come", make: func(l *lab) {
		client, server := l.pair()
		client.say("head")
		server.hear("head")
		server.say("continue")
	}, want: want{Idle, "answered|answered at once", nil}, limit: true},

	{name: "pipelined, the second slow", make: func(l *lab) {
		client, server := l.pair()
		client.say("request1request2")
		server.hear("request1request2")
		server.say("answer1")
	}, want: want{Idle, "answered|answered at once", nil}, limit: true},

	{name: "refused early, the client still to send its body", make: func(l *lab) {
		client, server := l.pair()
		client.say("head")
		server.hear("head")
		server.say("413")
	}, want: want{Idle, "answered|answered at once", nil}, limit: true},

	{name: "refused early, the client sends on", make: func(l *lab) {
		client, server := l.pair()
		exchange(client, server, 0)
		time.Sleep(tick)
		client.say("body")
		server.hear("body")
	}, want: want{Busy, "received last", nil}},

	{name: "large answer, the reader stopped", make: func(l *lab) {
		client, server := l.pair()
		client.say("request")
		server.hear("request")
		l.flood(server)
	}, want: want{Busy, "answer under way", nil}},

	{name: "slow, the client has shut its side", make: func(l *lab) {
		client, server := l.pair()
		client.say("request")
		server.hear("request")
		client.shut()
	}, want: want{Busy, "first request not answered", func(c Census) bool { return c.CloseWait == 1 }}},

	{name: "answered, then the client shut its side and the program did not", make: func(l *lab) {
		client, server := l.pair()
		exchange(client, server, 2*tick)
		client.shut()
	}, want: want{Idle, "answered", func(c Census) bool { return c.CloseWait == 1 }}},

	{name: "never used, then the client closed and the program did not", make: func(l *lab) {
		client, _ := l.pair()
		client.Close()
	}, want: want{Idle, "never used", func(c Census) bool { return c.CloseWait == 1 }}},

	{name: "keepalive probes of the client while idle", make: func(l *lab) {
		client, server := l.pair()
		exchange(client, server, 2*tick)
		client.probe()
	}, want: want{Idle, "answered", nil}},

	{name: "keepalive probes of the client while busy", make: func(l *lab) {
		client, server := l.pair()
		exchange(client, server, 0)
		time.Sleep(tick)
		client.say("request")
		server.hear("request")
		client.probe()
	}, want: want{Busy, "received last", nil}},

	{name: "WebSocket, quiet, the server spoke last", make: func(l *lab) {
		client, server := l.pair()
		exchange(client, server, 0)
		time.Sleep(tick)
		server.say("message")
	}, want: want{Idle, "answered", nil}, limit: true},

	{name: "WebSocket, quiet, the client spoke last", make: func(l *lab) {
		client, server := l.pair()
		exchange(client, server, 0)
		time.Sleep(tick)
		client.say("message")
		server.hear("message")
	}, want: want{Busy, "received last", nil}},

	{name: "in the accept queue, nothing sent", make: func(l *lab) {
		l.dial()
	}, want: want{Busy, "in the accept queue", func(c Census) bool { return c.Unaccepted == 1 }}},

	{name: "in the accept queue, nothing sent for long", make: func(l *lab) {
		l.dial()
	}, rules: shortUnsure, want: want{Idle, "in the accept queue", func(c Census) bool { return c.Unaccepted == 1 }}},

	{name: "in the accept queue with a request", make: func(l *lab) {
		l.dial().say("request")
	}, want: want{Busy, "unread request", func(c Census) bool { return c.Unaccepted == 1 }}},

	{name: "in the accept queue with a request, the client gave up", make: func(l *lab) {
		client := l.dial()
		client.say("request")
		client.Close()
	}, want: want{Busy, "unread request", func(c Census) bool { return c.Unaccepted == 1 && c.CloseWait == 1 }}},

	{name: "in the accept queue, the client gave up", make: func(l *lab) {
		l.dial().Close()
	}, rules: shortUnsure, want: want{Idle, "in the accept queue", func(c Census) bool { return c.CloseWait == 1 }}},

	{name: "answered, bytes left unread", make: func(l *lab) {
		client, server := l.pair()
		exchange(client, server, 0)
		client.say("\r\n")
	}, want: want{Busy, "unread request", nil}},

	{name: "closed by the program, the answer not read", make: func(l *lab) {
		client, server := l.pair()
		client.say("request")
		server.hear("request")
		l.flood(server)
		server.Close()
	}, want: want{Busy, "answer not delivered", func(c Census) bool { return c.Undelivered == 1 }}},

	{name: "both closed, the answer not read", make: func(l *lab) {
		client, server := l.pair()
		client.say("request")
		server.hear("request")
		l.flood(server)
		client.shut()
		time.Sleep(tick)
		server.Close() // LAST_ACK
	}, want: want{Busy, "answer not delivered", func(c Census) bool { return c.Undelivered == 1 }}},

	{name: "closed by the program, all delivered", make: func(l *lab) {
		client, server := l.pair()
		exchange(client, server, 0)
		server.Close()
	}, want: want{Gone, "", nil}},

	{name: "reset by the client", make: func(l *lab) {
		client, server := l.pair()
		exchange(client, server, 0)
		client.SetLinger(0)
		client.Close()
	}, want: want{Gone, "", nil}},
}

// caseRules have a quiet time that lets the errors show, longer than the delayed
// ACK is held back, and give no verdict on what cannot be told.
var (
	caseRules   = Rules{Quiet: 300 * time.Millisecond, Unsure: time.Hour}
	shortUnsure = Rules{Quiet: 300 * time.Millisecond, Unsure: 900 * time.Millisecond}
)

func TestSockets(t *testing.T) {
	for _, network := range []struct{ name, host string }{
		{"IPv4", "127.0.0.1"}, {"IPv6", "::1"}, {"dual stack", "::"},
	} {
		t.Run(network.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					l := newLab(t, network.host)
					c.make(l)
					rules := c.rules
					if rules == (Rules{}) {
						rules = caseRules
					}
					l.becomes(rules, c.want)
					if c.limit && c.want.verdict != Idle {
						t.Error("a limit of what can be seen is seen")
					}
				})
			}
		})
	}
}

// stream sends until the test ends, and reads at the other end.
func (l *lab) stream(from, to end, every time.Duration) {
	go func() {
		b := make([]byte, 64)
		for {
			if _, err := to.Read(b); err != nil {
				return
			}
		}
	}()
	go func() {
		for {
			if _, err := from.Write([]byte("chunk")); err != nil {
				return
			}
			time.Sleep(every)
		}
	}()
}

// flood sends until the queues of both ends are full.
func (l *lab) flood(from end) {
	l.t.Helper()
	big, sent := strings.Repeat("x", 1<<20), false
	for {
		from.SetWriteDeadline(time.Now().Add(150 * time.Millisecond))
		n, err := from.Write([]byte(big))
		if err != nil && n == 0 && sent {
			return
		}
		sent = sent || n > 0
	}
}

// probe makes the kernel send keepalive probes, the first after a second.
func (e end) probe() {
	e.t.Helper()
	if err := e.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second}); err != nil {
		e.t.Fatal(err)
	}
	time.Sleep(1200 * time.Millisecond)
}

// A dual-stack listener's connections are in the IPv6 dump, whatever the client.
func TestDualStackClients(t *testing.T) {
	t.Parallel()
	l := newLab(t, "::")
	_, port, _ := net.SplitHostPort(l.ln.Addr().String())
	for _, host := range []string{"127.0.0.1", "::1"} {
		client := l.end(net.Dial("tcp", net.JoinHostPort(host, port)))
		server := l.accept()
		client.say("request")
		server.hear("request")
	}
	c, list := l.look(caseRules)
	if c.Busy != 2 || c.Open != 2 {
		t.Errorf("%+v", list)
	}
	for _, conn := range list {
		if a := conn.Peer.Addr(); !a.IsLoopback() || a.Is4In6() {
			t.Errorf("peer %v", conn.Peer)
		}
	}
}

// Until closed: an idle connection is waited for, too.
func TestUntilClosed(t *testing.T) {
	t.Parallel()
	l := newLab(t, "127.0.0.1")
	client, server := l.pair()
	exchange(client, server, 2*tick)
	l.await(caseRules, want{Idle, "answered", nil})
	c, err := l.looker.Census(caseRules)
	if err != nil || !c.Quiet(UntilIdle) || c.Quiet(UntilClosed) {
		t.Errorf("idle: %+v, %v", c, err)
	}
	if c.Source != SourceDiag || c.Took <= 0 || len(c.Worst) != 0 {
		t.Errorf("idle: %+v", c)
	}
	client.Close()
	server.Close()
	l.await(caseRules, want{Gone, "", nil})
	if c, err = l.looker.Census(caseRules); err != nil || !c.Quiet(UntilClosed) {
		t.Errorf("closed: %+v, %v", c, err)
	}
}

// What is still busy is told with what a log line wants.
func TestWorst(t *testing.T) {
	t.Parallel()
	l := newLab(t, "127.0.0.1")
	for range 20 {
		client, server := l.pair()
		client.say("request")
		server.hear("request")
	}
	c, err := l.looker.Census(caseRules)
	if err != nil || c.Busy != 20 || len(c.Worst) != MaxWorst {
		t.Fatalf("%+v, %v", c, err)
	}
	for i, w := range c.Worst {
		if i > 0 && w.Age > c.Worst[i-1].Age {
			t.Errorf("%v after %v", w.Age, c.Worst[i-1].Age)
		}
		if w.Rule != ruleUnanswered || w.State != Established || w.Local.String() != l.ln.Addr().String() || !w.Peer.IsValid() {
			t.Errorf("%+v", w)
		}
	}
}
