package drain

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The tests run in a network namespace of their own, so that "every listener of
// the namespace" is theirs. insideEnv says that they do; roleEnv makes the test
// binary play a process of a test.
const (
	insideEnv = "DRAIN_TEST_NAMESPACE"
	roleEnv   = "DRAIN_TEST_ROLE"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(roleEnv) != "":
		os.Exit(play(os.Getenv(roleEnv)))
	case os.Getenv(insideEnv) == "":
		if code, err := runInside(); err == nil {
			os.Exit(code)
		} else {
			fmt.Fprintf(os.Stderr, "drain: SKIPPING what needs a network namespace of its own: %v\n", err)
		}
	}
	// The tests wait more than they work; as many at once as there are processors
	// would make them wait behind each other.
	flag.Parse()
	if err := flag.Set("test.parallel", "40"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// runInside runs this very test binary in a new network namespace: as root, or
// as the root of a new user namespace.
func runInside() (int, error) {
	var attr syscall.SysProcAttr
	attr.Cloneflags = syscall.CLONE_NEWNET
	if os.Getuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	try := exec.Command("/proc/self/exe")
	try.Env, try.SysProcAttr = append(os.Environ(), roleEnv+"=loopback"), &attr
	if out, err := try.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w %s", err, out)
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env, cmd.SysProcAttr = append(os.Environ(), insideEnv+"=1"), &attr
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signal.Ignore(os.Interrupt) // the terminal tells the child too
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

func init() {
	if os.Getenv(insideEnv) != "" {
		if err := loopbackUp(); err != nil {
			panic(err)
		}
	}
}

// loopbackUp switches lo on, which is off in a new namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifreq, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifreq.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifreq)
}

// alone skips a test that would see strangers.
func alone(t *testing.T) {
	t.Helper()
	if os.Getenv(insideEnv) == "" {
		t.Skip("SKIPPED: not in a network namespace of its own")
	}
}

// onThread runs f on a thread that ends with it, so that f may change what the
// kernel keeps by thread: its user, its capabilities, its seccomp filter.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		done <- f()
	}()
	return <-done
}

func play(role string) int {
	var err error
	switch role {
	case "loopback":
		err = loopbackUp()
	case "cgroups":
		err = playCgroups()
	default:
		err = fmt.Errorf("no role %q", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
