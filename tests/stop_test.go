package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A program that ignores every signal, under a platform that gives ten
// seconds: graced kills it before the platform would, and tells so, whatever
// goes on around it.
const (
	usualGrace  = 10 * time.Second
	usualBudget = 9 * time.Second // less the margin
	usualKill   = usualBudget - 500*time.Millisecond
)

// condition is what makes it hard to be in time.
type condition struct {
	name string
	// prepare changes the surroundings. What it returns runs beside the stop.
	prepare func(t *testing.T, s *setup) (meanwhile func(t *testing.T, r *running))
	busy    int // processes beside it, from before the stop to its end
	program []string
	alone   bool // it disturbs whatever runs beside it
	late    bool // the platform may be faster, twice in twenty
	mute    bool // standard error cannot be read
	exact   bool // nothing disturbs it
	once    bool // it is tried once only, if not in a long run: what it says of being late counts
}

var conditions = []condition{
	{name: "plain", exact: true},
	{name: "a full pipe as standard error", mute: true, prepare: fullPipe},
	{name: "200 busy processes beside it", alone: true, late: true, busy: 200},
	{name: "five percent of a processor", alone: true, late: true, prepare: smallQuota},
	{name: "frozen for three seconds", late: true, prepare: frozen},
	{name: "stopped for three seconds", late: true, prepare: stopped},
	{name: "a hog inside", program: []string{"sh", "-c", "cpu_hog 8 40 & exec ignore_term 50"}, alone: true, late: true},
	{name: "five percent of a processor and a hog inside", program: []string{"sh", "-c", "cpu_hog 8 40 & exec ignore_term 50"}, alone: true, late: true, once: true, prepare: smallQuota},
}

func TestIgnoringProgramIsKilledInTime(t *testing.T) {
	sandbox(t)
	for _, c := range conditions {
		t.Run(c.name, func(t *testing.T) {
			n := times(20, 2, 1)
			if c.once {
				n = times(20, 1, 1)
			}
			if !c.alone {
				t.Parallel()
			}
			inTime := 0
			for range n {
				if killedInTime(t, c) {
					inTime++
				}
			}
			allowed := 0
			if c.late {
				allowed = max(1, n/10)
			}
			if late := n - inTime; late > allowed {
				t.Errorf("%d of %d were later than the platform", late, n)
			}
		})
	}
}

// killedInTime makes one stop and says whether graced was gone before the
// platform would have killed it. If not, exactly one overrun must say how late.
func killedInTime(t *testing.T, c condition) bool {
	s := setup{limit: 40 * time.Second}
	var meanwhile func(*testing.T, *running)
	if c.prepare != nil {
		meanwhile = c.prepare(t, &s)
	}
	program := c.program
	if program == nil {
		program = []string{"ignore_term", "50"}
	}
	report := filepath.Join(t.TempDir(), "report")
	r := s.start(t, append([]string{"graced", "--grace", "10s", "--report", report, "--"}, program...)...)
	defer r.kill()
	ready := "^ready"
	if c.program != nil { // the hog beside it says so too
		ready = "(?s)^ready.*^ready"
	}
	r.prints(t, ready, 20*time.Second)
	defer beside(t, c.busy)()
	began := r.signal(t, syscall.SIGTERM)
	if meanwhile != nil {
		meanwhile(t, r)
	}
	r.exits(t, 137, 25*time.Second)
	took := r.ended.Sub(began)
	if took < 7*time.Second {
		t.Errorf("the program had %v only", took)
	}
	if c.exact {
		killedAt(t, took, usualKill)
	}
	if n := r.stdout.count("^got 15$"); n != 1 {
		t.Errorf("the program got %d SIGTERM, want 1", n)
	}
	if data, err := os.ReadFile(report); err != nil || !strings.Contains(string(data), `"code":137`) || !strings.Contains(string(data), `"overruns":[`) {
		t.Errorf("the report is %q (%v)", data, err)
	}
	if !c.mute {
		r.logsExactly(t, 1, "event=overrun", "level=WARN", "process=.+")
		if overruns := r.logged("event=overrun", "process=.+"); len(overruns) > 0 {
			deadline := overruns[0].duration(t, "deadline")
			late := time.Duration(0)
			if overruns[0].field("late") != "" {
				late = overruns[0].duration(t, "late")
			}
			if deadline > usualBudget || deadline+late > took+100*time.Millisecond {
				t.Errorf("overrun with deadline %v, late %v, in a stop of %v", deadline, late, took)
			}
		}
		r.logsExactly(t, 1, "event=shutdown_end", "code=137")
	}
	if took < usualGrace {
		return true
	}
	t.Logf("it took %v", took)
	return false
}

// killedAt checks when SIGKILL came, by the end that it made: at its time, with
// room for a noisy machine.
func killedAt(t *testing.T, took, want time.Duration) {
	t.Helper()
	if took < want-300*time.Millisecond || took > want+500*time.Millisecond {
		t.Errorf("SIGKILL came after %v, want %v", took, want)
	}
}

func fullPipe(t *testing.T, s *setup) func(*testing.T, *running) {
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close(); in.Close() })
	_ = in.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
	for {
		if _, err := in.Write(make([]byte, 4096)); err != nil {
			break // full
		}
	}
	if err := syscall.SetNonblock(int(in.Fd()), false); err != nil { // as a log daemon's pipe is
		t.Fatal(err)
	}
	s.stderr = in
	return func(t *testing.T, r *running) {
		// readiness is answered as ever
		r.answers(t, "/readyz", 503, time.Second)
	}
}

// beside runs n processes that take all the processor time they get, for half a
// minute at most.
func beside(t *testing.T, n int) (end func()) {
	if n == 0 {
		return func() {}
	}
	hog, err := launch(setup{}, "cpu_hog", fmt.Sprint(n), "30")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hog.kill)
	hog.prints(t, "^ready", 20*time.Second)
	return hog.kill
}

func smallQuota(t *testing.T, s *setup) func(*testing.T, *running) {
	group := newCgroup(t, "cpu")
	s.enter = in(group)
	return func(t *testing.T, r *running) { group.limitCPU(t, 5) }
}

func frozen(t *testing.T, s *setup) func(*testing.T, *running) {
	group := newCgroup(t, "freezer")
	s.enter = in(group)
	return func(t *testing.T, r *running) {
		time.Sleep(2 * time.Second)
		group.freeze(t, true)
		time.Sleep(3 * time.Second)
		group.freeze(t, false)
	}
}

func stopped(t *testing.T, _ *setup) func(*testing.T, *running) {
	return func(t *testing.T, r *running) {
		var all []*os.Process
		for _, pid := range childrenOf(r.pid) {
			all = append(all, process(t, pid))
		}
		all = append(all, r.process)
		time.Sleep(2 * time.Second)
		for _, p := range all {
			_ = p.Signal(syscall.SIGSTOP)
		}
		time.Sleep(3 * time.Second)
		slices.Reverse(all)
		for _, p := range all {
			_ = p.Signal(syscall.SIGCONT)
		}
	}
}

// A freeze over the deadline: at the thaw what is due comes at once, and is told.
func TestThawAfterTheDeadline(t *testing.T) {
	t.Parallel()
	sandbox(t)
	group := newCgroup(t, "freezer")
	r := setup{enter: in(group)}.start(t, "graced", "--grace", "3s", "--", "ignore_term", "50")
	r.prints(t, "^ready", 10*time.Second)
	r.signal(t, syscall.SIGTERM)
	r.prints(t, "^got 15", 5*time.Second)
	group.freeze(t, true)
	time.Sleep(3500 * time.Millisecond)
	thawed := time.Now()
	group.freeze(t, false)
	r.exits(t, 137, 5*time.Second)
	if took := r.ended.Sub(thawed); took > time.Second {
		t.Errorf("it took %v after the thaw", took)
	}
	late := r.logged("event=overrun")
	if len(late) == 0 || late[0].duration(t, "late") < time.Second {
		t.Errorf("no overrun tells how late it is: %v", late)
	}
	r.logsExactly(t, 1, "event=shutdown_end", "level=WARN", "late=.+")
}

// A whole stop costs graced little, its program's end and its own included.
func TestStopIsCheap(t *testing.T) {
	t.Parallel()
	sandbox(t)
	r := start(t, "graced", "--grace", "3s", "--", "ignore_term", "50")
	r.prints(t, "^ready", 10*time.Second)
	before := processorTime(t, r.pid)
	r.signal(t, syscall.SIGTERM)
	r.exits(t, 137, 10*time.Second)
	used := r.state.UserTime() + r.state.SystemTime() - before
	t.Logf("it used %v", used)
	if used > 50*time.Millisecond {
		t.Errorf("it used %v, want 50ms at most", used)
	}
}

// Order: the process first, what it leaves behind after its end.
func TestWorkersAreToldAfterTheirMaster(t *testing.T) {
	t.Parallel()
	sandbox(t)
	r := start(t, "graced", "--", "slow_workers", "3", "0", "group")
	r.prints(t, "^ready$", 10*time.Second)
	r.signal(t, syscall.SIGTERM)
	r.exits(t, 5, 10*time.Second)
	text := r.stdout.text()
	if left := strings.Index(text, "leaving"); left < 0 || strings.Contains(text[:left], "term ") {
		t.Errorf("a worker was told before its master had gone:\n%s", text)
	}
}

// A burst of stop signals in each phase changes nothing, and nothing breaks.
func TestStopSignalsInEveryPhase(t *testing.T) {
	t.Parallel()
	sandbox(t)
	r := start(t, "graced", "--grace", "6s", "--delay", "500ms", "--", "sh", "-c", "slow_workers 2 15 session & exec ignore_term 50")
	r.prints(t, "^ready ", 10*time.Second)
	r.up(t)
	began := r.signal(t, syscall.SIGTERM)
	r.logs(t, 5*time.Second, "event=shutdown_start")
	_ = r.process.Signal(syscall.SIGINT) // one: a second one would be a person who wants it over
	for !r.over() {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGQUIT, 37, syscall.SIGTERM} {
			_ = r.process.Signal(sig)
		}
		time.Sleep(20 * time.Millisecond)
		if time.Since(began) > 12*time.Second {
			t.Fatal("it does not end")
		}
	}
	r.exits(t, 137, time.Second)
	if took := r.ended.Sub(began); took < 4*time.Second || took > 6*time.Second {
		t.Errorf("it took %v, want as long as without them: about 5s", took)
	}
	if n := r.stdout.count("^got 15$"); n != 1 {
		t.Errorf("the program got %d SIGTERM, want 1", n)
	}
	r.logsExactly(t, 1, "event=shutdown_start")
	r.logsExactly(t, 1, "event=shutdown_end")
	r.logsExactly(t, 1, "event=signal", "level=INFO")
}
