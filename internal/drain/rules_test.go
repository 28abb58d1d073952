package drain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// seen reads a line of what was measured on real servers: the milliseconds since
// data was last sent, since it was last received, since the last ACK (which no
// rule looks at), the pingpong bit, and what is not as usual.
func seen(t *testing.T, line string) sock {
	t.Helper()
	s := sock{state: Established, inode: 4711, clocks: true, counters: true, received: 78, segsOut: 1}
	times, rest, _ := strings.Cut(line, ",")
	if _, err := fmt.Sscanf(times, "%d / %d /", &s.sent, &s.recv); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	words := strings.Fields(rest)
	number := func(i int) uint64 {
		n, err := strconv.ParseUint(words[i+1], 10, 32)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return n
	}
	for i := 0; i < len(words); i++ {
		switch word := words[i]; word {
		case "on":
			s.bit = bitOn
		case "off":
			s.bit = bitOff
		case "-":
		case "CLOSE_WAIT", "FIN_WAIT1", "FIN_WAIT2", "SYN_RECV", "LAST_ACK", "CLOSING":
			s.state = State(slices.Index(stateNames[:], word))
		case "no":
			s.inode, i = 0, i+1
		case "out":
			s.segsOut, i = uint32(number(i)), i+1
		case "in":
			s.received, i = number(i), i+1
		case "rq":
			s.rqueue, i = uint32(number(i)), i+1
		case "wq":
			s.wqueue, i = uint32(number(i)), i+1
		case "unsent":
			s.notsent, i = uint32(number(i)), i+1
		case "retrans":
			s.retrans, i = uint8(number(i)), i+1
		default:
			t.Fatalf("%q: what is %q?", line, word)
		}
	}
	return s
}

// measured are connections of real servers and clients in a known state, with
// what the kernel said of them. The last column is what the verdict is worth:
// "wrong" loses a request and is a limit of what can be seen, "slow" and "safe"
// cost time.
var measured = []struct {
	name, truth, seen string
	verdict           Verdict
	rule              Rule
	worth             string
}{
	{"fresh connection, nothing sent, 1 s", "idle", "1096 / 1096 / 1096, off out 0 in 0", Idle, ruleUnused, "right"},
	{"slow handler, silent 1.5 s", "busy", "5424 / 2316 / 2316, off", Busy, ruleReceivedLast, "right"},
	{"the same, answered 0.5 s ago", "idle", "2472 / 5476 / 2472, off", Idle, ruleSentLast, "right"},
	{"streaming answer, a chunk each 100ms", "busy", "84 / 284 / 84, on", Busy, ruleSentLast, "right"},
	{"streaming answer, a chunk each 1s", "busy", "800 / 2804 / 800, on", Idle, ruleSentLast, "wrong"},
	{"chunked upload, 1 s between chunks", "busy", "2004 / 1004 / 1004, off out 0", Busy, ruleUnanswered, "right"},
	{"100-continue sent, the body not yet, 1 s", "busy", "1708 / 1708 / 1708, on", Idle, ruleInTime, "wrong"},
	{"two pipelined, the first answered, the second slow", "busy", "1004 / 1004 / 1004, on", Idle, ruleInTime, "wrong"},
	{"half a request head, 1 s", "busy", "1004 / 1004 / 1004, off out 0", Busy, ruleUnanswered, "right"},
	{"large answer, the reader stopped", "busy", "748 / 1004 / 536, on wq 3814418", Busy, ruleUnsent, "right"},
	{"slow handler, the client has shut its side (Go cancels, goes on)", "busy", "1004 / 1004 / 1004, off CLOSE_WAIT out 0", Busy, ruleUnanswered, "right"},
	{"early 413, the client still to send its body, paused", "busy", "500 / 500 / 500, on", Idle, ruleInTime, "wrong"},
	{"early 413, the client sent more of its body 0.5 s ago", "busy", "1100 / 500 / 500, off", Busy, ruleReceivedLast, "right"},
	{"keep-alive with TCP keepalive probes of the client, 1.5 s", "idle", "1500 / 1500 / 1500, on", Idle, ruleInTime, "right"},
	{"slow handler with TCP keepalive probes of the client", "busy", "4092 / 2500 / 2500, off", Busy, ruleReceivedLast, "right"},
	{"websocket open, quiet 1 s, the server spoke last", "busy", "1000 / 1008 / 1000, on", Idle, ruleSentLast, "wrong"},
	{"websocket open, quiet 1 s, the client spoke last", "busy", "2192 / 1024 / 1024, off", Busy, ruleReceivedLast, "right"},
	{"in the accept queue, nothing sent, 0.6 s", "idle", "604 / 604 / 604, off no inode out 0 in 0", Busy, ruleQueued, "slow"},
	{"in the accept queue, request sent 0.6 s ago", "busy", "1292 / 600 / 600, off rq 18 no inode out 0", Busy, ruleUnread, "right"},
	{"in the accept queue, the client gave up", "gone", "1408 / 716 / 20, on CLOSE_WAIT rq 19 no inode out 0", Busy, ruleUnread, "slow"},
	{"closed by the app, the answer not read by the client", "busy", "888 / 956 / 640, off FIN_WAIT1 wq 3791873 no inode", Busy, ruleUndelivered, "right"},
	{"closed by the app, all delivered", "gone", "0 / 0 / 0, - FIN_WAIT2 no inode out 0", Gone, ruleClosed, "right"},
	{"answered, yet 2 bytes unread by the app", "busy", "604 / 624 / 604, on rq 2", Busy, ruleUnread, "right"},
	{"answered, then the client shut its side, the app did not close", "idle", "1204 / 1232 / 600, off CLOSE_WAIT rq 1", Idle, ruleSentLast, "right"},
	{"TLS 1.3 handshake done, no request, 1 s", "idle", "1000 / 1000 / 1000, off", Unsure, ruleTie, "safe"},
	{"TLS 1.3 keep-alive idle 0.5 s", "idle", "504 / 504 / 460, on", Idle, ruleInTime, "right"},
	{"TLS 1.3 slow handler 1.5 s", "busy", "2048 / 1500 / 1500, off", Busy, ruleReceivedLast, "right"},
	{"TLS 1.3 idle 0.5 s after it", "idle", "576 / 3576 / 576, off", Idle, ruleSentLast, "right"},
	{"TLS 1.3 without tickets handshake done, no request, 1 s", "idle", "1000 / 1000 / 1000, off", Unsure, ruleTie, "safe"},
	{"TLS 1.3 without tickets keep-alive idle 0.5 s", "idle", "500 / 500 / 452, on", Idle, ruleInTime, "right"},
	{"TLS 1.3 without tickets slow handler 1.5 s", "busy", "2100 / 1500 / 1500, off", Busy, ruleReceivedLast, "right"},
	{"TLS 1.3 without tickets idle 0.5 s after it", "idle", "592 / 3592 / 592, off", Idle, ruleSentLast, "right"},
	{"TLS 1.2 handshake done, no request, 1 s", "idle", "1004 / 1004 / 960, on", Idle, ruleInTime, "right"},
	{"TLS 1.2 keep-alive idle 0.5 s", "idle", "504 / 504 / 504, on", Idle, ruleInTime, "right"},
	{"TLS 1.2 slow handler 1.5 s", "busy", "2088 / 1508 / 1508, off", Busy, ruleReceivedLast, "right"},
	{"TLS 1.2 idle 0.5 s after it", "idle", "604 / 3608 / 604, off", Idle, ruleSentLast, "right"},
	{"TLS 1.2 resumed, no request, 1 s", "idle", "1000 / 1000 / 1000, off", Unsure, ruleTie, "safe"},
	{"TLS port, connected, no hello, 1 s", "idle", "1000 / 1000 / 1000, off out 0 in 0", Idle, ruleUnused, "right"},
	{"HTTP/2 idle 1 s after a small answer", "idle", "1000 / 1000 / 952, on", Idle, ruleInTime, "right"},
	{"HTTP/2 one slow stream, 1.5 s", "busy", "2580 / 1500 / 1500, off", Busy, ruleReceivedLast, "right"},
	{"HTTP/2 slow stream, another answered 0.8 s ago", "busy", "804 / 804 / 804, on", Idle, ruleInTime, "wrong"},
	{"HTTP/2 idle 1 s after a 100 MB answer (window updates)", "idle", "1004 / 1000 / 1000, off", Busy, ruleReceivedLast, "slow"},
	{"HTTP/2 idle, the client pings each 0.4 s", "idle", "104 / 104 / 104, on", Unsure, ruleTie, "safe"},
	{"HTTP/2 slow stream, the client pings each 0.4 s", "busy", "108 / 108 / 108, on", Unsure, ruleTie, "safe"},
	{"HTTP/2 slow stream, the client pinged 0.8 s ago", "busy", "796 / 796 / 752, on", Idle, ruleInTime, "wrong"},
	{"HTTP/2 idle, the server pings each 0.4 s", "idle", "92 / 92 / 92, off", Unsure, ruleTie, "safe"},
	{"HTTP/2 idle, the server pinged 1 s ago", "idle", "1000 / 1000 / 1000, off", Unsure, ruleTie, "safe"},
	{"python: keep-alive idle 0.4 s", "idle", "400 / 404 / 400, on", Idle, ruleSentLast, "right"},
	{"python: slow request, 1.5 s", "busy", "1968 / 1504 / 1504, off", Busy, ruleReceivedLast, "right"},
	{"python: idle after it", "idle", "1108 / 4108 / 1108, off", Idle, ruleSentLast, "right"},
	{"node: keep-alive idle 0.4 s", "idle", "404 / 412 / 404, on", Idle, ruleSentLast, "right"},
	{"node: slow request, 1.5 s", "busy", "1972 / 1500 / 1500, off", Busy, ruleReceivedLast, "right"},
	{"node: idle after it", "idle", "1136 / 4136 / 1136, off", Idle, ruleSentLast, "right"},
	{"nginx: keep-alive idle 0.4 s", "idle", "400 / 400 / 400, on", Idle, ruleInTime, "right"},
	{"nginx: rate-limited file", "busy", "504 / 1504 / 504, on", Idle, ruleSentLast, "wrong"},
	{"nginx: idle after it", "idle", "1160 / 4160 / 1160, on", Idle, ruleSentLast, "right"},
	{"nginx before a UNIX upstream: slow handler there", "busy", "1500 / 1500 / 1500, off out 0", Busy, ruleUnanswered, "right"},
	{"nginx before a UNIX upstream: idle", "idle", "776 / 3780 / 776, off", Idle, ruleSentLast, "right"},
	{"nginx (OpenSSL) TLS 1.3 handshake, no request, 1 s", "idle", "1000 / 1000 / 956, on", Idle, ruleInTime, "right"},
	{"nginx TLS 1.3 keep-alive idle", "idle", "500 / 500 / 500, on", Idle, ruleInTime, "right"},
	{"nginx HTTP/2 over TLS, idle 1 s (Go client)", "idle", "1004 / 1008 / 1004, on", Idle, ruleSentLast, "right"},
	{"nginx HTTP/2 over TLS, idle 1 s after 96 KiB", "idle", "1004 / 2004 / 960, off", Idle, ruleSentLast, "right"},
}

// The errors show with a short quiet time.
var shortRules = Rules{Quiet: 250 * time.Millisecond, Unsure: 5 * time.Second}

func TestMeasured(t *testing.T) {
	for _, c := range measured {
		t.Run(c.name, func(t *testing.T) {
			s := seen(t, c.seen)
			verdict, rule, _ := shortRules.judge(&s)
			if verdict != c.verdict || rule != c.rule {
				t.Errorf("%s: %v (%v), want %v (%v)", c.seen, verdict, rule, c.verdict, c.rule)
			}
			lost := c.truth == "busy" && (verdict == Idle || verdict == Gone)
			if lost != (c.worth == "wrong") {
				t.Errorf("it is %s and judged %v: that is not %q", c.truth, verdict, c.worth)
			}
		})
	}
}

// The default quiet time mends what has pauses of under two seconds.
func TestDefaultRulesMendPauses(t *testing.T) {
	mended := 0
	for _, c := range measured {
		s := seen(t, c.seen)
		if verdict, rule, _ := DefaultRules.judge(&s); verdict == Idle || verdict == Gone {
			if c.worth == "wrong" {
				t.Errorf("%s: still %v (%v)", c.name, verdict, rule)
			}
		} else if c.worth == "wrong" {
			mended++
		}
	}
	if mended == 0 {
		t.Error("nothing was wrong before")
	}
}

// Each row, where the one before it just does not hold and where it does.
func TestRules(t *testing.T) {
	rules := Rules{Quiet: 2 * time.Second, Unsure: 5 * time.Second}
	for _, c := range []struct {
		seen    string
		verdict Verdict
		rule    Rule
	}{
		{"0 / 0 /, - FIN_WAIT1 wq 2 no inode", Busy, ruleUndelivered},
		{"0 / 0 /, - LAST_ACK wq 2 no inode", Busy, ruleUndelivered},
		{"0 / 0 /, - CLOSING wq 2 no inode", Busy, ruleUndelivered},
		{"0 / 0 /, - FIN_WAIT1 wq 1 no inode", Gone, ruleClosed}, // only the FIN
		{"0 / 0 /, - LAST_ACK wq 1 no inode", Gone, ruleClosed},
		{"9000 / 9000 /, - FIN_WAIT1 wq 2 no inode", Busy, ruleUndelivered}, // however long
		{"0 / 0 /, - SYN_RECV no inode", Busy, ruleHandshake},
		{"0 / 0 /, - SYN_RECV no inode retrans 2", Busy, ruleHandshake},
		{"0 / 0 /, - SYN_RECV no inode retrans 3", Gone, ruleAbandoned},
		{"0 / 0 /, - FIN_WAIT2", Gone, ruleClosed},
		{"9000 / 9000 /, off rq 1", Busy, ruleUnread},
		{"9000 / 9000 /, off rq 1 CLOSE_WAIT", Idle, ruleTie}, // only the FIN
		{"9000 / 9000 /, off rq 2 CLOSE_WAIT", Busy, ruleUnread},
		{"9000 / 9000 /, off rq 2 no inode", Busy, ruleUnread}, // however long it waits
		{"9000 / 9000 /, on wq 1", Busy, ruleUnsent},
		{"9000 / 9000 /, on unsent 1", Busy, ruleUnsent},
		{"9000 / 9000 /, on wq 1 CLOSE_WAIT", Busy, ruleUnsent},
		{"4999 / 4999 /, off no inode out 0 in 0", Busy, ruleQueued},
		{"5000 / 5000 /, off no inode out 0 in 0", Idle, ruleQueued},
		{"1999 / 1999 /, off out 0 in 0", Busy, ruleUnused},
		{"2000 / 2000 /, off out 0 in 0", Idle, ruleUnused},
		{"2000 / 2000 /, off out 0 in 1 CLOSE_WAIT", Idle, ruleUnused}, // only the FIN
		{"2000 / 2000 /, off out 0 in 2 CLOSE_WAIT", Busy, ruleUnanswered},
		{"9000 / 9000 /, off out 0 in 1", Busy, ruleUnanswered},
		{"2000 / 9000 /, on out 3 in 0", Idle, ruleUnused}, // SMTP: the server greets
		{"9004 / 9000 /, on", Busy, ruleReceivedLast},      // one tick later
		{"9004 / 9000 /, on CLOSE_WAIT", Busy, ruleReceivedLast},
		{"1996 / 2000 /, off", Busy, ruleSentLast},
		{"2000 / 2004 /, off", Idle, ruleSentLast},
		{"1999 / 1999 /, on", Busy, ruleInTime},
		{"2000 / 2000 /, on", Idle, ruleInTime},
		{"2000 / 2000 /, on CLOSE_WAIT", Unsure, ruleTie}, // a FIN sets the bit
		{"2000 / 2000 /, off", Unsure, ruleTie},
		{"2000 / 2000 /, -", Unsure, ruleTie}, // the bit is not known
		{"4999 / 4999 /, off", Unsure, ruleTie},
		{"5000 / 5000 /, off", Idle, ruleTie},
	} {
		s := seen(t, c.seen)
		if verdict, rule, _ := rules.judge(&s); verdict != c.verdict || rule != c.rule {
			t.Errorf("%s: %v (%v), want %v (%v)", c.seen, verdict, rule, c.verdict, c.rule)
		}
	}
}

// However short the quiet time is, a tie waits for the delayed-ACK timer.
func TestTieWaitsForDelayedACK(t *testing.T) {
	for age, want := range map[int]Verdict{0: Unsure, 100: Unsure, 248: Unsure, 252: Idle} {
		s := seen(t, fmt.Sprintf("%d / %d /, on", age, age))
		if verdict, _, _ := (Rules{Unsure: time.Minute}).judge(&s); verdict != want {
			t.Errorf("after %d ms: %v, want %v", age, verdict, want)
		}
	}
}

// The bit is read only where the drain hangs on it.
func TestWantsBit(t *testing.T) {
	rules := DefaultRules
	for line, want := range map[string]bool{
		"1996 / 1996 /, -":            false, // not idle either way
		"2000 / 2000 /, -":            true,
		"4996 / 4996 /, -":            true,
		"5000 / 5000 /, -":            false, // idle either way
		"2000 / 2000 /, on":           false, // known
		"2000 / 2000 /, - CLOSE_WAIT": false,
		"2000 / 2004 /, -":            false,
		"2000 / 2000 /, - rq 1":       false,
	} {
		s := seen(t, line)
		if _, rule, _ := rules.judge(&s); rules.wantsBit(&s, rule) != want {
			t.Errorf("%s: wants the bit: %v, want %v", line, !want, want)
		}
	}
}

// What /proc tells, without clocks, by the same table.
func TestRulesWithoutClocks(t *testing.T) {
	rules := DefaultRules
	for _, c := range []struct {
		name    string
		s       sock
		verdict Verdict
		rule    Rule
	}{
		{"unread", sock{state: Established, inode: 1, rqueue: 5, unchanged: time.Hour}, Busy, ruleUnread},
		{"unsent", sock{state: Established, inode: 1, wqueue: 5, unchanged: time.Hour}, Busy, ruleUnsent},
		{"undelivered", sock{state: LastAck, wqueue: 5}, Busy, ruleUndelivered},
		{"handshake", sock{state: SynRecv}, Busy, ruleHandshake},
		{"queued", sock{state: Established, unchanged: 3 * time.Second}, Busy, ruleQueued},
		{"queued for long", sock{state: Established, unchanged: 5 * time.Second}, Idle, ruleQueued},
		{"bit, first seen", sock{state: Established, inode: 1, bit: bitOn}, Unsure, ruleTie},
		{"bit", sock{state: Established, inode: 1, bit: bitOn, unchanged: time.Second}, Busy, ruleInTime},
		{"bit, quiet", sock{state: Established, inode: 1, bit: bitOn, unchanged: 2 * time.Second}, Idle, ruleInTime},
		{"no bit", sock{state: Established, inode: 1, bit: bitOff, unchanged: 4 * time.Second}, Unsure, ruleTie},
		{"no bit for long", sock{state: Established, inode: 1, bit: bitOff, unchanged: 5 * time.Second}, Idle, ruleTie},
		{"bit in CLOSE_WAIT", sock{state: CloseWait, inode: 1, bit: bitOn, unchanged: 4 * time.Second}, Unsure, ruleTie},
	} {
		if verdict, rule, _ := rules.judge(&c.s); verdict != c.verdict || rule != c.rule {
			t.Errorf("%s: %v (%v), want %v (%v)", c.name, verdict, rule, c.verdict, c.rule)
		}
	}
}

// A kernel before 4.6 has no counters: a first request is then a tie.
func TestRulesWithoutCounters(t *testing.T) {
	s := sock{state: Established, inode: 1, clocks: true, sent: 1000, recv: 1000, bit: bitOff}
	if verdict, rule, _ := DefaultRules.judge(&s); verdict != Unsure {
		t.Errorf("%v (%v), want unsure", verdict, rule)
	}
}

func TestNames(t *testing.T) {
	for i := range table {
		if table[i].rule != Rule(i) || table[i].rule.String() == "" {
			t.Errorf("row %d is %v", i, table[i].rule)
		}
	}
	for v := Gone; v <= Idle; v++ {
		if v.String() == "" {
			t.Errorf("verdict %d has no name", v)
		}
	}
	for s, want := range map[State]string{Established: "ESTABLISHED", Closing: "CLOSING", 0: "state 0", 200: "state 200"} {
		if s.String() != want {
			t.Errorf("state %d is %q, want %q", s, s, want)
		}
	}
}
