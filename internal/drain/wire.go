package drain

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// The bytes of NETLINK_SOCK_DIAG, as sock_diag(7), netlink(7),
// include/uapi/linux/inet_diag.h and include/uapi/linux/tcp.h have them. All
// numbers are in the machine's byte order but ports and addresses.

const (
	sizeofHeader  = 16 // struct nlmsghdr
	sizeofRequest = 56 // struct inet_diag_req_v2
	sizeofMessage = 72 // struct inet_diag_msg
	sizeofAttr    = 4  // struct nlattr
	sizeofOp      = 4  // struct inet_diag_bc_op

	attrInfo     = 2  // INET_DIAG_INFO: struct tcp_info
	attrCgroup   = 21 // INET_DIAG_CGROUP_ID: u64, unasked, since Linux 5.9
	attrBytecode = 1  // INET_DIAG_REQ_BYTECODE

	opJump, opSourceGE, opSourceLE = 1, 2, 3 // INET_DIAG_BC_JMP, _S_GE, _S_LE

	// Offsets in struct tcp_info, and how long it must be for the counters.
	offDataSent, offDataRecv        = 44, 52
	offReceived, offNotSent, offOut = 128, 144, 156
	sizeofClocks, sizeofCounters    = 56, 160
)

var (
	errMalformed   = errors.New("malformed socket diagnostics")
	errInterrupted = errors.New("the sockets changed during the dump")
	errNoInfo      = errors.New("socket diagnostics without tcp_info")
)

var native = binary.NativeEndian

// appendRequest appends the request for one family's sockets in the given
// states whose local port is one of ports (none: any port).
func appendRequest(b []byte, seq uint32, family uint8, set states, ports []uint16) []byte {
	start := len(b)
	b = append(b, make([]byte, sizeofHeader+sizeofRequest)...)
	req := b[start+sizeofHeader:]
	req[0], req[1] = family, unix.IPPROTO_TCP
	req[2] = 1 << (attrInfo - 1)
	native.PutUint32(req[4:], uint32(set))
	if len(ports) > 0 {
		b = appendPorts(b, ports)
	}
	h := b[start:]
	native.PutUint32(h[0:], uint32(len(h)))
	native.PutUint16(h[4:], unix.SOCK_DIAG_BY_FAMILY)
	native.PutUint16(h[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	native.PutUint32(h[8:], seq)
	return b
}

// A port's part of the filter is three operations: at least the port, at most
// the port, and if both hold on to the end, which accepts.
const sizeofPort = 2*sizeofOp + 2*sizeofOp + sizeofOp

// maxPorts keeps the filter's jumps in 16 bits and its run, which is linear,
// short. With more ports the kernel tells of all and the caller's filter works.
const maxPorts = 64

// appendPorts appends the filter as bytecode (net/ipv4/inet_diag.c
// inet_diag_bc_run): an operation goes `yes` or `no` bytes forward; who arrives
// at the very end is accepted, who goes past it is not. A comparison is two
// operations long, the second holding the port in its `no`.
func appendPorts(b []byte, ports []uint16) []byte {
	if len(ports) > maxPorts {
		return b
	}
	size := len(ports) * sizeofPort
	b = native.AppendUint16(b, uint16(sizeofAttr+size))
	b = native.AppendUint16(b, attrBytecode)
	op := func(code, yes uint8, no int) {
		b = append(b, code, yes)
		b = native.AppendUint16(b, uint16(no))
	}
	for i, port := range ports {
		left := size - i*sizeofPort // from this port's first operation to the end
		miss := sizeofPort          // to the next port's first, or past the end
		if i == len(ports)-1 {
			miss += sizeofOp
		}
		op(opSourceGE, 2*sizeofOp, miss)
		op(0, 0, int(port))
		op(opSourceLE, 2*sizeofOp, miss-2*sizeofOp)
		op(0, 0, int(port))
		op(opJump, sizeofOp, left-4*sizeofOp)
	}
	return b
}

// messages walks through one datagram of the answer to request seq and gives
// each socket to visit. done says that it was the last.
func messages(b []byte, seq uint32, s *sock, visit func(*sock)) (done bool, err error) {
	for len(b) > 0 {
		if len(b) < sizeofHeader {
			return false, errMalformed
		}
		size := int(native.Uint32(b))
		if size < sizeofHeader || size > len(b) {
			return false, errMalformed
		}
		kind, flags, body := native.Uint16(b[4:]), native.Uint16(b[6:]), b[sizeofHeader:size]
		ours := native.Uint32(b[8:]) == seq
		b = b[min(align(size), len(b)):]
		switch {
		case !ours: // the tail of a dump that was given up
			continue
		case flags&unix.NLM_F_DUMP_INTR != 0:
			return false, errInterrupted
		}
		switch kind {
		case unix.SOCK_DIAG_BY_FAMILY:
			if err := s.decode(body); err != nil {
				return false, err
			}
			visit(s)
		case unix.NLMSG_DONE:
			return true, errnoOf(body, 0)
		case unix.NLMSG_ERROR:
			return true, errnoOf(body, unix.EIO)
		}
	}
	return false, nil
}

// errnoOf is the error in NLMSG_ERROR and, where a dump failed, in NLMSG_DONE: a
// negative errno. If there is none, it is `none`.
func errnoOf(body []byte, none unix.Errno) error {
	code := -int32(none)
	if len(body) >= 4 && native.Uint32(body) != 0 {
		code = int32(native.Uint32(body))
	}
	if code == 0 {
		return nil
	}
	return fmt.Errorf("dump of sockets: %w", unix.Errno(-code))
}

// decode fills s from a struct inet_diag_msg and its attributes.
func (s *sock) decode(b []byte) error {
	if len(b) < sizeofMessage {
		return errMalformed
	}
	*s = sock{
		state: State(b[1]), retrans: b[3],
		lport:  binary.BigEndian.Uint16(b[4:]),
		pport:  binary.BigEndian.Uint16(b[6:]),
		rqueue: native.Uint32(b[56:]),
		wqueue: native.Uint32(b[60:]),
		inode:  native.Uint32(b[68:]),
	}
	switch b[0] {
	case unix.AF_INET:
		s.laddr, s.paddr = mapped([4]byte(b[8:12])), mapped([4]byte(b[24:28]))
	case unix.AF_INET6:
		s.v6, s.laddr, s.paddr = true, [16]byte(b[8:24]), [16]byte(b[24:40])
	default:
		return errMalformed
	}
	for b = b[sizeofMessage:]; len(b) >= sizeofAttr; {
		size, kind := int(native.Uint16(b)), native.Uint16(b[2:])
		if size < sizeofAttr || size > len(b) {
			return errMalformed
		}
		s.attr(kind, b[sizeofAttr:size])
		b = b[min(align(size), len(b)):]
	}
	// SYN_RECV is not yet a whole socket and has none. The rules have no say
	// about an open connection without clocks, /proc has.
	if !s.clocks && open.has(s.state) {
		return errNoInfo
	}
	return nil
}

// attr takes what an attribute has. A kernel older than a field sends a shorter
// tcp_info, a newer one a longer.
func (s *sock) attr(kind uint16, b []byte) {
	switch {
	case kind == attrCgroup && len(b) >= 8:
		s.cgroup = native.Uint64(b)
	case kind == attrInfo && len(b) >= sizeofClocks:
		s.clocks = true
		s.sent, s.recv = native.Uint32(b[offDataSent:]), native.Uint32(b[offDataRecv:])
		if len(b) >= sizeofCounters {
			s.counters = true
			s.received = native.Uint64(b[offReceived:])
			s.notsent = native.Uint32(b[offNotSent:])
			s.segsOut = native.Uint32(b[offOut:])
		}
	}
}

func align(n int) int { return (n + 3) &^ 3 }
