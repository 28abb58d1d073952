package reaper

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"graced/tests/ambient"
)

// A Reaper waits for every child of its process, whoever started it. So each
// test of one has a process of its own: this test binary, executed anew.
const (
	insideEnv  = "REAPER_TEST_INSIDE"  // the name of the test that it is to run
	prepareEnv = "REAPER_TEST_PREPARE" // what is to be done before; see prepare
	roleEnv    = "REAPER_TEST_ROLE"    // the program that it is to be; see roles
)

// Descriptors of a process of a test: it ends when life does; what it tells goes
// to tell.
const (
	life = 3
	tell = 4
)

// times is how often something is done: a tenth of it with -short, which is how
// all is repeated.
func times(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		os.Exit(roles[role](os.Args[1:]))
	}
	ambient.DefaultSignals()
	if os.Getenv(insideEnv) != "" {
		prepare()
		unix.CloseOnExec(life)
		unix.CloseOnExec(tell)
		go hear()
	}
	os.Exit(m.Run())
}

// hear waits for the end of the test outside.
func hear() {
	_, _ = io.Copy(io.Discard, os.NewFile(life, "life"))
	os.Exit(1)
}

// prepare does what can be done only before a test starts, and starts it
// again as the same process.
func prepare() {
	what := os.Getenv(prepareEnv)
	if what == "" {
		return
	}
	runtime.LockOSThread() // what is the thread's is the process's after the exec
	for _, step := range strings.Split(what, ",") {
		if err := prepareStep(step); err != nil {
			fmt.Println(unprepared, step, err)
			os.Exit(1)
		}
	}
	os.Unsetenv(prepareEnv)
	err := syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	fmt.Println(unprepared, err)
	os.Exit(1)
}

const unprepared = "cannot prepare the test:"

func prepareStep(step string) error {
	name, value, _ := strings.Cut(step, "=")
	switch name {
	case "mounts":
		return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	case "proc":
		return unix.Mount("proc", "/proc", "proc", 0, "")
	case "nofile":
		n, _ := strconv.ParseUint(value, 10, 64)
		return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: 4096})
	case "drop": // a capability, from what an exec may gain
		n, _ := strconv.Atoi(value)
		return unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(n), 0, 0, 0)
	case "refuse": // a system call, as a container's filter does
		n, _ := strconv.Atoi(value)
		return refuse(uint32(n))
	case "second": // graced is not PID 1: this process is, and starts it
		return second()
	}
	return fmt.Errorf("no such step")
}

// second stays PID 1 and runs the test in a child. It returns in the child.
func second() error {
	var left []string // the steps before this one are done
	_, after, _ := strings.Cut(os.Getenv(prepareEnv), "second")
	if after = strings.TrimPrefix(after, ","); after != "" {
		left = append(left, prepareEnv+"="+after)
	}
	os.Unsetenv(prepareEnv)
	pid, err := syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{
		Env: append(os.Environ(), left...), Files: []uintptr{0, 1, 2, life, tell},
	})
	if err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		if got == pid || err == syscall.ECHILD {
			os.Exit(status.ExitStatus())
		}
	}
}

// refuse makes the system call nr answer ENOSYS, by a seccomp filter.
func refuse(nr uint32) error {
	const load, equal, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	filter := []unix.SockFilter{
		{Code: load, K: 0}, // the number, in struct seccomp_data
		{Code: equal, K: nr, Jt: 0, Jf: 1},
		{Code: ret, K: 0x00050000 | uint32(unix.ENOSYS)}, // SECCOMP_RET_ERRNO
		{Code: ret, K: 0x7fff0000},                       // SECCOMP_RET_ALLOW
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return setFilter(&unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})
}

// roles are the programs that tests start where a shell will not do.
var roles = map[string]func(args []string) int{
	"foreigners": foreigners,
	"join":       join,
	"listen":     listen,
	"parent":     parent,
}

// foreigners N COMMAND... starts the command N times as children of its own
// parent, which did not ask for them; clone(2), CLONE_PARENT. They
// are what a process leaves behind, and their number is exact.
func foreigners(args []string) int {
	n, _ := strconv.Atoi(args[0])
	for range n {
		_, err := syscall.ForkExec(args[1], args[1:], &syscall.ProcAttr{
			Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_PARENT},
		})
		if err != nil {
			fmt.Println("foreigners:", err)
			return 1
		}
	}
	return 0
}

// join GROUP leaves its process group for another, and says so.
func join(args []string) int {
	group, _ := strconv.Atoi(args[0])
	if err := syscall.Setpgid(0, group); err != nil {
		fmt.Fprintln(os.Stderr, "join:", err)
		return 1
	}
	fmt.Fprintln(os.Stderr, "joined")
	time.Sleep(time.Minute)
	return 0
}
