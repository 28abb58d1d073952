package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// protectStderr makes writes to descriptor 2 of graced itself unable to hang,
// and gives the descriptor that the children get as their standard error.
//
// A pipe that nobody reads, or a terminal that is stopped, would block the Go
// runtime's crash dump for ever, and with it the end of PID 1. Opening
// /proc/self/fd/2 anew gives an open file description of graced's own, which
// can be non-blocking without the program's becoming so: a program that finds
// its stderr non-blocking loses output or dies of EAGAIN.
func protectStderr() (forChildren int) {
	const stderr = 2
	var st unix.Stat_t
	if err := unix.Fstat(stderr, &st); err != nil {
		return stderr
	}
	_, err := unix.IoctlGetTermios(stderr, unix.TCGETS)
	if terminal := err == nil; st.Mode&unix.S_IFMT != unix.S_IFIFO && !terminal {
		// a regular file never blocks, and opened anew it would have a position of
		// its own; a socket cannot be opened
		return stderr
	}
	original, err := unix.FcntlInt(stderr, unix.F_DUPFD_CLOEXEC, stderr+1)
	if err != nil {
		return stderr
	}
	again, err := syscall.Open("/proc/self/fd/2", syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil { // no /proc, or it belongs to another user
		syscall.Close(original)
		return stderr
	}
	err = syscall.Dup3(again, stderr, 0)
	syscall.Close(again)
	if err != nil {
		syscall.Close(original)
		return stderr
	}
	return original
}
