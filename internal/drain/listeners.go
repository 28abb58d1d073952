package drain

import (
	"cmp"
	"net/netip"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Listener is a listening TCP socket.
type Listener struct {
	Addr   netip.AddrPort // unspecified and IPv6: of a dual-stack socket, or of one for IPv6 only
	Inode  uint32
	Cgroup uint64 // cgroup v2 id of its creator; 0: the kernel does not tell
}

// Scope says whose connections are counted. One's own listeners are never the
// processes'; of the others, those on a configured port are; if none is
// configured, those that were handed down, and those that the processes have
// open; where that cannot be seen, those that were made in one's own cgroup or
// below it; and where cgroups are not told, all in the network namespace.
type Scope struct {
	Ports []uint16        // configured by hand; none: every listener of the processes
	Own   func() []uint32 // inodes of one's own listeners (see Inode), asked at each look; may be nil
	// Holders finds which of some sockets the processes have open, and says
	// whether one that it did not find is for certain not theirs. It is asked once
	// for each listener; may be nil.
	Holders   func(inodes []uint32) (held map[uint32]bool, all bool)
	Inherited []uint32 // inodes of listeners that were handed down (LISTEN_FDS): another cgroup made them
}

// Inode is the inode of a socket: what the kernel calls it in every source.
func Inode(c syscall.Conn) (uint32, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var st unix.Stat_t
	if cerr := raw.Control(func(fd uintptr) { err = unix.Fstat(int(fd), &st) }); cerr != nil {
		return 0, cerr
	}
	return uint32(st.Ino), err
}

// watched is the set of listeners whose connections are counted. A listener stays
// in it after it was closed: a program that stops listening first still has to
// answer what it accepted.
type watched struct {
	mine   []listener
	others []listener // those of the last look that are not the processes'
	ports  []uint16   // of mine, and the configured: what a dump is asked for
	v4, v6 bool       // the families of mine
	shared bool       // a port of mine is also one of others: addresses decide
}

type listener struct {
	addr  [16]byte
	port  uint16
	v6    bool
	round uint32 // of the last look that saw it
}

// maxRemembered bounds what a program that listens on a new port all the time
// (FTP) can make graced remember. Those that still listen are never dropped.
const maxRemembered = 512

func (w *watched) add(l listener) {
	for i := range w.mine {
		if m := &w.mine[i]; m.addr == l.addr && m.port == l.port && m.v6 == l.v6 {
			m.round = l.round
			return
		}
	}
	w.mine = append(w.mine, l)
}

// settle derives what follows from the listeners, once a look has seen all.
func (w *watched) settle(configured []uint16, round uint32) {
	if over := len(w.mine) - maxRemembered; over > 0 {
		w.mine = slices.DeleteFunc(w.mine, func(l listener) bool {
			drop := over > 0 && l.round != round
			if drop {
				over--
			}
			return drop
		})
	}
	w.ports, w.v4, w.v6 = append(w.ports[:0], configured...), false, false
	for _, l := range w.mine {
		w.ports = append(w.ports, l.port)
		w.v4 = w.v4 || !l.v6
		w.v6 = w.v6 || l.v6
	}
	slices.Sort(w.ports)
	w.ports = slices.Compact(w.ports)
	for _, port := range configured {
		if !slices.ContainsFunc(w.mine, func(l listener) bool { return l.port == port }) {
			w.v4, w.v6 = true, true
		}
	}
	w.shared = slices.ContainsFunc(w.others, func(l listener) bool { return w.has(l.port) })
}

func (w *watched) has(port uint16) bool {
	_, ok := slices.BinarySearch(w.ports, port)
	return ok
}

// counts reports whether a connection is one of the processes'. By port, since
// a worker's descriptors may be unreadable; where others listen on the same
// port, by which listener the kernel would have chosen for its address.
func (w *watched) counts(s *sock) bool {
	if !w.has(s.lport) {
		return false
	}
	if !w.shared {
		return true
	}
	return w.best(w.mine, s) >= w.best(w.others, s)
}

// best is how well the best of the listeners fits a connection: 0 not at all.
func (w *watched) best(list []listener, s *sock) (best int) {
	for i := range list {
		l := &list[i]
		switch {
		case l.port != s.lport || l.v6 != s.v6:
		case l.addr == s.laddr:
			return 2
		case unspecified(l.addr):
			best = max(best, 1)
		}
	}
	return best
}

func unspecified(addr [16]byte) bool {
	return addr == [16]byte{} || addr == mapped([4]byte{})
}

// byPort sorts for the eye.
func byPort(a, b Listener) int {
	return cmp.Or(cmp.Compare(a.Addr.Port(), b.Addr.Port()), a.Addr.Addr().Compare(b.Addr.Addr()), cmp.Compare(a.Inode, b.Inode))
}
