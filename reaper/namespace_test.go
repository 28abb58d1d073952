package reaper

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// place is where a test runs.
type place struct {
	second  bool                   // not as PID 1
	session bool                   // as the leader of a session, as container runtimes start a PID 1
	noProc  bool                   // /proc is that of the PID namespace outside
	more    []string               // further steps of prepare
	outside func(*testing.T, *far) // runs meanwhile, outside
}

// asPID1 runs fn as PID 1 of a new PID namespace.
func asPID1(t *testing.T, fn func(t *testing.T)) { t.Helper(); place{session: true}.run(t, fn) }

// notPID1 runs fn in a PID namespace with a PID 1 that is another program.
func notPID1(t *testing.T, fn func(t *testing.T)) { t.Helper(); place{second: true}.run(t, fn) }

// far is a test that runs in another process, seen from outside.
type far struct {
	t    *testing.T
	pid  int // here
	says *os.File
}

// hear waits for what the test inside tells by told.
func (f *far) hear(want string) {
	f.t.Helper()
	got := make([]byte, len(want)+1)
	_ = f.says.SetReadDeadline(time.Now().Add(30 * time.Second))
	n, err := f.says.Read(got)
	if err != nil || string(got[:n]) != want+"\n" {
		f.t.Fatalf("the test inside told %q, want %q; %v", got[:n], want, err)
	}
}

// enter runs a command in the namespaces of the test inside, as docker exec and
// kubectl exec do, and gives the process that waits for it.
func (f *far) enter(argv ...string) *exec.Cmd {
	f.t.Helper()
	nsenter := []string{"nsenter", "-t", strconv.Itoa(f.pid), "-p", "-m"}
	if os.Getuid() != 0 {
		nsenter = append(nsenter, "-U", "--preserve-credentials")
	}
	argv = append(nsenter, argv...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		skip(f.t, err.Error())
	}
	f.t.Cleanup(func() { _ = cmd.Wait() }) // by then its namespace is gone
	return cmd
}

// run runs fn there, and fails if it does.
func (p place) run(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	if os.Getenv(insideEnv) == t.Name() {
		fn(t)
		return
	}
	t.Parallel()
	steps := []string{"mounts"}
	if !p.noProc {
		steps = append(steps, "proc")
	}
	if p.second {
		steps = append(steps, "second")
	}
	steps = append(steps, p.more...)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1", "-test.timeout=90s", "-test.short="+strconv.FormatBool(testing.Short()))
	cmd.Env = append(os.Environ(), insideEnv+"="+t.Name(), prepareEnv+"="+strings.Join(steps, ","), "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = namespaces()
	cmd.SysProcAttr.Setsid = p.session
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	hears, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close() // which ends it, with all that it has started
	says, tells, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer says.Close()
	cmd.ExtraFiles = []*os.File{hears, tells}
	err = cmd.Start()
	hears.Close()
	tells.Close()
	if err != nil {
		skip(t, "no new namespaces: "+err.Error())
	}
	if p.outside != nil {
		p.outside(t, &far{t, cmd.Process.Pid, says})
	}
	err = cmd.Wait()
	switch {
	case strings.Contains(out.String(), unprepared):
		skip(t, out.String())
	case strings.Contains(out.String(), "--- SKIP"):
		skip(t, "as it says:\n"+out.String())
	case err != nil:
		t.Errorf("%v\n%s", err, out.String())
	}
}

// told tells the test outside a line.
func told(line string) {
	_, _ = syscall.Write(tell, []byte(line+"\n"))
}

// namespaces asks for new ones, with a user namespace where root is needed for
// the others.
func namespaces() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return attr
}

// skip ends a test that cannot be run here. Where nothing may be skipped, it
// fails.
func skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("GRACED_TEST_NO_SKIP") == "1" {
		t.Fatal("cannot be tested here, and GRACED_TEST_NO_SKIP=1: " + why)
	}
	t.Skip("SKIPPED: " + why)
}

func setFilter(prog *unix.SockFprog) error {
	const modeFilter = 2
	return unix.Prctl(unix.PR_SET_SECCOMP, modeFilter, uintptr(unsafe.Pointer(prog)), 0, 0)
}
