package drain

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// procfs is the source /proc/net/tcp{,6} (proc(5), proc_net_tcp.rst in the
// kernel's documentation, net/ipv4/tcp_ipv4.c tcp4_seq_show).
type procfs struct {
	dir    string // "/proc/net"
	buf    []byte
	sock   sock
	memory memory
}

// procBuffer is many times what one read gives (a page).
const procBuffer = 16 << 10

// dump gives each socket to visit, as diag does. Only a dump of connections is
// remembered, which is where the age of a connection comes from.
func (p *procfs) dump(q query, visit func(*sock)) error {
	if q.states != connected {
		return p.read(q, func(s *sock, _ []byte) { visit(s) })
	}
	p.memory.begin(time.Now())
	err := p.read(q, func(s *sock, line []byte) {
		if p.memory.recall(s, line) {
			visit(s)
		}
	})
	if err == nil {
		p.memory.end(visit)
	}
	return err
}

// bits gives what /proc has of the sockets of a query, which is their pingpong
// bit, without remembering them.
func (p *procfs) bits(q query, visit func(*sock)) error {
	return p.read(q, func(s *sock, _ []byte) { visit(s) })
}

// read goes through the files of the families that are asked for. A kernel
// without IPv6 has no tcp6.
func (p *procfs) read(q query, visit func(*sock, []byte)) error {
	var missing error
	if q.v4 {
		if missing = p.file("tcp", false, q, visit); missing != nil && !errors.Is(missing, fs.ErrNotExist) {
			return missing
		}
	}
	if !q.v6 {
		return missing
	}
	err := p.file("tcp6", true, q, visit)
	if q.v4 && missing == nil && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(missing, err)
}

func (p *procfs) file(name string, v6 bool, q query, visit func(*sock, []byte)) error {
	path := p.dir + "/" + name
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	if p.buf == nil {
		p.buf = make([]byte, procBuffer)
	}
	for kept, head := 0, true; ; {
		var n int
		if err := retry(func() (err error) { n, err = unix.Read(fd, p.buf[kept:]); return err }); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		if n == 0 {
			return nil
		}
		rest := p.buf[:kept+n]
		for {
			line, after, whole := bytes.Cut(rest, []byte{'\n'})
			if !whole {
				break
			}
			rest = after
			if head { // "  sl  local_address …"
				head = false
				continue
			}
			if err := p.line(line, v6, q, visit); err != nil {
				return fmt.Errorf("read %s: %w", path, err)
			}
		}
		if kept = copy(p.buf, rest); kept == len(p.buf) {
			return fmt.Errorf("read %s: %w", path, errLine)
		}
	}
}

func (p *procfs) line(line []byte, v6 bool, q query, visit func(*sock, []byte)) error {
	if len(q.ports) > 0 && !localPortIn(line, q.ports) {
		return nil
	}
	if !p.sock.parse(line, v6) {
		return errLine
	}
	if q.states.has(p.sock.state) {
		visit(&p.sock, line)
	}
	return nil
}

var errLine = errors.New("malformed line")

// localPortIn looks only at the port, since most lines are of no interest. What
// it cannot read it leaves to parse.
func localPortIn(line []byte, ports []uint16) bool {
	_, rest := field(line)
	local, _ := field(rest)
	if i := bytes.IndexByte(local, ':'); i >= 0 && len(local) >= i+5 {
		port, ok := hex(local[i+1 : i+5])
		for _, want := range ports {
			if uint16(port) == want {
				return true
			}
		}
		return !ok
	}
	return true
}
