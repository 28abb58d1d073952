package tests

import (
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The first rule of graced: `graced -- X` is never worse than `tini -- X`. So
// both run the same programs in the same states, and what comes out is
// compared. What differs on purpose stands in tables with the reason, and in
// the README under "Coming from tini".

// state is a state in which somebody may start a container's first process.
type state struct {
	name  string
	under []string // words for start_as
	// differs has the lines of probe_state that graced may change. A line that is
	// here and does not differ is an error too.
	differs map[string]onPurpose
	// tiniFails: tini does not start here, so that the program without any first
	// process is what graced is compared with.
	tiniFails bool
	// files: standard output and error are files, the same ones for both.
	files bool
}

// onPurpose is what a line is under graced, as a pattern, and why.
type onPurpose struct{ is, why string }

var (
	ownGroup  = onPurpose{"own", "a process leads a group of its own, under tini too"}
	noDeath   = onPurpose{"0", "the first process of a test's sandbox has a signal for its parent's end, graced's program has none"}
	devNull   = onPurpose{nullState(), "the Go runtime opens /dev/null where one of the three is closed"}
	unblocked = onPurpose{"", "a program that cannot be told to stop would be killed; the Go runtime unblocks them"}
	defaulted = onPurpose{"", "the Go runtime has replaced these dispositions before any code of graced runs"}
)

// nullState is what probe_state says of an open /dev/null, but for its flags.
func nullState() string {
	var st syscall.Stat_t
	if err := syscall.Stat("/dev/null", &st); err != nil {
		return "there is no /dev/null"
	}
	return fmt.Sprintf("flags=[0-7]*2 type=20000 dev=%x ino=%d", st.Dev, st.Ino)
}

var states = []state{
	{name: "plain"},
	{name: "output and errors go to files", files: true},
	{name: "signals blocked that a program can do without", under: []string{"block=10,12,14"}},
	{name: "stop signals blocked", under: []string{"block=1,2,3,15,17"}, differs: map[string]onPurpose{"blocked": unblocked}},
	{name: "as nohup(1) and background jobs leave it", under: []string{"ignore=1,2"}},
	{name: "terminal stops ignored", under: []string{"ignore=20,21,22"}},
	{name: "SIGPIPE and others ignored", under: []string{"ignore=3,13,15"}, differs: map[string]onPurpose{"ignored": defaulted}},
	{name: "a low limit of open files", under: []string{"nofile=512"}},
	{name: "a limit of open files that select(2) needs", under: []string{"nofile=1024"}},
	{name: "no cores", under: []string{"core=0"}},
	{name: "a mask for files", under: []string{"umask=077"}},
	{name: "a lower priority", under: []string{"nice=5"}},
	{name: "standard input closed", under: []string{"close=0"}, tiniFails: true, differs: map[string]onPurpose{
		"fd0": devNull, "group": ownGroup, "pdeathsig": noDeath,
	}},
	{name: "standard input and error closed", under: []string{"close=0", "close=2"}, tiniFails: true, differs: map[string]onPurpose{
		"fd0": devNull, "fd2": devNull, "group": ownGroup, "pdeathsig": noDeath,
	}},
	// the settings of a Go runtime are the program's: graced executes itself anew
	// without them, and what it was started with must come through that
	{name: "an odd environment", under: []string{"environ=odd"}},
	{name: "an odd environment and a low limit of open files", under: []string{"environ=odd", "nofile=512"}},
	{name: "an odd environment and ignored signals", under: []string{"environ=odd", "ignore=1,2"}},
	{name: "an odd environment and blocked signals", under: []string{"environ=odd", "block=10,12,14"}},
	{name: "everything odd", files: true, under: []string{"environ=odd", "nofile=1024", "ignore=1,2,20,21,22", "block=10,12,14", "core=0", "umask=077", "nice=5"}},
}

// TestTiniStartsTheProgramInTheSameState compares everything that a process
// inherits: signals, limits, descriptors, folder, ids, groups, arguments,
// environment byte by byte.
func TestTiniStartsTheProgramInTheSameState(t *testing.T) {
	t.Parallel()
	sandbox(t)
	need(t, "tini")
	regular, err := os.OpenFile(filepath.Join(t.TempDir(), "file"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer regular.Close()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	output, errors := filepath.Join(t.TempDir(), "output"), filepath.Join(t.TempDir(), "errors")
	for _, s := range states {
		t.Run(s.name, func(t *testing.T) {
			observe := func(init ...string) map[string]string {
				surroundings := setup{under: append([]string{"start_as"}, s.under...), extra: []*os.File{regular, in}, stdin: in, enter: []string{"-dir", "/usr/lib"}}
				if s.files {
					surroundings.stdout, surroundings.stderr = emptied(t, output), emptied(t, errors)
				}
				r := surroundings.start(t, append(init, which(t, "probe_state"), "", "two words", "\xff\n", "--", "-v")...)
				r.exits(t, 0, 10*time.Second)
				stdout, stderr := r.stdout.text(), r.stderr.text()
				if s.files {
					stdout, stderr = content(t, output), content(t, errors)
				} else {
					stdout = pipesOfTheTest.ReplaceAllString(stdout, "$1")
				}
				if stderr != "" {
					t.Errorf("%s: on standard error: %q", init, stderr)
				}
				return parseState(stdout)
			}
			got := observe(graced, "--")
			var want map[string]string
			if s.tiniFails {
				want = observe()
			} else {
				want = observe(which(t, "tini"), "--")
			}
			var different []string
			for _, name := range slices.Sorted(maps.Keys(merged(want, got))) {
				if want[name] != got[name] {
					different = append(different, name)
					if _, known := s.differs[name]; !known {
						t.Errorf("%s: %s under tini, %s under graced", name, shownState(want[name]), shownState(got[name]))
					}
				}
			}
			for name, d := range s.differs {
				if !slices.Contains(different, name) {
					t.Errorf("%s does not differ any more: take it out of the table and the README", name)
				}
				if !regexp.MustCompile("^(?:" + d.is + ")$").MatchString(got[name]) {
					t.Errorf("%s is %q, want %q: %s", name, got[name], d.is, d.why)
				}
			}
		})
	}
}

// which gives a program's path, where the environment has no PATH for it.
func which(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func merged(a, b map[string]string) map[string]string {
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}

// pipesOfTheTest are standard output and error where the test reads them: another
// two in each run.
var pipesOfTheTest = regexp.MustCompile(`(?m)^(fd[12] .*type=10000).*`)

// emptied opens a file anew.
func emptied(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// parseState reads what probe_state says.
func parseState(text string) map[string]string {
	m := map[string]string{}
	n := 0
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		if name == "env" {
			name = fmt.Sprintf("env%03d", n)
			n++
		}
		m[name] = value
	}
	return m
}

// shownState makes hexadecimal readable.
func shownState(value string) string {
	if data, err := hex.DecodeString(value); err == nil && len(data) > 0 {
		return fmt.Sprintf("%q", data)
	}
	return fmt.Sprintf("%q", value)
}

// ending is how a program ends, and what is done to it meanwhile.
type ending struct {
	program []string
	// signal is sent once it says "ready".
	signal syscall.Signal
	// differs is why the code is another than tini's, code which one it is.
	differs string
	code    int
}

var endings = []ending{
	{program: []string{"die", "exit", "0"}},
	{program: []string{"die", "exit", "7"}},
	{program: []string{"die", "exit", "125"}},
	{program: []string{"die", "exit", "255"}},
	{program: []string{"die", "sig", "1"}},
	{program: []string{"die", "sig", "2"}},
	{program: []string{"die", "sig", "6"}},
	{program: []string{"die", "sig", "9"}},
	{program: []string{"die", "sig", "11"}},
	{program: []string{"die", "sig", "13"}},
	{program: []string{"die", "sig", "15"}},
	{program: []string{"die", "sig", "36"}},
	{program: []string{"die", "core", "11"}},
	{program: []string{"die", "term", "9"}, signal: syscall.SIGTERM},
	{program: []string{"exit_race", "42", "64"}},
	{program: []string{"hold_stdout", "20", "3"}},
	{program: []string{"orphan_storm", "200", "50", "4", "100"}},
	{program: []string{"daemonize", "0"}},
	{program: []string{"reexec_self", "exec", "3"}, signal: syscall.SIGTERM},
	{program: []string{"slow_workers", "2", "0", "patient"}, signal: syscall.SIGTERM},
	{program: []string{"sig_logger", "15", "1", "20"}, signal: syscall.SIGTERM},
	{program: []string{"sig_logger", "2", "1", "20"}, signal: syscall.SIGINT},
	{program: []string{"sig_logger", "3", "1", "20"}, signal: syscall.SIGQUIT},
	{program: []string{"sig_logger", "10", "1", "20"}, signal: syscall.SIGUSR1},
	{program: []string{"sig_logger", "36", "1", "20"}, signal: 36},
	{program: []string{"http_abrupt", "8080"}, signal: syscall.SIGTERM},
	{program: []string{"http_slow", "8080"}, signal: syscall.SIGTERM},
	{program: []string{"http_stream", "8080"}, signal: syscall.SIGTERM},
	{program: []string{"kill_around", "group", "15", "0"}},
	{program: []string{"cpu_hog", "2", "0"}},
	{program: []string{"fork_tree", "50", "0", "obey", "group"}},
	{program: []string{"pipe_break", "reader", "1"}},
	{program: []string{"slow_boot", "8080", "0", "0", "crash"}},
	{program: []string{"become_uid", "0", "20"}, signal: syscall.SIGTERM},
	{program: []string{"tty_child", "0"}},
	{program: []string{"sh", "-c", "exit 12"}},
	{program: []string{"sh", "-c", "kill -KILL $$"}},
	{program: []string{"sleep", "0"}},
	{program: []string{"no-such-program"}},
	{program: []string{"./missing"}},
	{program: []string{"./a_directory"}},
	{program: []string{"./not_executable"}},
	{program: []string{"./bad_interpreter"}},
	{program: []string{"./carriage_return"}},
	{program: []string{"./no_first_line"}},
	{program: []string{"./empty_file"}},
	{program: []string{"./loop_a"}, differs: "it is there and cannot be run: 126, as shells say", code: 126},
	{program: []string{"./not_executable/below"}, differs: "the same", code: 126},
	{program: []string{"./" + strings.Repeat("n", 300)}, differs: "the same", code: 126},
}

// TestTiniGivesTheSameCodes runs each program under both. graced says nothing
// that tini would not, but why a program could not be started.
func TestTiniGivesTheSameCodes(t *testing.T) {
	t.Parallel()
	sandbox(t)
	need(t, "tini")
	dir := t.TempDir()
	badPrograms(t, dir)
	// the first process and the program must agree on what is left over;
	// silence is only promised where nobody asked for a stop
	for _, e := range endings {
		t.Run(strings.Join(e.program, " "), func(t *testing.T) {
			under := func(init ...string) (int, *running) {
				r := setup{enter: []string{"-dir", dir}}.start(t, append(append(init, "--"), e.program...)...)
				if e.signal != 0 {
					r.prints(t, "^ready", 10*time.Second)
					r.signal(t, e.signal)
				}
				return r.wait(t, 15*time.Second), r
			}
			want, _ := under("tini")
			got, r := under("graced", "--log-level", "warn")
			if e.differs != "" {
				if want == e.code {
					t.Errorf("tini says %d too: it does not differ", want)
				}
				want = e.code
			}
			if got != want {
				t.Errorf("code %d, want %d", got, want)
			}
			if text := r.stderr.text(); text != "" && got != 126 && got != 127 {
				t.Errorf("standard error has %q", text)
			}
		})
	}
}

// badPrograms fills dir with programs that cannot be started, each for another
// reason.
func badPrograms(t *testing.T, dir string) {
	t.Helper()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("not_executable", "#!/bin/sh\n", 0o644)
	write("bad_interpreter", "#!/no/such/interpreter\n", 0o755)
	write("carriage_return", "#!/bin/sh\r\nexit 0\r\n", 0o755)
	write("no_first_line", "exit 17\n", 0o755)
	write("empty_file", "", 0o755)
	// an ELF header for a big-endian machine that this is not, then zeros
	write("wrong_machine", "\x7fELF\x02\x02\x01"+strings.Repeat("\x00", 9)+"\x00\x02\x00\x16"+strings.Repeat("\x00", 200), 0o755)
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "a_directory"), 0o755),
		os.Symlink("loop_b", filepath.Join(dir, "loop_a")),
		os.Symlink("loop_a", filepath.Join(dir, "loop_b")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestProgramsThatCannotBeStarted: the code says what kind of mistake it is, the
// message the file and the reason; it comes at once and readiness was never 200.
func TestProgramsThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	sandbox(t)
	dir := t.TempDir()
	badPrograms(t, dir)
	for _, bad := range []struct {
		program string
		code    int
		message string // of the log, a pattern
	}{
		{"no-such-program", 127, `no-such-program`},
		{"./missing", 127, `./missing.*no such file`},
		{"./a_directory", 126, `./a_directory.*directory`},
		{"./not_executable", 126, `./not_executable.*not executable`},
		{"./bad_interpreter", 127, `./bad_interpreter.*/no/such/interpreter`},
		{"./carriage_return", 127, `./carriage_return.*/bin/sh\\*r.*carriage return`},
		{"./wrong_machine", 126, `./wrong_machine.*another machine.*(?i:s390)`},
		{"./loop_a", 126, `./loop_a`},
		{"./not_executable/below", 126, `./not_executable/below`},
	} {
		t.Run(bad.program, func(t *testing.T) {
			r := setup{enter: []string{"-dir", dir}}.start(t, "graced", "--", bad.program)
			r.exits(t, bad.code, 5*time.Second)
			if took := r.ended.Sub(r.began); took > time.Second {
				t.Errorf("it took %v", took)
			}
			if !regexp.MustCompile(bad.message).MatchString(r.stderr.text()) {
				t.Errorf("the message is %q", r.stderr.text())
			}
			if n := strings.Count(r.stderr.text(), "\n"); n != 1 {
				t.Errorf("%d lines, want 1: %q", n, r.stderr.text())
			}
		})
	}
	t.Run("what a shell runs", func(t *testing.T) {
		for name, code := range map[string]int{"./no_first_line": 17, "./empty_file": 0} {
			setup{enter: []string{"-dir", dir}}.start(t, "graced", "--", name).exits(t, code, 5*time.Second)
		}
	})
}

// A program finds its PATH as tini would: that of the container.
func TestProgramIsFoundInThePathOfTheContainer(t *testing.T) {
	t.Parallel()
	sandbox(t)
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(sh, filepath.Join(dir, "only-here")); err != nil {
		t.Fatal(err)
	}
	r := setup{env: []string{"PATH=/nowhere:" + dir}}.start(t, "graced", "--", "only-here", "-c", "exit 5")
	r.exits(t, 5, 5*time.Second)
}
