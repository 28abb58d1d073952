// Package ambient is for tests: it undoes what whoever started them has done to
// this process.
package ambient

import (
	"syscall"
	"unsafe"
)

// DefaultSignals gives every signal that is ignored its default action. Such
// are inherited, and would be by what the tests start: nohup(1) ignores SIGHUP,
// a shell SIGINT and SIGQUIT for what it runs in the background, and the C
// library's posix_spawn(3), which make(1) starts its commands with, 32 and 33.
// These two no library call can reset, so it asks the kernel; sigaction(2).
func DefaultSignals() {
	const ignored, last, maskBytes = 1, 64, 8
	for sig := uintptr(1); sig <= last; sig++ {
		var now, usual [4]uint64 // handler, flags, restorer, mask
		_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&now)), maskBytes, 0, 0)
		if errno == 0 && now[0] == ignored {
			syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&usual)), 0, maskBytes, 0, 0)
		}
	}
}
