package record

import (
	"errors"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// How long the writer waits for a full descriptor before it looks whether Close
// still waits, and how long where poll(2) and write(2) disagree. Milliseconds.
const (
	fullWait     = 250
	disagreeWait = 10
)

var errGaveUp = errors.New("the log is closed")

// sink writes lines to a descriptor by plain system calls. An os.File would put
// a non-blocking descriptor into the runtime's poller and end the process at
// the EPIPE of descriptors 1 and 2.
type sink struct {
	fd     int
	gaveUp *atomic.Bool // nobody waits for the line any more
	torn   bool         // the last line was written in part
}

// write writes line, which ends with a newline, in one write(2) where the
// kernel takes it whole: the program shares the descriptor, and a pipe keeps
// writes of up to PIPE_BUF bytes together (pipe(7)). It waits while the
// descriptor is full. On an error the line is lost, the next may succeed: the
// reader of a FIFO can come back, a disk can get room. Past the deadline, if there
// is one, it does not wait, and nobody does any more.
func (s *sink) write(line []byte, deadline time.Time) error {
	if s.torn {
		line = append([]byte{'\n'}, line...)
	}
	rest := line
	for disagree := false; len(rest) > 0; {
		if s.gaveUp.Load() {
			return errGaveUp
		}
		n, err := unix.Write(s.fd, rest)
		switch {
		case n > 0:
			rest = rest[n:]
			s.torn, disagree = len(rest) > 0, false
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			most := fullWait
			if !deadline.IsZero() {
				left := time.Until(deadline)
				if left <= 0 {
					s.gaveUp.Store(true)
					continue
				}
				most = min(most, int(left.Milliseconds())+1)
			}
			disagree = s.wait(disagree, most)
		case err != nil:
			return err
		default:
			return io.ErrShortWrite // write(2) returned 0, which it does for no bytes only
		}
	}
	return nil
}

// wait returns when the descriptor can take something or after most ms, and
// says whether it can: if write(2) then disagrees (a datagram socket whose peer
// is full), asking again at once would spin.
func (s *sink) wait(disagree bool, most int) (writable bool) {
	if disagree {
		_, _ = unix.Poll(nil, min(disagreeWait, most))
	}
	fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}}
	// Any error or hang-up in Revents is left to the next write to tell.
	n, err := unix.Poll(fds, most)
	return err == nil && n > 0
}

// nonblocking says whether a write to the descriptor never waits; open(2),
// fcntl(2). A file's may wait for its disk whatever its flags say.
func (s *sink) nonblocking() bool {
	flags, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK == 0 {
		return false
	}
	var st unix.Stat_t
	return unix.Fstat(s.fd, &st) == nil && st.Mode&unix.S_IFMT != unix.S_IFREG
}
