package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"graced/tests/ambient"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The test binary is graced itself where beGraced is set, since only a process of
// its own has an exit code, an environment and descriptors. With another /etc if
// beWithEtc names a folder.
const (
	beGraced  = "BE_GRACED"
	beWithEtc = "BE_WITH_ETC"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(beHelper); name != "" {
		os.Exit(helpers[name](os.Args[1:]))
	}
	if os.Getenv(beGraced) == "" {
		ambient.DefaultSignals()
		os.Exit(m.Run())
	}
	if dir := os.Getenv(beWithEtc); dir != "" {
		// Nothing of this must reach the mounts of others.
		err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, "")
		if err == nil {
			err = unix.Mount(dir, "/etc", "", unix.MS_BIND, "")
		}
		if err != nil {
			println("cannot have another /etc:", err.Error())
			os.Exit(99)
		}
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// result is what a run has left behind.
type result struct {
	code           int
	stdout, stderr string
}

// call runs a subcommand in this process.
func call(args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(args, &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// started is the command that runs graced as a process of its own, with these
// variables and no others.
func started(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append([]string{beGraced + "=1"}, env...)
	cmd.WaitDelay = time.Second
	return cmd
}

// process runs graced as a process of its own.
func process(t *testing.T, env []string, args ...string) result {
	t.Helper()
	return finish(t, started(t, env, args...))
}

// finish runs a command to its end, which has to come soon.
func finish(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	err := cmd.Run()
	if !timer.Stop() {
		t.Fatalf("%v hangs", cmd.Args[1:])
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// want checks a code, and what stands in stdout and stderr; "" is nothing at all.
func (r result) want(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	match := func(got, want string) bool { return got == want || want != "" && strings.Contains(got, want) }
	if r.code != code || !match(r.stdout, stdout) || !match(r.stderr, stderr) {
		t.Errorf("code %d, want %d\nstdout %q, want in it %q\nstderr %q, want in it %q", r.code, code, r.stdout, stdout, r.stderr, stderr)
	}
}

// golden compares with a file of testdata, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(source, "testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not as it was; if it is better, run the test with -update.\ngot:\n%s\nwant:\n%s", name, got, want)
	}
}

// source is the folder of this package; tests go elsewhere.
var source, _ = os.Getwd()

// write makes a file in a folder of the test's own and gives its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
