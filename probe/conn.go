package probe

import "syscall"

// SyscallConn gives access to the listening socket, for whoever has to tell it
// from those of others.
func (s *Server) SyscallConn() (syscall.RawConn, error) {
	c, ok := s.tcp.(syscall.Conn)
	if !ok {
		return nil, syscall.EINVAL
	}
	return c.SyscallConn()
}
