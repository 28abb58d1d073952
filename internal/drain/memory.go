package drain

import (
	"bytes"
	"hash/maphash"
	"time"
)

// memory knows, where there are no clocks, for how long a connection's line in
// /proc has been as it is. It holds what is open and no more.
type memory struct {
	seen  map[identity]trace
	now   time.Time
	round uint32
	gone  sock
}

// identity is what a connection keeps for its life. A later one between the same
// two ends has another inode, and so another line.
type identity struct {
	laddr, paddr [16]byte
	lport, pport uint16
	v6           bool
}

type trace struct {
	hash  uint64
	since time.Time
	round uint32 // of the last look that saw it
	inode uint32
	state State
}

var seed = maphash.MakeSeed()

func (m *memory) begin(now time.Time) {
	if m.seen == nil {
		m.seen = make(map[identity]trace)
	}
	m.now = now
	m.round++
}

// recall sets how long the line of an open connection has not changed. A line may
// come twice in one look, as it may be left out (see end): fresh says that this one
// did not.
func (m *memory) recall(s *sock, line []byte) (fresh bool) {
	id := identity{s.laddr, s.paddr, s.lport, s.pport, s.v6}
	hash := hashOf(line)
	t, known := m.seen[id]
	if known && t.round == m.round {
		return false
	}
	if !known || t.hash != hash {
		t = trace{hash: hash, since: m.now, inode: s.inode, state: s.state}
	}
	t.round = m.round
	m.seen[id] = t
	s.unchanged = m.now.Sub(t.since)
	return true
}

// end forgets the connections that two looks in a row have not seen. Reading
// /proc is no snapshot: it is read a page at a time, and a line can come twice or
// not at all when one before it comes or goes meanwhile (net/ipv4/tcp_ipv4.c
// tcp_seek_last_pos counts). An open connection that was not seen once is given to
// visit as one that cannot be told.
func (m *memory) end(visit func(*sock)) {
	for id, t := range m.seen {
		missed := m.round - t.round
		switch {
		case missed == 0:
		case missed == 1 && open.has(t.state):
			m.gone = sock{
				state: t.state, v6: id.v6, inode: t.inode,
				laddr: id.laddr, lport: id.lport, paddr: id.paddr, pport: id.pport,
			}
			visit(&m.gone)
		default:
			delete(m.seen, id)
		}
	}
}

// hashOf leaves out what changes by itself: the line's number and the timer,
// which on a quiet connection is the keepalive's and counts down.
func hashOf(line []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for i, rest := 0, bytes.TrimRight(line, " "); len(rest) > 0; i++ {
		var f []byte
		f, rest = field(rest)
		if i >= fieldState && i != fieldQueues+1 {
			h.Write(f)
			h.WriteByte(' ')
		}
	}
	return h.Sum64()
}
