package drain

import (
	"testing"
	"time"
)

func TestQuiet(t *testing.T) {
	seen := func(c Census) Census { c.Source = SourceDiag; return c }
	for _, c := range []struct {
		name         string
		census       Census
		idle, closed bool
	}{
		{"nothing seen", Census{}, false, false},
		{"no connection", seen(Census{}), true, true},
		{"idle", seen(Census{Idle: 3, Open: 3}), true, false},
		{"busy", seen(Census{Busy: 1, Idle: 3, Open: 4}), false, false},
		{"unsure", seen(Census{Unsure: 1, Idle: 3, Open: 4}), false, false},
	} {
		if got := c.census.Quiet(UntilIdle); got != c.idle {
			t.Errorf("%s: idle: %v", c.name, got)
		}
		if got := c.census.Quiet(UntilClosed); got != c.closed {
			t.Errorf("%s: closed: %v", c.name, got)
		}
	}
}

func TestWorstAreTheOldest(t *testing.T) {
	var tl tally
	for i := range 100 {
		age := uint32(i*37%100) * 10 // each of 0, 10 … 990 once, in no order
		s := sock{state: Established, inode: 1, clocks: true, sent: age + 4, recv: age, lport: 80, pport: uint16(i)}
		v, rule, idle := Rules{Quiet: time.Minute}.judge(&s)
		tl.add(&s, v, rule, idle)
	}
	c := tl.census(SourceDiag, 0)
	if c.Busy != 100 || c.Open != 100 || len(c.Worst) != MaxWorst {
		t.Fatalf("busy %d, open %d, worst %d", c.Busy, c.Open, len(c.Worst))
	}
	for i, w := range c.Worst {
		if want := time.Duration(990-10*i) * time.Millisecond; w.Age != want || w.Rule != ruleReceivedLast {
			t.Errorf("worst %d: %v old by %q, want %v", i, w.Age, w.Rule, want)
		}
	}
}

func TestTallyCounts(t *testing.T) {
	var tl tally
	for _, line := range []string{
		"9000 / 9004 /, on",                         // idle
		"100 / 104 /, on",                           // recent
		"9000 / 9004 /, on CLOSE_WAIT",              // idle, close_wait
		"100 / 100 /, - SYN_RECV no inode",          // unaccepted
		"100 / 100 /, off no inode out 0 in 0",      // unaccepted
		"100 / 100 /, off no inode out 0 in 8 rq 8", // unaccepted, busy
		"100 / 100 /, off wq 99 LAST_ACK no inode",  // undelivered
		"100 / 100 /, off wq 1 LAST_ACK no inode",   // gone
		"3000 / 3000 /, off",                        // unsure
	} {
		s := seen(t, line)
		v, rule, idle := DefaultRules.judge(&s)
		tl.add(&s, v, rule, idle)
	}
	c := tl.census(SourceProc, time.Second)
	c.Worst = nil
	want := Census{
		Busy: 5, Idle: 2, Unsure: 1, Open: 8, Recent: 1, CloseWait: 1, Unaccepted: 3, Undelivered: 1,
		Source: SourceProc, Took: time.Second,
	}
	if got, want := c.counts(), want.counts(); got != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func (c Census) counts() [8]int {
	return [...]int{c.Busy, c.Idle, c.Unsure, c.Open, c.Recent, c.CloseWait, c.Unaccepted, c.Undelivered}
}

// A look keeps under a twentieth of a core, until the pause is a second and a half long.
func TestNextPoll(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		-1:                    50 * time.Millisecond,
		0:                     50 * time.Millisecond,
		time.Millisecond:      50 * time.Millisecond,
		5 * time.Millisecond:  150 * time.Millisecond,
		20 * time.Millisecond: 600 * time.Millisecond,
		time.Second:           1500 * time.Millisecond,
		1 << 62:               1500 * time.Millisecond,
	} {
		if got := NextPoll(took); got != want {
			t.Errorf("after %v: %v, want %v", took, got, want)
		}
	}
}
