package probe

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// socket reads and writes a connection without the Go scheduler's notice. Its
// system calls never wait, since the socket is in non-blocking mode, so there is
// no need to give the processor away meanwhile; package net does, and where the
// kernel takes the processor from the thread in the middle of such a call the
// runtime makes one more thread for the others. A crowd of probers on a busy
// machine would so make a thread each; the first process of a container with a
// limit of processes ends when it cannot have one.
//
// One goroutine may read and one may write at a time, as net/http does.
type socket struct {
	raw           syscall.RawConn
	reads, writes transfer
}

// transfer is a read or a write that is under way: what is left to do, and what
// came of it. It lives in the socket so that none costs memory of its own.
type transfer struct {
	p     []byte
	n     int
	errno syscall.Errno
	try   func(fd uintptr) (done bool)
}

// newSocket is nil for a connection that is no socket, as in some tests.
func newSocket(c net.Conn) *socket {
	withFD, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := withFD.SyscallConn()
	if err != nil {
		return nil
	}
	s := &socket{raw: raw}
	s.reads.try = s.recv
	s.writes.try = s.send
	return s
}

func (s *socket) read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	s.reads.p, s.reads.n, s.reads.errno = p, 0, 0
	err := s.raw.Read(s.reads.try)
	s.reads.p = nil
	switch {
	case err != nil: // a deadline, or closed
		return 0, err
	case s.reads.errno != 0:
		return 0, os.NewSyscallError("recv", s.reads.errno)
	case s.reads.n == 0:
		return 0, io.EOF
	}
	return s.reads.n, nil
}

func (s *socket) recv(fd uintptr) (done bool) {
	t := &s.reads
	for {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&t.p[0])), uintptr(len(t.p)), syscall.MSG_DONTWAIT, 0, 0)
		switch errno {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return false
		case 0:
			t.n = int(n)
		default:
			t.errno = errno
		}
		return true
	}
}

// write writes all of p, as a net.Conn does.
func (s *socket) write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	s.writes.p, s.writes.n, s.writes.errno = p, 0, 0
	err := s.raw.Write(s.writes.try)
	s.writes.p = nil
	switch {
	case err != nil:
		return s.writes.n, err
	case s.writes.errno != 0:
		return s.writes.n, os.NewSyscallError("send", s.writes.errno)
	}
	return s.writes.n, nil
}

func (s *socket) send(fd uintptr) (done bool) {
	t := &s.writes
	for t.n < len(t.p) {
		left := t.p[t.n:]
		// MSG_NOSIGNAL: a client that is gone is told by EPIPE alone; send(2)
		n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, fd, uintptr(unsafe.Pointer(&left[0])), uintptr(len(left)), syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case syscall.EINTR:
		case syscall.EAGAIN:
			return false
		case 0:
			t.n += int(n)
		default:
			t.errno = errno
			return true
		}
	}
	return true
}

// peek says whether bytes of the client wait in the kernel.
func (s *socket) peek() (some bool) {
	// Control and not Read: that would wait for the goroutine that reads.
	err := s.raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&b[0])), 1, syscall.MSG_PEEK|syscall.MSG_DONTWAIT, 0, 0)
		some = errno == 0 && n > 0
	})
	return some && err == nil
}
