package drain

import "time"

// Rules are the times of the table.
type Rules struct {
	Quiet  time.Duration // an answered connection is idle after so long without a byte
	Unsure time.Duration // so is one that cannot be told
}

// DefaultRules are long enough for a stream with a chunk a second, and for a
// client that is slow with the rest of its request.
var DefaultRules = Rules{Quiet: 2 * time.Second, Unsure: 5 * time.Second}

// Verdict is what a connection is to a drain.
type Verdict uint8

// A drain until idle waits for what is busy and for what cannot be told.
const (
	Gone   Verdict = iota // closed and delivered: not counted
	Busy                  // holds a request, or may: not quiet for long enough
	Unsure                // cannot be told, and has not been quiet for long enough
	Idle
)

var verdictNames = [...]string{Gone: "gone", Busy: "busy", Unsure: "unsure", Idle: "idle"}

func (v Verdict) String() string { return verdictNames[v] }

// Rule is the row of the table that decided.
type Rule uint8

const (
	ruleUndelivered Rule = iota
	ruleAbandoned
	ruleHandshake
	ruleClosed
	ruleUnread
	ruleUnsent
	ruleQueued
	ruleUnused
	ruleUnanswered
	ruleReceivedLast
	ruleSentLast
	ruleInTime
	ruleTie
)

var ruleNames = [...]string{
	ruleUndelivered:  "answer not delivered",
	ruleAbandoned:    "handshake abandoned",
	ruleHandshake:    "handshake under way",
	ruleClosed:       "closed",
	ruleUnread:       "unread request",
	ruleUnsent:       "answer under way",
	ruleQueued:       "in the accept queue",
	ruleUnused:       "never used",
	ruleUnanswered:   "first request not answered",
	ruleReceivedLast: "received last",
	ruleSentLast:     "answered",
	ruleInTime:       "answered at once",
	ruleTie:          "cannot be told",
}

func (r Rule) String() string { return ruleNames[r] }

// until says after how long without a byte a row's connection is idle.
type until uint8

const (
	never  until = iota
	quiet        // Rules.Quiet
	unsure       // Rules.Unsure
)

// row is a line of the table: the first whose `when` holds decides.
type row struct {
	rule Rule
	when func(*sock) bool
	is   Verdict // until it has been quiet for long enough
	idle until
}

// table is all that is known of connections. The order matters.
//
// Where the numbers come from: net/ipv4/inet_diag.c inet_sk_diag_fill,
// net/ipv4/tcp_diag.c tcp_diag_get_info, net/ipv4/tcp.c tcp_get_info; the bit
// from net/ipv4/tcp_ipv4.c get_tcp4_sock.
var table = [...]row{
	// The process has closed it, and the peer has not got everything. The FIN
	// is in the queue too and counts one.
	{ruleUndelivered, func(s *sock) bool { return closing.has(s.state) && s.wqueue > 1 }, Busy, never},
	// Seven seconds and three SYN-ACKs without an answer: a scan, a flood, a
	// peer that is no more. A client that lost a packet has answered by then.
	{ruleAbandoned, func(s *sock) bool { return s.state == SynRecv && s.retrans >= 3 }, Gone, never},
	// The client's connect may have returned already, and its request be on the way.
	{ruleHandshake, func(s *sock) bool { return s.state == SynRecv }, Busy, never},
	{ruleClosed, func(s *sock) bool { return !open.has(s.state) }, Gone, never},
	// A process that ends with bytes unread makes the kernel send a reset, which
	// also throws away the answer that is already on its way (RFC 2525, 2.17).
	{ruleUnread, func(s *sock) bool { return s.unread() > 0 }, Busy, never},
	{ruleUnsent, func(s *sock) bool { return s.wqueue > 0 || s.notsent > 0 }, Busy, never},
	// No inode: no process has accepted it. It has sent nothing, or the row for
	// unread bytes had it; a client that only connects ahead looks the same.
	{ruleQueued, func(s *sock) bool { return s.inode == 0 }, Busy, unsure},
	{ruleUnused, func(s *sock) bool { return s.counters && s.got() == 0 }, Busy, quiet},
	// Both clocks start at the handshake, so that half a request head and a slow
	// first request are ties; but nothing was ever sent.
	{ruleUnanswered, func(s *sock) bool { return s.counters && s.segsOut == 0 }, Busy, never},
	{ruleReceivedLast, func(s *sock) bool { return s.clocks && s.recv < s.sent }, Busy, never},
	{ruleSentLast, func(s *sock) bool { return s.clocks && s.sent < s.recv }, Busy, quiet},
	// A tie: the clocks count ticks, and a request and an answer fell into one.
	// Which came first is in the bit, once the delayed-ACK timer has had its time.
	{ruleInTime, func(s *sock) bool { return s.mayShowBit() && s.bit == bitOn }, Busy, quiet},
	{ruleTie, func(s *sock) bool { return true }, Unsure, unsure},
}

// The states of a connection that its process has not closed, and of one that it
// has and that may still have to be delivered.
var (
	open    = setOf(Established, CloseWait)
	closing = setOf(FinWait1, Closing, LastAck)
)

// delayedACK is longer than the kernel holds an ACK back (TCP_DELACK_MAX, 200
// ms): a request that was not answered has cleared the bit by then.
const delayedACK = 250 * time.Millisecond

// mayShowBit reports whether the bit can be read as "answered". In CLOSE_WAIT it
// cannot: a FIN sets it by itself (net/ipv4/tcp_input.c tcp_fin).
func (s *sock) mayShowBit() bool { return s.state == Established && s.age() >= delayedACK }

// unread is what the process has not read. In CLOSE_WAIT one of it may be the
// FIN, which is no request: of one byte more it is not told apart.
func (s *sock) unread() uint32 {
	if s.state == CloseWait && s.rqueue == 1 {
		return 0
	}
	return s.rqueue
}

// got is what the client has ever sent, the FIN left out as in unread.
func (s *sock) got() uint64 {
	if s.state == CloseWait && s.received == 1 {
		return 0
	}
	return s.received
}

// judge finds the row of a connection and its verdict now.
func (r Rules) judge(s *sock) (Verdict, Rule, until) {
	for i := range table {
		if row := &table[i]; row.when(s) {
			if r.over(row.idle, s.age()) {
				return Idle, row.rule, row.idle
			}
			return row.is, row.rule, row.idle
		}
	}
	panic("drain: the table has no last row")
}

func (r Rules) over(u until, age time.Duration) bool {
	switch u {
	case quiet:
		return age >= r.Quiet
	case unsure:
		return age >= r.Unsure
	}
	return false
}

// wantsBit reports whether the verdict on a tie hangs on the bit: it is read
// from /proc, which costs as much as three dumps.
func (r Rules) wantsBit(s *sock, rule Rule) bool {
	return rule == ruleTie && s.bit == bitUnknown && s.mayShowBit() && r.over(quiet, s.age()) && !r.over(unsure, s.age())
}
