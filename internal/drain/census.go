package drain

import (
	"net/netip"
	"time"
)

// Until is when a drain may end.
type Until uint8

const (
	UntilIdle   Until = iota // no connection is busy: HTTP/1
	UntilClosed              // no connection is left: HTTP/2, gRPC, WebSockets
)

// Sources of a census.
const (
	SourceDiag = "sock_diag"
	SourceProc = "/proc/net/tcp"
)

// MaxWorst is how many connections a census describes.
const MaxWorst = 16

// Census is the count of the processes' inbound connections at one look. Every
// open connection is in exactly one of Busy, Idle and Unsure.
type Census struct {
	Busy, Idle, Unsure int
	Open               int // their sum: what UntilClosed waits for

	// Also in one of the three above:
	Recent      int // busy only since they have not been quiet for long enough
	CloseWait   int // the client has closed its side and the program has not
	Unaccepted  int // in the accept queue, or on the way into it
	Undelivered int // closed by the program with bytes queued: FIN_WAIT1, CLOSING, LAST_ACK

	Worst  []Conn // of the busy and unsure the longest quiet first, MaxWorst at most
	Source string // SourceDiag or SourceProc; empty: nothing was seen
	Took   time.Duration
}

// Quiet reports whether a drain may end. The zero Census, which is also what
// comes with an error, is of nobody's connections and never quiet.
func (c Census) Quiet(u Until) bool {
	switch {
	case c.Source == "":
		return false
	case u == UntilClosed:
		return c.Open == 0
	}
	return c.Busy == 0 && c.Unsure == 0
}

// Conn is a connection that is waited for, as a log line wants it.
type Conn struct {
	Local, Peer    netip.AddrPort
	State          State
	Verdict        Verdict
	Rule           Rule
	Age            time.Duration // since the last byte either way; of SYN_RECV unknown and 0
	Unread, Unsent uint32        // bytes in the two queues
}

// tally is a census under way, with room for its worst.
type tally struct {
	Census
	worst [MaxWorst]Conn
	n     int
}

func (t *tally) add(s *sock, v Verdict, rule Rule, u until) {
	switch v {
	case Gone:
		return
	case Busy:
		t.Busy++
		if u == quiet {
			t.Recent++
		}
	case Unsure:
		t.Unsure++
	case Idle:
		t.Idle++
	}
	t.Open++
	switch {
	case s.state == CloseWait:
		t.CloseWait++
	case rule == ruleUndelivered:
		t.Undelivered++
	}
	if s.state == SynRecv || s.inode == 0 && open.has(s.state) {
		t.Unaccepted++
	}
	if v != Idle {
		t.keep(s, v, rule)
	}
}

// keep inserts a connection among the worst, if it is one of them.
func (t *tally) keep(s *sock, v Verdict, rule Rule) {
	age, at := s.age(), t.n
	for at > 0 && t.worst[at-1].Age < age {
		at--
	}
	if at == MaxWorst {
		return
	}
	t.n = min(t.n+1, MaxWorst)
	copy(t.worst[at+1:t.n], t.worst[at:])
	t.worst[at] = Conn{
		Local: s.local(), Peer: s.peer(), State: s.state, Verdict: v, Rule: rule, Age: age,
		Unread: s.rqueue, Unsent: s.wqueue,
	}
}

// census is the finished count. Worst is a copy: the tally is used again.
func (t *tally) census(source string, took time.Duration) Census {
	c := t.Census
	c.Source, c.Took = source, took
	if t.n > 0 {
		c.Worst = append([]Conn(nil), t.worst[:t.n]...)
	}
	return c
}

// The bounds of a poll, and what share of the time looking may take.
const (
	pollMin   = 50 * time.Millisecond
	pollMax   = 1500 * time.Millisecond
	pollShare = 30
)

// NextPoll is how long to wait before the next look: thirty times what the last
// one took. Looking then costs less than a twentieth of a core, with what the
// runtime does beside it, however many connections there are.
func NextPoll(took time.Duration) time.Duration {
	return min(max(pollMin, min(took, pollMax)*pollShare), pollMax)
}
