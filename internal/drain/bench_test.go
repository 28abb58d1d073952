package drain

import (
	"flag"
	"net"
	"testing"
	"time"
)

var benchConns = flag.Int("drain.conns", 1000, "connections of the benchmarks")

// crowd opens n connections to a listener, each of which has had an answer.
func crowd(tb testing.TB, ln net.Listener, n int) {
	tb.Helper()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			tb.Cleanup(func() { c.Close() })
			go func() {
				b := make([]byte, 64)
				for {
					if _, err := c.Read(b); err != nil {
						return
					}
					c.Write([]byte("answer"))
				}
			}()
		}
	}()
	for range n {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { c.Close() })
		if _, err := c.Write([]byte("request")); err != nil {
			tb.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 64)); err != nil {
			tb.Fatal(err)
		}
	}
}

func BenchmarkCensus(b *testing.B) {
	for _, bench := range []struct {
		name  string
		addr  string
		proc  bool
		rules Rules
	}{
		{"ipv4", "127.0.0.1:0", false, Rules{Quiet: 0, Unsure: 0}},
		{"ipv6", "[::1]:0", false, Rules{Quiet: 0, Unsure: 0}},
		{"ties", "127.0.0.1:0", false, Rules{Quiet: 0, Unsure: time.Hour}},
		{"proc", "127.0.0.1:0", true, DefaultRules},
	} {
		b.Run(bench.name, func(b *testing.B) {
			ln, err := net.Listen("tcp", bench.addr)
			if err != nil {
				b.Fatal(err)
			}
			defer ln.Close()
			crowd(b, ln, *benchConns)
			time.Sleep(300 * time.Millisecond)
			l := New(Scope{})
			defer l.Close()
			if bench.proc {
				l.refused = errNoInfo
			}
			var open int
			var took time.Duration
			b.ReportAllocs()
			for b.Loop() {
				c, err := l.Census(bench.rules)
				if err != nil {
					b.Fatal(err)
				}
				open, took = c.Open, c.Took
			}
			if open < *benchConns {
				b.Fatalf("saw %d connections, want %d", open, *benchConns)
			}
			b.ReportMetric(100*float64(took)/float64(took+NextPoll(took)), "%core")
		})
	}
}

// A look allocates by the datagram, not by the connection.
func TestAllocations(t *testing.T) {
	alone(t)
	const n = 400
	ln := listen(t, "127.0.0.1:0")
	crowd(t, ln, n)
	time.Sleep(300 * time.Millisecond)
	for name, refused := range map[string]error{"sock_diag": nil, "proc": errNoInfo} {
		l := New(Scope{})
		l.refused = refused
		allocs := testing.AllocsPerRun(5, func() {
			// With the bits of ties.
			if c, err := l.Census(Rules{Unsure: time.Hour}); err != nil || c.Open != n {
				t.Fatalf("%+v, %v", c, err)
			}
		})
		l.Close()
		if allocs > n/4 {
			t.Errorf("%s: %v allocations for %d connections", name, allocs, n)
		}
		t.Logf("%s: %v allocations for %d connections", name, allocs, n)
	}
}
