package drain

import (
	"net/netip"
	"strconv"
	"time"
)

// State is a TCP state, with the kernel's numbers (include/net/tcp_states.h).
type State uint8

// The states that a connection or a listener is seen in.
const (
	Established State = 1
	SynSent     State = 2
	SynRecv     State = 3
	FinWait1    State = 4
	FinWait2    State = 5
	TimeWait    State = 6
	Close       State = 7
	CloseWait   State = 8
	LastAck     State = 9
	Listen      State = 10
	Closing     State = 11
)

var stateNames = [...]string{
	Established: "ESTABLISHED", SynSent: "SYN_SENT", SynRecv: "SYN_RECV", FinWait1: "FIN_WAIT1",
	FinWait2: "FIN_WAIT2", TimeWait: "TIME_WAIT", Close: "CLOSE", CloseWait: "CLOSE_WAIT",
	LastAck: "LAST_ACK", Listen: "LISTEN", Closing: "CLOSING",
}

func (s State) String() string {
	if int(s) < len(stateNames) && stateNames[s] != "" {
		return stateNames[s]
	}
	return "state " + strconv.Itoa(int(s))
}

// states is a set of states: the mask that a dump is asked with.
type states uint32

func setOf(list ...State) (set states) {
	for _, s := range list {
		set |= 1 << s
	}
	return set
}

func (set states) has(s State) bool { return s < 32 && set&(1<<s) != 0 }

// The dumps ask for no more than this. TIME_WAIT is what there is most of, and
// is gone by rule 3, as are FIN_WAIT2 (all was delivered) and CLOSE.
var (
	listening = setOf(Listen)
	connected = setOf(Established, SynRecv, FinWait1, CloseWait, LastAck, Closing)
)

// pingpong is what is known of the pingpong bit of a socket, that is, whether
// the kernel takes the connection for an interactive one: it sets the bit when
// data is sent while an ACK is held back, and clears it when the delayed-ACK
// timer has to send that ACK alone (net/ipv4/tcp_output.c tcp_event_data_sent,
// net/ipv4/tcp_timer.c tcp_delack_timer_handler).
type pingpong uint8

const (
	bitUnknown pingpong = iota
	bitOff
	bitOn
)

// sock is a socket as either source shows it. It is filled in place, ten
// thousand times a dump, and so has no pointers.
type sock struct {
	state          State
	v6             bool  // an AF_INET6 socket; its addresses may be v4-mapped
	retrans        uint8 // of SYN_RECV: how often its SYN-ACK was sent again
	bit            pingpong
	lport, pport   uint16
	laddr, paddr   [16]byte // v4-mapped where the socket is AF_INET
	rqueue, wqueue uint32   // unread, and unsent or unacknowledged bytes; a FIN counts one
	inode          uint32   // 0: nobody has accepted it, or it was closed
	cgroup         uint64   // cgroup v2 id of its creator; 0: not told

	clocks     bool   // tcp_info was there: the next two are known
	sent, recv uint32 // ms since data was last sent, received; both start at the handshake

	counters bool   // tcp_info was long enough (Linux 4.6): the next three are known
	received uint64 // bytes_received; a FIN counts one
	notsent  uint32
	segsOut  uint32 // data_segs_out

	unchanged time.Duration // without clocks: for how long its /proc line has been as it is
}

// age is the time since the last byte either way.
func (s *sock) age() time.Duration {
	if s.clocks {
		return time.Duration(min(s.sent, s.recv)) * time.Millisecond
	}
	return s.unchanged
}

func (s *sock) local() netip.AddrPort { return addrPort(s.laddr, s.lport) }
func (s *sock) peer() netip.AddrPort  { return addrPort(s.paddr, s.pport) }

func addrPort(a [16]byte, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16(a).Unmap(), port)
}

// mapped is the v4-mapped form (RFC 4291, 2.5.5.2) of four bytes as they are on
// the wire, so that a connection compares alike whichever family shows it.
func mapped(v4 [4]byte) [16]byte {
	return [16]byte{10: 0xff, 11: 0xff, 12: v4[0], 13: v4[1], 14: v4[2], 15: v4[3]}
}
