package supervisor

import (
	"fmt"
	"log/slog"
	"slices"
	"syscall"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
	"graced/signals"
)

// machine is all state of the supervisor. Only step changes it, and step
// touches neither a clock nor the host: time is an argument, what is to be
// done is returned.
type machine struct {
	plan    *plan.Plan
	started time.Time
	phase   record.Phase
	procs   []process
	hooks   []hook
	actions []Action

	// readiness
	listener      bool // a listener of the processes has been seen
	everReady     bool
	wasReady      bool // in the last snapshot, to tell of a change
	notReadySince time.Time

	// the shutdown
	t0       time.Time
	deadline time.Time // t0 + budget
	killAt   time.Time
	trigger  trigger
	came     syscall.Signal // the stop signal that started it
	cause    string
	repeats  int

	front front // the delay and the drain
	rest  rest
	kill  kill
	tidy  tidy

	phases   []record.PhaseTime
	totals   record.Totals
	overruns []record.ReportOverrun
	problems []string // for the report
	code     int
	done     bool
}

// trigger is what started a shutdown.
type trigger uint8

const (
	byNothing trigger = iota
	bySignal
	byPerson // SIGINT, where the platform does not send it
	byEnd    // the main process ended
	byFault  // graced itself is in trouble
)

// process is one process of the plan as it is now.
type process struct {
	*plan.Stopping
	state   state
	pid     int
	started time.Time
	ended   time.Time
	begun   bool // it ran once
	code    int
	killed  syscall.Signal
	id      plan.Identity
	pending []syscall.Signal // forwarded signals that came before it was there

	ladder []syscall.Signal
	rung   int       // index in ladder of the last signal sent, -1 before
	last   time.Time // when it was sent
	due    time.Time // when the next one is
	sent   []syscall.Signal
	slain  bool // graced sent SIGKILL
	deaf   bool // signals to it are refused
}

// state is where a process is in its life.
type state uint8

const (
	waiting  state = iota // for those that it starts after
	spawning              // asked for
	running
	stopping // its ladder has begun
	killing  // SIGKILL was sent
	gone
)

var stateNames = [...]string{"waiting", "starting", "running", "stopping", "killed", "exited"}

func (s state) String() string { return stateNames[s] }

// live says whether there is a process.
func (p *process) live() bool { return p.state == running || p.state == stopping || p.state == killing }

func newMachine(p *plan.Plan, now time.Time) *machine {
	m := &machine{plan: p, started: now, phase: record.Starting}
	for i := range p.Processes {
		m.procs = append(m.procs, process{Stopping: &p.Processes[i], rung: -1})
	}
	for i := range p.Hooks {
		m.hooks = append(m.hooks, hook{Hook: p.Hooks[i]})
	}
	return m
}

// step takes one event in and gives what is to be done.
func (m *machine) step(now time.Time, e Event) []Action {
	m.actions = nil
	if m.done {
		return nil
	}
	if handle := table[m.phase][e.Kind]; handle != nil {
		handle(m, now, e)
	}
	return m.actions
}

// main is the main process.
func (m *machine) main() *process { return &m.procs[m.plan.Main] }

func (m *machine) do(a Action) { m.actions = append(m.actions, a) }

// emit hands out an event with the machine's coordinates.
func (m *machine) emit(now time.Time, e record.Event) {
	e.Time = now
	e.Offset = record.Before
	if !m.t0.IsZero() {
		e.Offset = now.Sub(m.t0)
	}
	m.do(Action{Kind: Emit, Event: e})
}

// stoppingNow says whether a shutdown has started.
func (m *machine) stoppingNow() bool { return !m.t0.IsZero() }

// enter changes the phase and keeps the times.
func (m *machine) enter(now time.Time, phase record.Phase) {
	if m.stoppingNow() {
		if n := len(m.phases); n > 0 && m.phases[n-1].End.IsZero() {
			m.phases[n-1].End = now
			m.emit(now, record.Event{Kind: record.PhaseEnd, Level: slog.LevelDebug, Msg: "phase over",
				Phase: string(m.phase), Took: now.Sub(m.phases[n-1].Start)})
		}
		if phase != record.Exiting {
			m.phases = append(m.phases, record.PhaseTime{Phase: phase, Start: now})
			m.emit(now, record.Event{Kind: record.PhaseStart, Level: slog.LevelDebug, Msg: "phase begins", Phase: string(phase)})
		}
	}
	m.phase = phase
}

// overrun tells of something that was still going at its deadline.
func (m *machine) overrun(now time.Time, what record.Event, name string, due time.Time) {
	late := max(0, now.Sub(due))
	offset := due.Sub(m.t0)
	what.Kind, what.Level = record.Overrun, slog.LevelWarn
	what.Deadline, what.Late = offset, late
	m.overruns = append(m.overruns, record.ReportOverrun{What: name, Deadline: offset, Late: late})
	m.totals = m.totals.Clone()
	if m.totals.Overruns == nil {
		m.totals.Overruns = map[string]record.Overshoot{}
	}
	phase := what.Phase
	if phase == "" {
		phase = string(m.phase)
	}
	what.Phase = phase
	o := m.totals.Overruns[phase]
	m.totals.Overruns[phase] = record.Overshoot{Count: o.Count + 1, Last: late}
	m.emit(now, what)
}

// send sends sig to process i and counts it. forwarded: not a stop signal.
func (m *machine) send(i int, sig syscall.Signal, forwarded bool) {
	m.do(Action{Kind: Signal, ID: i, Signal: sig})
	if !forwarded {
		m.procs[i].sent = append(m.procs[i].sent, sig)
		return
	}
	m.totals = m.totals.Clone()
	if m.totals.SignalsForwarded == nil {
		m.totals.SignalsForwarded = map[record.Forwarded]uint64{}
	}
	m.totals.SignalsForwarded[record.Forwarded{Process: m.procs[i].Name, Signal: signals.Name(sig)}]++
}

// next is when the machine wants to be woken, zero if it does not.
func (m *machine) next() time.Time {
	var at time.Time
	want := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	for i := range m.hooks {
		if m.hooks[i].running {
			want(m.hooks[i].due)
		}
	}
	want(m.front.lookNext)
	if !m.stoppingNow() || m.done {
		return at
	}
	want(m.deadline)
	switch m.phase {
	case record.Delay:
		want(m.front.due)
		want(m.front.next)
		want(m.killAt)
	case record.Drain:
		want(m.front.due)
		want(m.killAt)
	case record.Stop:
		for i := range m.procs {
			if p := &m.procs[i]; p.state == stopping && p.rung >= 0 {
				want(p.due)
			}
		}
		want(m.killAt)
	case record.Rest:
		want(m.rest.due)
		want(m.rest.next)
		want(m.killAt)
	case record.Killing:
		want(m.kill.due)
		want(m.kill.next)
	case record.Cleanup:
		want(m.tidy.due)
	}
	return at
}

// caught takes a signal in, in any phase.
func (m *machine) caught(now time.Time, e Event) {
	name := signals.Name(e.Signal)
	m.totals = m.totals.Clone()
	if m.totals.SignalsReceived == nil {
		m.totals.SignalsReceived = map[string]uint64{}
	}
	m.totals.SignalsReceived[name]++
	m.emit(now, record.Event{Kind: record.Signal, Level: slog.LevelDebug, Msg: "signal received", Signal: name})
	if !e.Stop {
		m.forward(now, e.Signal)
		return
	}
	if !m.stoppingNow() {
		by := bySignal
		if e.Signal == syscall.SIGINT && m.plan.Platform.InterruptIsPerson() {
			by = byPerson
		}
		m.came = e.Signal
		m.begin(now, by, name)
		return
	}
	m.repeat(now, e.Signal)
}

// forward passes a signal on to the processes, rewritten as each wants it.
func (m *machine) forward(now time.Time, sig syscall.Signal) {
	for i := range m.procs {
		p := &m.procs[i]
		to := p.Rewrite.Apply(sig)
		switch {
		case to == 0:
		case p.live():
			m.pass(now, i, to)
		case (p.state == waiting || p.state == spawning) && !slices.Contains(p.pending, to):
			p.pending = append(p.pending, to)
		}
	}
}

func (m *machine) pass(now time.Time, i int, sig syscall.Signal) {
	m.send(i, sig, true)
	m.emit(now, record.Event{Kind: record.Forward, Level: slog.LevelDebug, Msg: "signal passed on",
		Process: m.procs[i].Name, Signal: signals.Name(sig)})
}

// signalFailed takes note of a signal that could not be sent. ESRCH is no
// failure: the process is gone and its exit is on its way.
func (m *machine) signalFailed(now time.Time, e Event) {
	if e.Err == syscall.ESRCH {
		return
	}
	p := &m.procs[e.ID]
	if p.deaf {
		return
	}
	p.deaf = true
	text := fmt.Sprintf("cannot send %s to process %s (pid %d): %v; it runs as another user that graced may not signal", signals.Name(e.Signal), p.Name, p.pid, e.Err)
	m.problems = append(m.problems, text)
	m.emit(now, record.Event{Kind: record.Forward, Level: slog.LevelWarn, Msg: "signal refused",
		Process: p.Name, PID: p.pid, Signal: signals.Name(e.Signal), Err: e.Err.Error()})
}

// suspended: a main that holds the terminal was stopped by a key or by its own
// reading or writing. There is no shell above that could continue it.
func (m *machine) suspended(now time.Time, e Event) {
	switch e.Signal {
	case syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU:
		if m.procs[e.ID].live() {
			m.do(Action{Kind: Continue, ID: e.ID})
		}
	}
}
