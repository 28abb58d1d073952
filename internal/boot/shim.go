package boot

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

// shimName is the argv[0] by which graced knows that it was started as the
// shim: a name that no file can have.
const shimName = "graced/exec/shim/"

// shimArgs is the number of arguments before the program's own.
const shimArgs = 4

// Shim is what a process needs between fork and exec that Go's ForkExec cannot
// do. The child starts graced's own program, which does it and then executes
// the wanted one, as the same process.
type Shim struct {
	// Ignore has the signals that the program finds ignored.
	Ignore []syscall.Signal
	// ListenPID puts the process's own pid into LISTEN_PID, without which a
	// program does not take sockets that were handed over; sd_listen_fds(3).
	ListenPID bool
	// ErrFD is where the shim writes the errno of a failed exec, as decimal
	// digits. It must be inherited; the shim closes it at exec.
	ErrFD int
}

// Command turns the start of path with argv and env into that of the shim. It
// gives the program to execute, its arguments and its environment.
func (s Shim) Command(path string, argv, env []string) (string, []string, []string) {
	var mask uint64
	for _, sig := range s.Ignore {
		mask |= 1 << (sig - 1)
	}
	flags := digits(uint64(s.ErrFD))
	if s.ListenPID {
		flags = "L" + flags
	}
	env = append([]string(nil), env...)
	hide(env)
	return Self(), append([]string{shimName, flags, digits(mask), path}, argv...), env
}

// Self is the path of the running program.
func Self() string {
	const self = "/proc/self/exe"
	if _, err := os.Readlink(self); err == nil {
		return self
	}
	return os.Args[0]
}

// runShim does the shim's work. It returns only if the program could not be
// executed, and has then told so on the pipe.
func runShim(args []string) error {
	flags, path, argv := args[1], args[3], args[shimArgs:]
	listenPID := flags[0] == 'L'
	if listenPID {
		flags = flags[1:]
	}
	errFD := int(number(flags))
	syscall.CloseOnExec(errFD)
	env := rawEnviron()
	unhide(env)
	if listenPID {
		const name = "LISTEN_PID="
		for i, entry := range env {
			if len(entry) >= len(name) && entry[:len(name)] == name {
				env[i] = name + digits(uint64(os.Getpid()))
			}
		}
	}
	mask := number(args[2])
	for _, sig := range list(mask) {
		ignore(sig)
	}
	err := syscall.Exec(path, argv, env)
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		errno = syscall.EINVAL // a NUL in an argument: Exec refuses it without asking the kernel
	}
	syscall.Write(errFD, []byte(digits(uint64(errno))))
	syscall.Exit(127)
	return err
}

// ignore sets the disposition of sig to SIG_IGN by the system call itself.
// signal.Ignore would do, but os/signal is not started yet. The kernel's struct
// begins with the handler on amd64 and arm64; flags and mask are zero.
func ignore(sig syscall.Signal) {
	const sigIgn = 1
	act := [8]uintptr{sigIgn}
	syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0)
}

// digits and number are strconv's Uint for this package, which starts before it.
func digits(n uint64) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}

func number(s string) (n uint64) {
	for i := range len(s) {
		n = n*10 + uint64(s[i]-'0')
	}
	return n
}
