// Package boot is what graced does before anything else of it starts: it is
// the exec shim when it was started as one, it sheds the Go runtime's settings
// that are meant for the wrapped program, and it notes which signals were
// ignored before os/signal changes that.
//
// Its work is in init and it imports only os and syscall, so that it runs
// before the larger packages of the program are started (Go starts packages in
// the order of their imports, then of their paths). A shim that started them
// all would cost each process that needs it some milliseconds.
package boot

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

// Failed is why the shim could not do its work; nil in any other process.
var Failed error

// Ignored has the signals that this process was started with as ignored, as
// far as can be known: the Go runtime replaces most dispositions before any
// code of ours runs, and only SIGHUP, SIGINT, SIGCONT, SIGTSTP, SIGTTIN and
// SIGTTOU are still as they were. Those are the ones that nohup(1), a shell's
// background jobs and `trap "" HUP` set.
var Ignored []syscall.Signal

// runtimeVars act on the Go runtime of whoever has them in its environment.
// A container sets them for its program: GOMEMLIMIT=4MiB alone would cost
// graced 100 ms of garbage collection at its start, GODEBUG=gctrace=1 would
// make it write to stderr.
var runtimeVars = [...]string{"GODEBUG", "GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GOTRACEBACK"}

// hidden begins the name of a runtimeVar that is kept for the children. No
// shell can set such a name.
const hidden = "\x01"

func init() {
	if len(os.Args) > shimArgs && os.Args[0] == shimName {
		Failed = runShim(os.Args)
		return
	}
	shedRuntimeVars()
	Ignored = ignoredNow()
}

// shedRuntimeVars starts graced anew, as the same process, without the
// variables that would act on its runtime. They stay in the environment under
// hidden names, at their places, and Environ shows them to the children as
// they were. Until here they do act (inittrace=1 has written its lines already).
// Without /proc it does nothing.
func shedRuntimeVars() {
	env := rawEnviron()
	if hide(env) {
		// #nosec: this very program, with its own arguments. It returns only if it fails.
		_ = syscall.Exec("/proc/self/exe", os.Args, env)
	}
	if unhide(env) && len(os.Args) > 0 {
		setName(os.Args[0])
	}
}

// setName gives the process the name that ps(1) and pgrep(1) show, which is
// "exe" after an exec of /proc/self/exe. init runs on the main thread, whose
// name it is; PR_SET_NAME in prctl(2).
func setName(path string) {
	const prSetName = 15
	base := path
	for i := range len(path) {
		if path[i] == '/' {
			base = path[i+1:]
		}
	}
	name := append([]byte(base), 0)
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetName, uintptr(unsafe.Pointer(&name[0])), 0)
}

// hide renames the runtimeVars in env and says whether there were any.
func hide(env []string) (found bool) {
	for i, entry := range env {
		if runtimeVar(entry) {
			env[i], found = hidden+entry, true
		}
	}
	return found
}

// unhide undoes hide.
func unhide(env []string) (found bool) {
	for i, entry := range env {
		if len(entry) > 0 && entry[0] == hidden[0] && runtimeVar(entry[1:]) {
			env[i], found = entry[1:], true
		}
	}
	return found
}

// runtimeVar says whether entry, NAME=VALUE, sets one of runtimeVars.
func runtimeVar(entry string) bool {
	for _, name := range runtimeVars {
		if len(entry) > len(name) && entry[len(name)] == '=' && entry[:len(name)] == name {
			return true
		}
	}
	return false
}

// Environ is the environment for the children, with the bytes and the order
// that graced was started with: os.Environ drops empty entries and doubles.
func Environ() []string {
	env := rawEnviron()
	unhide(env)
	return env
}

// rawEnviron reads the environment as the kernel keeps it, proc_pid_environ(5).
func rawEnviron() []string {
	data, err := readAll("/proc/self/environ")
	if err != nil || len(data) == 0 {
		return syscall.Environ()
	}
	var env []string
	for start, i := 0, 0; i < len(data); i++ {
		if data[i] == 0 {
			env = append(env, string(data[start:i]))
			start = i + 1
		}
	}
	return env
}

// ignoredNow reads SigIgn of proc_pid_status(5): a hexadecimal mask, bit N-1
// for signal N.
func ignoredNow() []syscall.Signal {
	data, err := readAll("/proc/self/status")
	if err != nil {
		return nil
	}
	const key = "\nSigIgn:\t"
	var mask uint64
	for i := 0; i+len(key) < len(data); i++ {
		if string(data[i:i+len(key)]) != key {
			continue
		}
		for _, c := range data[i+len(key):] {
			switch {
			case c >= '0' && c <= '9':
				mask = mask<<4 | uint64(c-'0')
			case c >= 'a' && c <= 'f':
				mask = mask<<4 | uint64(c-'a'+10)
			default:
				return list(mask)
			}
		}
	}
	return list(mask)
}

func list(mask uint64) []syscall.Signal {
	var sigs []syscall.Signal
	for n := 1; n <= 64; n++ {
		if mask&(1<<(n-1)) != 0 {
			sigs = append(sigs, syscall.Signal(n))
		}
	}
	return sigs
}

// readAll reads a file of /proc by plain system calls: os.ReadFile would
// start the runtime's poller for it.
func readAll(path string) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	data := make([]byte, 0, 4096)
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := syscall.Read(fd, data[len(data):cap(data)])
		if err != nil {
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			return nil, err
		}
		if n <= 0 {
			return data, nil
		}
		data = data[:len(data)+n]
	}
}
