package tests

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"graced/tests/ambient"
)

var (
	bin    string // the folder with graced and every program of children
	graced string // the binary under test

	// missing says why something cannot be had here, by its name: "cc",
	// "namespaces".
	missing = map[string]string{}
)

func TestMain(m *testing.M) {
	ambient.DefaultSignals()
	flag.Parse()
	if code, done := becomeRoot(); done {
		os.Exit(code)
	}
	if flag.Lookup("test.parallel").Value.String() == flag.Lookup("test.parallel").DefValue {
		_ = flag.Set("test.parallel", "4") // most tests wait for time to pass
	}
	dir, err := os.MkdirTemp("", "graced-tests-")
	if err == nil {
		err = prepare(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot prepare the tests:", err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	skips.tell()
	os.Exit(code)
}

// becomeRoot runs the tests anew as root of a user namespace, if they are not
// root's already. Where that is not allowed it does nothing, and what needs
// namespaces is skipped.
func becomeRoot() (code int, done bool) {
	const again = "GRACED_TEST_USERNS"
	if os.Geteuid() == 0 || os.Getenv(again) != "" {
		return 0, false
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), again+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		// a network namespace of its own too, to which threads may come back
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), true
	}
	return 0, err == nil
}

// prepare builds graced and the programs, and finds out what can be had.
func prepare(dir string) error {
	// everybody may look into it: some tests are another user
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	bin = filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	graced = filepath.Join(bin, "graced")
	if given := os.Getenv("GRACED_BIN"); given != "" {
		if err := run("cp", given, graced); err != nil {
			return err
		}
	} else if err := build(graced, "../cmd/graced"); err != nil {
		return err
	}
	children := filepath.Join(dir, "children")
	if err := build(children, "./children"); err != nil {
		return err
	}
	for _, name := range []string{"begun", "enter", "first", "http_abrupt", "http_slow", "http_stream", "last_answer", "slow_boot", "tty_child"} {
		if err := os.Link(children, filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	if err := compile(); err != nil {
		return err
	}
	// the tests find the programs by name, as a container does
	os.Setenv("PATH", bin+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	if _, err := launch(setup{}, "enter", "-proc", "kept", "true"); err != nil {
		missing["namespaces"] = err.Error()
	}
	return nil
}

func build(out, pkg string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, text)
	}
	return nil
}

func run(name string, args ...string) error {
	if text, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, text)
	}
	return nil
}

// compile makes the programs that are in C, if there is a compiler. They are
// static, so that they run in an empty root.
func compile() error {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	sources, err := filepath.Glob("children/c/*.c")
	if err != nil || len(sources) == 0 {
		return fmt.Errorf("the C programs are not in children/c")
	}
	if _, err := exec.LookPath(cc); err != nil {
		missing["cc"] = "there is no C compiler (" + cc + ")"
		return nil
	}
	failed := make([]error, len(sources))
	var all sync.WaitGroup
	for i, source := range sources {
		all.Go(func() {
			out := filepath.Join(bin, strings.TrimSuffix(filepath.Base(source), ".c"))
			failed[i] = run(cc, "-O1", "-Wall", "-static", "-o", out, source)
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// skips counts what could not be tested, so that it cannot go unseen.
var skips skipCount

type skipCount struct {
	mu  sync.Mutex
	why map[string]int
}

// skip ends a test that cannot run here. With GRACED_TEST_NO_SKIP=1, as in
// continuous integration, it fails.
func skip(t interface {
	Skip(args ...any)
	Fatal(args ...any)
}, why string) {
	skips.mu.Lock()
	if skips.why == nil {
		skips.why = map[string]int{}
	}
	skips.why[why]++
	skips.mu.Unlock()
	if os.Getenv("GRACED_TEST_NO_SKIP") != "" {
		t.Fatal("cannot be tested here, and GRACED_TEST_NO_SKIP is set: " + why)
	}
	t.Skip("SKIPPED: " + why)
}

func (s *skipCount) tell() {
	for why, n := range s.why {
		fmt.Fprintf(os.Stderr, "SKIPPED %d tests: %s\n", n, why)
	}
}

// need skips the test if one of the things is not there: "namespaces", "cc",
// "root" (a real one, with all users), or a program.
func need(t interface {
	Skip(args ...any)
	Fatal(args ...any)
}, things ...string) {
	for _, thing := range things {
		switch thing {
		case "root":
			if os.Getenv("GRACED_TEST_USERNS") != "" || os.Geteuid() != 0 {
				skip(t, "only root can become other users")
			}
		case "namespaces", "cc":
			if why := missing[thing]; why != "" {
				skip(t, why)
			}
		default:
			if _, err := exec.LookPath(thing); err != nil {
				skip(t, thing+" is not installed")
			}
		}
	}
}

// sandbox is what nearly every test begins with.
func sandbox(t testing.TB) {
	t.Helper()
	need(t, "namespaces", "cc")
}

// long says whether everything that is promised is to be tried as often as it
// is promised.
func long() bool { return os.Getenv("GRACED_TEST_LONG") != "" }

// times is how often something is tried: in a long run, normally, with -short.
func times(promised, normal, short int) int {
	switch {
	case long():
		return promised
	case testing.Short():
		return short
	}
	return normal
}

// eventually polls until ok is true.
func eventually(within time.Duration, ok func() bool) bool {
	for end := time.Now().Add(within); ; time.Sleep(5 * time.Millisecond) {
		if ok() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}
