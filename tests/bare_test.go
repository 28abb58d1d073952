package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// scratch makes the root of an image that is FROM scratch: the binary, the
// programs, and nothing else but the mount points.
func scratch(t *testing.T, programs ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{root, filepath.Dir(root)} { // the test's own; other users shall look in
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"proc", "dev"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range append(programs, "graced") {
		if err := run("cp", filepath.Join(bin, name), filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// Bare surroundings: an empty, read-only root, another user, no capability,
// without /proc or with one that hides. Nothing is written, nothing complained of.
func TestBareSurroundings(t *testing.T) {
	t.Parallel()
	sandbox(t)
	for _, proc := range []string{"own", "none", "hidden"} {
		for _, user := range []string{"0", "65534"} {
			t.Run(fmt.Sprintf("proc %s, user %s", proc, user), func(t *testing.T) {
				t.Parallel()
				enter := []string{"-proc", proc, "-drop"}
				if user != "0" {
					need(t, "root")
					enter = []string{"-proc", proc, "-uid", user}
				}
				s := setup{enter: append(enter, "-root", scratch(t, "die", "slow_workers", "ignore_term"))}

				r := s.start(t, "/graced", "--", "/die", "exit", "7")
				r.exits(t, 7, 10*time.Second)
				if text := r.stderr.text(); text != "" {
					t.Errorf("standard error has %q", text)
				}

				r = s.start(t, "/graced", "--", "/slow_workers", "3", "1", "session")
				r.prints(t, "^ready$", 10*time.Second)
				r.answers(t, "/livez", 200, time.Second)
				r.signal(t, syscall.SIGTERM)
				r.exits(t, 5, 10*time.Second)
				if n := r.stdout.count("^clean "); n != 3 {
					t.Errorf("%d workers cleaned up, want 3:\n%s", n, r.stdout.text())
				}
				for _, bad := range []string{"level=ERROR", "level=WARN"} {
					if lines := r.logged(bad); len(lines) > 0 {
						t.Errorf("it complains: %v", lines)
					}
				}

				r = s.start(t, "/graced", "--grace", "3s", "--", "/ignore_term", "50")
				r.prints(t, "^ready", 10*time.Second)
				began := r.signal(t, syscall.SIGTERM)
				r.exits(t, 137, 10*time.Second)
				if took := r.ended.Sub(began); took > 3*time.Second {
					t.Errorf("it took %v of the 3s", took)
				}
			})
		}
	}
}

// A program that has become another user's may refuse every signal, SIGKILL
// too. graced says so once, goes on answering, and leaves in time: the end of
// the namespace ends the program.
func TestProgramThatMayNotBeSignalled(t *testing.T) {
	t.Parallel()
	sandbox(t)
	need(t, "root")
	root := scratch(t, "become_uid")
	if err := os.Chmod(filepath.Join(root, "become_uid"), os.ModeSetuid|0o755); err != nil {
		t.Fatal(err)
	}
	// set-uid programs work only while capabilities may be gained
	r := setup{enter: []string{"-root", root, "-as", "65534"}}.start(t, "/graced", "--grace", "3s", "--ready", "started", "--", "/become_uid", "0", "30")
	r.prints(t, "^ready [0-9]+ as 0", 10*time.Second)
	r.ready(t)
	began := r.signal(t, syscall.SIGTERM)
	r.answers(t, "/readyz", 503, time.Second)
	r.exits(t, 137, 10*time.Second)
	if took := r.ended.Sub(began); took > 3*time.Second {
		t.Errorf("it took %v of the 3s", took)
	}
	if n := r.stdout.count("^term"); n != 0 {
		t.Errorf("the program was signalled after all: the test shows nothing")
	}
	refused := r.logged("level=WARN", "signal=SIGTERM", "err=operation not permitted", "pid=[0-9]+")
	if len(refused) != 1 {
		t.Errorf("%d lines about the refusal, want 1", len(refused))
	}
	r.logsExactly(t, 1, "msg=cannot be killed; graced ends without it", "level=ERROR")
	r.logsExactly(t, 0, "msg=killed")
	r.logsExactly(t, 1, "event=shutdown_end", "code=137", "killed=0")
}

// As root nothing is refused, whoever the program has become.
func TestProgramThatChangesItsUser(t *testing.T) {
	t.Parallel()
	sandbox(t)
	need(t, "root")
	r := start(t, "graced", "--", "become_uid", "65534", "30")
	r.prints(t, "^ready [0-9]+ as 65534", 10*time.Second)
	r.signal(t, syscall.SIGTERM)
	r.exits(t, 0, 5*time.Second)
}

// below starts graced under another first process.
func below(t *testing.T, s setup, argv ...string) (r *running, p *os.Process) {
	t.Helper()
	r = s.start(t, append([]string{"first"}, argv...)...)
	inner := r.prints(t, `^started (\d+)`, 10*time.Second)[1]
	want, _ := strconv.Atoi(inner)
	pid := 0
	if !eventually(5*time.Second, func() bool {
		for _, child := range childrenOf(r.pid) {
			if innerPID(child) == want {
				pid = child
			}
		}
		return pid != 0
	}) {
		t.Fatal("graced is not to be seen")
	}
	return r, process(t, pid)
}

// innerPID is a process's pid in its own namespace.
func innerPID(pid int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	var outer, inner int
	for _, line := range strings.Split(string(data), "\n") {
		if n, _ := fmt.Sscanf(line, "NSpid:\t%d\t%d", &outer, &inner); n == 2 {
			return inner
		}
	}
	return 0
}

// Below another first process graced adopts what its program leaves, and dies
// with nothing left behind: its program gets SIGKILL when graced is killed, and
// never before.
func TestBelowAnotherFirstProcess(t *testing.T) {
	t.Parallel()
	sandbox(t)
	r, p := below(t, setup{}, "graced", "--ready", "started", "--", "slow_workers", "3", "1", "session")
	r.prints(t, "^ready$", 10*time.Second)
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.exits(t, 5, 10*time.Second)
	if n := r.stdout.count("^clean "); n != 3 {
		t.Errorf("%d workers cleaned up, want 3", n)
	}
	if n := r.stdout.count("^adopted "); n != 0 {
		t.Errorf("%d orphans went to the first process, want none", n)
	}
}

// The signal by which the kernel ends a program whose parent has died is tied
// to the parent's thread: it must not come because the Go runtime ended one.
func TestParentDeathSignalComesOnlyAtDeath(t *testing.T) {
	t.Parallel()
	sandbox(t)
	r, p := below(t, setup{}, "graced", "--ready", "started", "--", "sig_logger", "15", "1", "50")
	r.ready(t)
	var watchers []*watcher
	for range 8 {
		watchers = append(watchers, r.watch("/metrics", 8*time.Millisecond))
	}
	time.Sleep(time.Duration(times(60, 3, 1)) * time.Second)
	for _, w := range watchers {
		w.end()
	}
	if n := r.stdout.count("^sig "); n != 0 || r.over() {
		t.Fatalf("the program was signalled or is gone:\n%s", r.stdout.text())
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	r.exits(t, 137, 5*time.Second)
}

// A program under graced below another one finds itself in the state that it
// would be in without: no subreaper, and in a group of its own.
func TestStateBelowAnotherFirstProcess(t *testing.T) {
	t.Parallel()
	sandbox(t)
	r := start(t, "first", "graced", "--", "probe_state")
	r.exits(t, 0, 10*time.Second)
	state := parseState(r.stdout.text())
	for name, want := range map[string]string{"subreaper": "0", "blocked": "", "ignored": "", "group": "own", "session": "inherited"} {
		if state[name] != want {
			t.Errorf("%s is %q, want %q", name, state[name], want)
		}
	}
	if state["pdeathsig"] != "9" {
		t.Errorf("pdeathsig is %q, want 9: the program must not outlive graced", state["pdeathsig"])
	}
}
