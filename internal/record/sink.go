package record

import (
	"errors"
	"io"
	"sync/atomic"

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
// reader of a FIFO can come back, a disk can get room.
func (s *sink) write(line []byte) error {
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
			disagree = s.wait(disagree)
		case err != nil:
			return err
		default:
			return io.ErrShortWrite // write(2) returned 0, which it does for no bytes only
		}
	}
	return nil
}

// wait returns when the descriptor can take something or after fullWait, and
// says whether it can: if write(2) then disagrees (a datagram socket whose peer
// is full), asking again at once would spin.
func (s *sink) wait(disagree bool) (writable bool) {
	if disagree {
		_, _ = unix.Poll(nil, disagreeWait)
	}
	fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}}
	// Any error or hang-up in Revents is left to the next write to tell.
	n, err := unix.Poll(fds, fullWait)
	return err == nil && n > 0
}
