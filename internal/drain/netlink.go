package drain

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// query is what a source is asked for.
type query struct {
	v4, v6 bool // the families; AF_UNSPEC is refused
	states states
	ports  []uint16 // a hint: more may come. None: all
}

// receiveTimeout bounds each wait for the kernel. A dump is made while it is
// read, so that it waits for nobody; a sandbox that swallows the request would
// otherwise hold the caller for ever.
var receiveTimeout = unix.Timeval{Sec: 1}

// receiveSize holds any datagram of a dump: the kernel makes them of 32 KiB at
// most (net/netlink/af_netlink.c netlink_dump).
const receiveSize = 64 << 10

// diag is the source NETLINK_SOCK_DIAG.
type diag struct {
	open     bool
	fd       int
	seq      uint32
	request  []byte
	receive  []byte
	sock     sock
	timeouts int // in a row
}

// dump gives each socket to visit. After an error the answer may still be on
// its way, so that the socket is closed and the next dump has a new one.
func (d *diag) dump(q query, visit func(*sock)) error {
	err := d.connect()
	if err == nil && q.v4 {
		err = d.family(unix.AF_INET, q, visit)
	}
	if err == nil && q.v6 {
		err = d.family(unix.AF_INET6, q, visit)
		if q.v4 && errors.Is(err, unix.ENOENT) {
			err = nil // a kernel without IPv6
		}
	}
	switch {
	case err == nil:
		d.timeouts = 0
	case errors.Is(err, unix.EAGAIN):
		d.timeouts++
		fallthrough
	default:
		d.close()
	}
	return err
}

func (d *diag) connect() error {
	if d.open {
		return nil
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return fmt.Errorf("socket for diagnostics: %w", err)
	}
	if err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &receiveTimeout); err == nil {
		// Connected to port id 0, the kernel, it hears nobody else.
		err = unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	}
	if err != nil {
		unix.Close(fd)
		return fmt.Errorf("socket for diagnostics: %w", err)
	}
	d.open, d.fd = true, fd
	if d.receive == nil {
		d.receive = make([]byte, receiveSize)
	}
	return nil
}

func (d *diag) family(family uint8, q query, visit func(*sock)) error {
	d.seq++
	d.request = appendRequest(d.request[:0], d.seq, family, q.states, q.ports)
	if err := retry(func() error { return unix.Send(d.fd, d.request, 0) }); err != nil {
		return fmt.Errorf("dump of sockets: %w", err)
	}
	for {
		var n int
		err := retry(func() (err error) {
			n, _, err = unix.Recvfrom(d.fd, d.receive, unix.MSG_TRUNC)
			return err
		})
		switch {
		case err != nil:
			return fmt.Errorf("dump of sockets: %w", err)
		case n > len(d.receive):
			return errMalformed // MSG_TRUNC: n is how long it was
		}
		if done, err := messages(d.receive[:n], d.seq, &d.sock, visit); done || err != nil {
			return err
		}
	}
}

func (d *diag) close() {
	if d.open {
		unix.Close(d.fd)
		d.open = false
	}
}

// refuses reports whether err says that socket diagnostics will not work here,
// as opposed to not now: a kernel without them (EPROTONOSUPPORT, or ENOENT for
// one without tcp_diag), a seccomp filter (EPERM, EACCES, ENOSYS), a sandbox
// that answers with nonsense or never.
func (d *diag) refuses(err error) bool {
	if d.timeouts >= 2 || errors.Is(err, errNoInfo) || errors.Is(err, errMalformed) {
		return true
	}
	for _, errno := range [...]unix.Errno{
		unix.EPERM, unix.EACCES, unix.ENOSYS, unix.ENOENT, unix.EINVAL, unix.EOPNOTSUPP, unix.EPROTONOSUPPORT,
		unix.ESOCKTNOSUPPORT, unix.EAFNOSUPPORT, unix.ENOPROTOOPT, unix.ECONNREFUSED,
	} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// retry repeats a call that a signal cut short. With SO_RCVTIMEO a receive is not
// restarted by the kernel (signal(7)), and the Go runtime signals its threads.
func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
