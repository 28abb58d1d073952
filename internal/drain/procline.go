package drain

import "bytes"

// The fields of a line of /proc/net/tcp, counted from 0. A request (SYN_RECV)
// and TIME_WAIT have none after the pointer.
//
//	 0   1                 2                 3  4                 5           6        7   8       9     10  11  12  13  14 15   16
//	sl  local_address     rem_address       st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode ref ptr rto ato qp cwnd ssthresh
//	 0: 0100007F:1F90     0100007F:B2C4     01 00000000:00000000 00:00000000 00000000   0       0 28201   1 …    20   4 30   10  -1
//
// qp is icsk_ack.quick<<1 | pingpong (net/ipv4/tcp_ipv4.c get_tcp4_sock).
const (
	fieldLocal  = 1
	fieldPeer   = 2
	fieldState  = 3
	fieldQueues = 4
	fieldTries  = 6
	fieldInode  = 9
	fieldBit    = 14
)

// parse fills s from a line; false says that it is none. A sandbox may leave
// out what comes after the inode.
func (s *sock) parse(line []byte, v6 bool) bool {
	*s = sock{v6: v6}
	rest := line
	for i := 0; ; i++ {
		var f []byte
		if f, rest = field(rest); len(f) == 0 {
			return i > fieldInode
		}
		ok := true
		switch i {
		case fieldLocal:
			s.laddr, s.lport, ok = address(f, v6)
		case fieldPeer:
			s.paddr, s.pport, ok = address(f, v6)
		case fieldState:
			var n uint64
			n, ok = hex(f)
			s.state = State(n)
		case fieldQueues:
			tx, rx, both := bytes.Cut(f, []byte{':'})
			t, ok1 := hex(tx)
			r, ok2 := hex(rx)
			s.wqueue, s.rqueue, ok = uint32(t), uint32(r), both && ok1 && ok2
		case fieldTries:
			var n uint64
			n, ok = hex(f)
			s.retrans = uint8(min(n, 255))
		case fieldInode:
			var n uint64
			n, ok = decimal(f)
			s.inode = uint32(n)
		case fieldBit:
			var n uint64
			if n, ok = decimal(f); ok {
				s.bit = bitOff + pingpong(n&1)
			}
		}
		if !ok {
			return false
		}
		if i == fieldBit {
			return true
		}
	}
}

// field cuts the first of the fields, which are set apart by blanks.
func field(b []byte) (f, rest []byte) {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	if i := bytes.IndexByte(b, ' '); i >= 0 {
		return b[:i], b[i:]
	}
	return b, nil
}

// address reads ADDRESS:PORT. The address is printed as one or four numbers of 32
// bits in the machine's order, over bytes that are in the network's.
func address(b []byte, v6 bool) (addr [16]byte, port uint16, ok bool) {
	size := 4
	if v6 {
		size = 16
	}
	if len(b) != 2*size+5 || b[2*size] != ':' {
		return addr, 0, false
	}
	var raw [16]byte
	for i := 0; i < size; i += 4 {
		word, ok := hex(b[2*i : 2*i+8])
		if !ok {
			return addr, 0, false
		}
		native.PutUint32(raw[i:], uint32(word))
	}
	n, ok := hex(b[2*size+1:])
	if v6 {
		return raw, uint16(n), ok
	}
	return mapped([4]byte(raw[:4])), uint16(n), ok
}

func hex(b []byte) (n uint64, ok bool) {
	if len(b) == 0 || len(b) > 16 {
		return 0, false
	}
	for _, c := range b {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, false
		}
		n = n<<4 | uint64(c)
	}
	return n, true
}

func decimal(b []byte) (n uint64, ok bool) {
	if len(b) == 0 || len(b) > 19 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}
