package tests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// setup says in what surroundings a program runs. The zero value is: PID 1 of
// new namespaces with a /proc and a loopback interface, nothing on standard
// input.
type setup struct {
	enter  []string // flags of the program enter: -proc, -root, -uid, -dir, -cgroups
	under  []string // a program that executes the one under test: start_as block=15
	env    []string // nil: the PATH only
	stdin  *os.File // nil: /dev/null
	stdout *os.File // nil: it is read, see output
	stderr *os.File // nil: it is read, see log and stderr
	extra  []*os.File
	tty    *terminal     // is its terminal, in the place of stdin, stdout and stderr
	limit  time.Duration // after which everything is killed; 0: a minute
}

// running is what runs in the namespaces. Its pid is that of their first
// process, seen from outside.
type running struct {
	pid     int
	process *os.Process // stands for the process, not its number, which may be another's after its end
	began   time.Time   // when the program was executed
	stdout  *stream
	stderr  *stream
	network *os.File // its network namespace

	done  chan struct{} // closed when it is over
	ended time.Time
	state *os.ProcessState
	hung  atomic.Bool // it was killed for being over its limit
}

// start runs a program and has it killed at the end of the test.
func (s setup) start(t testing.TB, argv ...string) *running {
	t.Helper()
	r, err := launch(s, argv...)
	if err != nil {
		t.Fatalf("cannot start %q: %v", argv, err)
	}
	t.Cleanup(func() {
		r.kill()
		if t.Failed() {
			t.Logf("%q\nstdout:\n%s\nstderr:\n%s", argv, tail(r.stdout.text()), tail(r.stderr.text()))
		}
	})
	return r
}

// start runs a program in the usual surroundings.
func start(t testing.TB, argv ...string) *running {
	t.Helper()
	return setup{}.start(t, argv...)
}

func tail(text string) string {
	const most = 6000
	if len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}

// spawner starts every process of the sandboxes. They are to die with the
// tests, however those end: SIGKILL comes when the thread that started them
// ends (prctl(2), PR_SET_PDEATHSIG), so this one never does.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// launch runs argv as PID 1. It comes back when the program has been executed.
func launch(s setup, argv ...string) (*running, error) {
	r := &running{stdout: new(stream), stderr: new(stream), done: make(chan struct{})}
	argv = append(slices.Clone(s.under), argv...)
	if path, err := exec.LookPath(argv[0]); err == nil && !slices.Contains(s.enter, "-root") {
		argv[0] = path // the environment may have no PATH
	}
	cmd := exec.Command(filepath.Join(bin, "enter"), append(append(slices.Clone(s.enter), "--"), argv...)...)
	cmd.Env = s.env
	if cmd.Env == nil {
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
	}
	report, reportIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer report.Close()
	cmd.ExtraFiles = append([]*os.File{reportIn}, s.extra...)
	closing := []*os.File{reportIn}
	var readers []func()
	connect := func(given *os.File, into *stream) *os.File {
		if given != nil || err != nil {
			return given
		}
		var out, in *os.File
		if out, in, err = os.Pipe(); err != nil {
			return nil
		}
		closing = append(closing, in)
		readers = append(readers, func() { into.readFrom(out) })
		return in
	}
	if s.tty != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = s.tty.slave, s.tty.slave, s.tty.slave
		cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
		r.stdout = s.tty.screen
	} else {
		if s.stdin != nil {
			cmd.Stdin = s.stdin
		}
		cmd.Stdout, cmd.Stderr = connect(s.stdout, r.stdout), connect(s.stderr, r.stderr)
	}
	started := make(chan error)
	spawner() <- func() { started <- cmd.Start() }
	if e := <-started; err == nil {
		err = e
	}
	for _, f := range closing {
		f.Close()
	}
	if err != nil {
		return nil, err
	}
	var readings sync.WaitGroup
	for _, read := range readers {
		readings.Go(read)
	}
	trouble, _ := io.ReadAll(report)
	r.began, r.process, r.pid = time.Now(), cmd.Process, cmd.Process.Pid
	r.network, _ = os.Open(fmt.Sprintf("/proc/%d/ns/net", r.pid))
	limit := s.limit
	if limit == 0 {
		limit = time.Minute
	}
	timer := time.AfterFunc(limit, func() {
		r.hung.Store(true)
		_ = cmd.Process.Kill()
	})
	go func() {
		_ = cmd.Wait()
		r.ended, r.state = time.Now(), cmd.ProcessState
		timer.Stop()
		readings.Wait() // the namespace is gone, and with it all who could write
		close(r.done)
	}()
	if len(trouble) > 0 {
		<-r.done
		return nil, errors.New(string(trouble))
	}
	return r, nil
}

func (r *running) kill() {
	_ = r.process.Kill() // it may have ended
	<-r.done
	r.network.Close()
}

// signal sends sig to the first process, as a platform does: from outside.
func (r *running) signal(t testing.TB, sig syscall.Signal) time.Time {
	t.Helper()
	select {
	case <-r.done:
		t.Fatalf("it has ended already, with %s", r.state)
	default:
	}
	now := time.Now()
	if err := r.process.Signal(sig); err != nil {
		t.Fatalf("cannot send %v: %v", sig, err)
	}
	return now
}

// wait gives the exit code, as a shell says it: 128+N for signal N.
func (r *running) wait(t testing.TB, within time.Duration) int {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(within):
		t.Fatalf("it has not ended within %v", within)
	}
	if r.hung.Load() {
		t.Fatal("it hung and was killed")
	}
	status := r.state.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// over says whether it has ended.
func (r *running) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// exits checks the exit code.
func (r *running) exits(t testing.TB, code int, within time.Duration) {
	t.Helper()
	if got := r.wait(t, within); got != code {
		t.Fatalf("exit code %d, want %d", got, code)
	}
}

// prints waits until standard output matches pattern and gives the match.
func (r *running) prints(t testing.TB, pattern string, within time.Duration) []string {
	t.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	var match []string
	eventually(within, func() bool {
		over := r.over() // before the look: nothing comes after it
		match = re.FindStringSubmatch(r.stdout.text())
		return match != nil || over
	})
	if match == nil {
		t.Fatalf("nothing on standard output matches %q within %v; it has:\n%s", pattern, within, tail(r.stdout.text()))
	}
	return match
}

// stream keeps what a program writes, with the time of each line.
type stream struct {
	mu    sync.Mutex
	data  bytes.Buffer
	lines []timed
}

type timed struct {
	at   time.Time
	text string
}

func (s *stream) readFrom(f *os.File) {
	defer f.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := f.Read(buf)
		s.add(buf[:n])
		if err != nil {
			return
		}
	}
}

func (s *stream) add(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for part := range bytes.SplitAfterSeq(data, []byte("\n")) {
		if len(part) == 0 {
			continue
		}
		if n := len(s.lines); n > 0 && !strings.HasSuffix(s.lines[n-1].text, "\n") {
			s.lines[n-1].text += string(part)
		} else {
			s.lines = append(s.lines, timed{now, string(part)})
		}
	}
	s.data.Write(data)
}

func (s *stream) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data.String()
}

// match waits for pattern, which may span lines.
func (s *stream) match(pattern string, within time.Duration) ([]string, bool) {
	re := regexp.MustCompile("(?m)" + pattern)
	var match []string
	ok := eventually(within, func() bool {
		match = re.FindStringSubmatch(s.text())
		return match != nil
	})
	return match, ok
}

// at is when the first line that matches pattern was written.
func (s *stream) at(t testing.TB, pattern string) time.Time {
	t.Helper()
	re := regexp.MustCompile(pattern)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		if re.MatchString(line.text) {
			return line.at
		}
	}
	t.Fatalf("no line matches %q", pattern)
	return time.Time{}
}

// count counts the matches of pattern.
func (s *stream) count(pattern string) int {
	return len(regexp.MustCompile("(?m)"+pattern).FindAllString(s.text(), -1))
}

// process stands for a process that is not the test's own child. Its number
// may soon be another's, thousands are used in a test; a descriptor is not.
func process(t testing.TB, pid int) *os.Process {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Release() })
	return p
}

// childrenOf reads the children of a process, whichever thread made them.
func childrenOf(pid int) []int {
	var pids []int
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range tasks {
		data, _ := os.ReadFile(path)
		for _, word := range strings.Fields(string(data)) {
			if n, err := strconv.Atoi(word); err == nil {
				pids = append(pids, n)
			}
		}
	}
	slices.Sort(pids)
	return pids
}
