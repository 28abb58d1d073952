package boot

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"graced/tests/ambient"
)

// roleEnv makes the test binary a program that starts as graced does, since it
// has this package.
const roleEnv = "BOOT_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "":
		ambient.DefaultSignals()
		os.Exit(m.Run())
	case "started":
		started()
	case "without proc":
		withoutProc()
	}
	os.Exit(0)
}

// started says what has become of the environment and the runtime's settings.
func started() {
	runtime.GC() // which gctrace=1 would tell of
	name, _ := os.ReadFile("/proc/self/comm")
	fmt.Printf("name %s", name)
	fmt.Println("args", os.Args[1:])
	fmt.Println("procs", runtime.GOMAXPROCS(0) == 7)
	fmt.Println("gc", debug.SetGCPercent(100))
	fmt.Println("ignored", Ignored)
	for _, entry := range Environ() {
		fmt.Printf("env %q\n", entry)
	}
}

// withoutProc executes the program anew where /proc is empty.
func withoutProc() {
	os.Setenv(roleEnv, "started")
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		fmt.Println("cannot prepare:", err)
		return
	}
	self, err := os.Readlink("/proc/self/exe")
	if err == nil {
		err = unix.Mount("none", "/proc", "tmpfs", 0, "")
	}
	if err == nil {
		err = syscall.Exec(self, os.Args, append(os.Environ(), "GODEBUG=gctrace=1"))
	}
	fmt.Println("cannot prepare:", err)
}

// run starts the role with exactly env, by a path and a name of its own, and
// gives what it writes.
func run(t *testing.T, attr *syscall.SysProcAttr, env []string, args ...string) (stdout, stderr string) {
	t.Helper()
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// not by os/exec, which tidies the environment
	pid, err := syscall.ForkExec("/proc/self/exe", append([]string{"/sbin/graced-boot"}, args...), &syscall.ProcAttr{
		Env: env, Files: []uintptr{0, outW.Fd(), errW.Fd()}, Sys: attr,
	})
	outW.Close()
	errW.Close()
	if err != nil {
		skip(t, err.Error())
	}
	read := func(f *os.File) <-chan string {
		text := make(chan string, 1)
		go func() {
			var b bytes.Buffer
			_, _ = b.ReadFrom(f)
			text <- b.String()
		}()
		return text
	}
	out, errs := read(outR), read(errR)
	stdout, stderr = <-out, <-errs
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			break
		}
	}
	if status != 0 {
		t.Errorf("status %#x\n%s%s", status, stdout, stderr)
	}
	return stdout, stderr
}

func skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("GRACED_TEST_NO_SKIP") == "1" {
		t.Fatal("cannot be tested here, and GRACED_TEST_NO_SKIP=1: " + why)
	}
	t.Skip("SKIPPED: " + why)
}

// env is an environment with all that a program could be given.
var env = []string{
	"GODEBUG=gctrace=1", "A=1", "GOGC=off", "A=2", "NOEQUALS", "=nameless", "", "EMPTY=",
	"GOMEMLIMIT=400MiB", "\xff=\xfe", "GOMAXPROCS=7", "GOTRACEBACK=crash", "GODEBUG=", "GODEBUGX=1", "XGOGC=2", "GOGC", "NL=a\nb",
	"LONG=" + strings.Repeat("x", 100_000), roleEnv + "=started", "GORACE=atexit_sleep_ms=0",
}

// What is set for the program's Go runtime acts on the program only, which gets
// the environment as it was, byte for byte.
func TestTheRuntimesSettingsAreThePrograms(t *testing.T) {
	stdout, stderr := run(t, nil, env, "-x", "", "a b")
	if stderr != "" {
		t.Errorf("GODEBUG acted on graced: %q", stderr)
	}
	want := "name graced-boot\nargs [-x  a b]\nprocs false\ngc 100\nignored []\n"
	for _, entry := range env {
		want += fmt.Sprintf("env %q\n", entry)
	}
	if stdout != want {
		t.Errorf("got\n%.2000s\nwant\n%.2000s", stdout, want)
	}
}

// An environment without such settings costs no second start.
func TestNothingIsShedWhereNothingIs(t *testing.T) {
	stdout, _ := run(t, nil, []string{"A=1", roleEnv + "=started"})
	// the name is that of the file by which it was started, not of argv[0]
	if !strings.HasPrefix(stdout, "name exe\n") || !strings.HasSuffix(stdout, "env \"A=1\"\nenv \""+roleEnv+"=started\"\n") {
		t.Errorf("got\n%s", stdout)
	}
}

func TestAnEmptyEnvironment(t *testing.T) {
	if got := Environ(); len(got) == 0 {
		t.Error("the test has an environment")
	}
	if hide(nil) || unhide(nil) {
		t.Error("something was found in nothing")
	}
}

// Without /proc nothing can be shed. graced starts all the same, and hands on
// what it knows. (Here the settings do act: the negative control.)
func TestWithoutProc(t *testing.T) {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	}
	stdout, stderr := run(t, attr, []string{"A=1", "GORACE=atexit_sleep_ms=0", roleEnv + "=without proc"})
	if strings.Contains(stdout, "cannot prepare") {
		skip(t, stdout)
	}
	for _, entry := range []string{"A=1", "GODEBUG=gctrace=1"} {
		if !strings.Contains(stdout, fmt.Sprintf("env %q\n", entry)) {
			t.Errorf("%q is not handed on:\n%s", entry, stdout)
		}
	}
	if !strings.Contains(stderr, "gc 1 @") {
		t.Errorf("gctrace=1 writes nothing even where it acts: %q", stderr)
	}
}

// What nohup(1), a shell's background job or trap has ignored is found.
func TestIgnored(t *testing.T) {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for trap, want := range map[string][]syscall.Signal{
		":":                           nil,
		"trap '' HUP":                 {syscall.SIGHUP},
		"trap '' INT HUP TSTP":        {syscall.SIGHUP, syscall.SIGINT, syscall.SIGTSTP},
		"trap '' HUP; trap - HUP":     nil,
		"trap '' TTIN TTOU CONT HUP":  {syscall.SIGHUP, syscall.SIGCONT, syscall.SIGTTIN, syscall.SIGTTOU},
		"trap '' HUP; export GOGC=50": {syscall.SIGHUP}, // also through the second start
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", trap+`; exec "$0"`, self)
		cmd.Env = append(os.Environ(), roleEnv+"=started")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if line := fmt.Sprintln("ignored", want); !strings.Contains(string(out), line) {
			t.Errorf("%s: %q is not in\n%.500s", trap, line, out)
		}
	}
}

func TestHideAndUnhide(t *testing.T) {
	before := []string{"GODEBUG=x", "A=1", "GOGC=", "GOGC", "GODEBUGGER=1", "", "GOMAXPROCS=2=3"}
	env := slices.Clone(before)
	if !hide(env) {
		t.Error("nothing was found")
	}
	want := []string{"\x01GODEBUG=x", "A=1", "\x01GOGC=", "GOGC", "GODEBUGGER=1", "", "\x01GOMAXPROCS=2=3"}
	if !slices.Equal(env, want) {
		t.Errorf("hidden: %q, want %q", env, want)
	}
	if hide(env) {
		t.Error("what is hidden is found again: graced would start itself for ever")
	}
	if !unhide(env) || !slices.Equal(env, before) {
		t.Errorf("unhidden: %q, want %q", env, before)
	}
	// a name that only looks so is somebody else's
	strange := []string{"\x01A=1", "\x01", "\x01\x01GOGC=1"}
	if unhide(slices.Clone(strange)) {
		t.Error("something was unhidden that was not hidden")
	}
}

func TestNumbers(t *testing.T) {
	for _, n := range []uint64{0, 7, 10, 1<<64 - 1} {
		if got := number(digits(n)); got != n {
			t.Errorf("%d is read as %d", n, got)
		}
	}
}

// The shim does what Go's fork cannot, executes the program as the same process,
// and says why if it cannot.
func TestShim(t *testing.T) {
	for _, tt := range []struct {
		path string
		argv []string
		want syscall.Errno // 0: it is executed
	}{
		{"/bin/sh", []string{"sh", "-c", "test $LISTEN_PID = $$ && test \"$GOGC\" = 7"}, 0},
		{"/no/such", []string{"x"}, syscall.ENOENT},
		{"/tmp", []string{"x"}, syscall.EACCES},
		{filepath.Join("/proc/self/exe", "x"), []string{"x"}, syscall.ENOTDIR},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		const fd = 9
		shim := Shim{Ignore: []syscall.Signal{syscall.SIGHUP, 64}, ListenPID: true, ErrFD: fd}
		path, argv, env := shim.Command(tt.path, tt.argv, []string{"PATH=/usr/bin:/bin", "LISTEN_PID=1", "GOGC=7"})
		files := make([]uintptr, fd+1)
		for i := range files {
			files[i] = 2
		}
		files[fd] = w.Fd()
		pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: env, Files: files})
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		_, _ = said.ReadFrom(r)
		r.Close()
		var status syscall.WaitStatus
		for {
			if _, err := syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
				break
			}
		}
		want, code := "", 0
		if tt.want != 0 {
			want, code = digits(uint64(tt.want)), 127
		}
		if said.String() != want || status.ExitStatus() != code {
			t.Errorf("%s: it said %q and ended with %#x, want %q and %d", tt.path, said.String(), status, want, code)
		}
	}
}
