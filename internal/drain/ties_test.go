package drain

import (
	"sync"
	"testing"
	"time"
)

// The two clocks of a connection count ticks of 1 to 10 ms: a request that comes
// right behind an answer leaves them equal, as an answer right behind its request
// does. A thousand such ties that hold a request, and not one may be idle; and as
// many that hold none, most of which should be.
func TestTies(t *testing.T) {
	t.Parallel()
	const batch, enough = 350, 1000
	deadline := time.Now().Add(20 * time.Second)
	busy, idle, told := 0, 0, 0
	for busy < enough || idle < enough {
		if time.Now().After(deadline) {
			t.Skipf("SKIPPED: too slow a machine: only %d busy ties and %d idle ones", busy, idle)
		}
		held := tieBatch(t, batch, true)
		for _, c := range held {
			switch {
			case c.Verdict == Idle:
				t.Errorf("holds a request and is idle: %+v", c)
			case c.Rule == ruleTie:
				busy++
			}
		}
		for _, c := range tieBatch(t, batch, false) {
			switch c.Rule {
			case ruleInTime:
				told++
				fallthrough
			case ruleTie:
				idle++
			}
		}
	}
	t.Logf("%d busy ties, %d idle ones of which %d are seen as such", busy, idle, told)
	if told < idle/2 {
		t.Errorf("of %d idle ties only %d are seen as such", idle, told)
	}
}

// tieBatch opens n connections, each with an answer and, if held, a request right
// behind it that has none, and returns what is judged of them while the bit tells.
func tieBatch(t *testing.T, n int, held bool) []Conn {
	t.Helper()
	l := newLab(t, "127.0.0.1")
	ends := make([]end, 0, 2*n)
	for range n {
		client, server := l.pair()
		ends = append(ends, client, server)
	}
	defer func() {
		for _, e := range ends {
			e.SetLinger(0) // no TIME_WAIT: it would crowd the table for a minute
			e.Close()
		}
		l.ln.Close()
	}()
	var wg sync.WaitGroup
	for i := 0; i < len(ends); i += 2 {
		client, server := ends[i], ends[i+1]
		wg.Go(func() {
			b := make([]byte, 64)
			for range 1 + i/2%3 {
				server.Read(b)
				server.Write([]byte("answer"))
			}
			if held {
				server.Read(b)
			}
		})
		for range 1 + i/2%3 {
			client.say("request")
			client.hear("answer")
		}
		if held {
			client.say("request")
		}
	}
	wg.Wait()
	// Looked at in the time between the quiet and the unsure one, where it hangs
	// on the bit; late enough for the delayed ACK, more than once.
	rules := Rules{Quiet: 300 * time.Millisecond, Unsure: time.Hour}
	var list []Conn
	for range 2 {
		time.Sleep(300 * time.Millisecond)
		var c Census
		c, list = l.look(rules)
		if held && c.Idle > 0 {
			return list
		}
	}
	return list
}
