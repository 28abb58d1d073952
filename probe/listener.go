package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// After an accept that failed, or panicked, the next one waits: 5 ms, then
// twice as long each time, at most 200 ms. Long enough not to spin while the
// machine is out of descriptors, short enough that a prober (whose own time-out
// is a second as a rule) does not notice.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = 200 * time.Millisecond
)

func longer(pause time.Duration) time.Duration { return min(2*pause, longestPause) }

// Listen binds addr, "ADDRESS:PORT" with an IP address, localhost or nothing
// (all addresses) before the colon; port 0 lets the kernel choose. Connections
// wait in the kernel until Serve: binding comes first so that a taken port is
// known before anything is started. The error wraps the kernel's (EADDRINUSE,
// EACCES, EADDRNOTAVAIL) and names the address and the way out.
func Listen(addr string) (*Server, error) {
	network, numeric, err := parseListen(addr)
	if err != nil {
		return nil, err
	}
	config := net.ListenConfig{
		// A peer that is gone is noticed by the time-outs of Server; the
		// kernel need not ask it every 15 s.
		KeepAlive: -1,
	}
	// Go would make a Multipath TCP socket by default, which look-ups of
	// listening TCP sockets do not see as what it is.
	config.SetMultipathTCP(false)
	tcp, err := config.Listen(context.Background(), network, numeric)
	if err != nil {
		return nil, listenError(addr, err)
	}
	bound, ok := tcp.Addr().(*net.TCPAddr)
	if !ok { // cannot be: the network is tcp or tcp4
		tcp.Close()
		return nil, fmt.Errorf("cannot listen on %q: bound to %v, which is no TCP address", addr, tcp.Addr())
	}
	return newServer(tcp, bound.AddrPort()), nil
}

// parseListen checks addr without asking a name server, which can take as long
// as it likes, and returns what net.Listen takes.
func parseListen(addr string) (network, numeric string, err error) {
	const shape = "; --listen takes ADDRESS:PORT, such as :8990 or 127.0.0.1:8990, or off"
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return "", "", fmt.Errorf("cannot listen on %q: it is no address with a port%s", addr, shape)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return "", "", fmt.Errorf("cannot listen on %q: port %q is no number from 0 to 65535%s", addr, portText, shape)
	}
	switch host {
	case "":
		return "tcp", net.JoinHostPort("", portText), nil
	case "localhost":
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return "", "", fmt.Errorf("cannot listen on %q: %q is no IP address%s", addr, host, shape)
	}
	// With "tcp", Go takes 0.0.0.0 for "every address, IPv6 too". Who types it
	// means IPv4.
	network = "tcp"
	if ip.Is4() {
		network = "tcp4"
	}
	return network, netip.AddrPortFrom(ip, uint16(port)).String(), nil
}

func listenError(addr string, err error) error {
	var cause syscall.Errno
	if !errors.As(err, &cause) {
		return fmt.Errorf("cannot listen on %q: %w; --listen sets another address, --listen off none", addr, err)
	}
	hint := ""
	switch cause {
	case syscall.EADDRINUSE:
		hint = " by something else in this network namespace (a second graced of the same pod?)"
	case syscall.EACCES:
		hint = " (a port below 1024 needs the capability NET_BIND_SERVICE)"
	case syscall.EADDRNOTAVAIL:
		hint = " (no interface of this network namespace has it)"
	}
	return fmt.Errorf("cannot listen on %q: %w%s; --listen sets another address, --listen off none", addr, cause, hint)
}

// listener accepts connections into a bounded set. It fails only when it is
// closed: whatever else goes wrong, the next accept may go right.
type listener struct {
	tcp   net.Listener
	conns *conns
	done  <-chan struct{} // closed when the server is
}

func (l *listener) Accept() (net.Conn, error) {
	for pause := firstPause; ; pause = longer(pause) {
		c, err := l.tcp.Accept()
		if err == nil {
			return l.conns.admit(c, l.done)
		}
		if errors.Is(err, net.ErrClosed) {
			return nil, err
		}
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			l.conns.evict() // its descriptor is for the one that waits
		}
		if !sleep(pause, l.done) {
			return nil, net.ErrClosed
		}
	}
}

func (l *listener) Addr() net.Addr { return l.tcp.Addr() }

// Close does nothing. http.Server calls it whenever its Serve ends, by a panic
// too; the port is to stay open until Server.Close.
func (l *listener) Close() error { return nil }

// crowded says whether the kernel's queue of connections that wait to be
// accepted is filling up: an eighth of its length. Of a listening socket TCP_INFO
// has that in two fields that mean something else otherwise (tcp_get_info in the
// kernel's tcp.c, since 2.6.24).
func crowded(tcp net.Listener) func() bool {
	withFD, ok := tcp.(syscall.Conn)
	if !ok {
		return func() bool { return false }
	}
	raw, err := withFD.SyscallConn()
	if err != nil {
		return func() bool { return false }
	}
	return func() (filling bool) {
		err := raw.Control(func(fd uintptr) {
			info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			filling = err == nil && info.Unacked > info.Sacked/8
		})
		return filling && err == nil
	}
}
