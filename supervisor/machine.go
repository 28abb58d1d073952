package supervisor

import (
	"log/slog"
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

	startCode  int // of what ended the start, if something did
	interrupts int // SIGINT that came as stop signals
	repeats    int // stop signals that came once the shutdown had started

	front front // the delay and the drain
	rest  rest
	kill  kill
	tidy  time.Time // when the post_stop hooks must be over

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
	listens bool // it was seen to, or may be the one that does
	code    int
	killed  syscall.Signal
	id      plan.Identity
	pending []syscall.Signal // forwarded signals that came before it was there

	ladder []syscall.Signal
	rung   int       // index in ladder of the last signal sent, -1 before
	due    time.Time // when the next one is
	called bool      // it was asked what the process is, past its latest time
	slain  bool      // graced sent SIGKILL
	deaf   bool      // signals to it are refused
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
	if handle := table[m.phase][e.Kind]; handle != nil && !m.done {
		handle(m, now, e)
	}
	return m.take()
}

// take hands out what is to be done, once.
func (m *machine) take() []Action {
	actions := m.actions
	m.actions = nil
	return actions
}

// main is the main process.
func (m *machine) main() *process { return &m.procs[m.plan.Main] }

func (m *machine) do(a Action) { m.actions = append(m.actions, a) }

// emit hands out an event with the machine's coordinates.
func (m *machine) emit(now time.Time, e record.Event) {
	m.do(Action{Kind: Emit, Event: m.stamped(now, e)})
}

// send sends a signal to process i. e tells of it, if it could be sent.
func (m *machine) send(now time.Time, i int, sig syscall.Signal, e record.Event) {
	e.Process, e.Signal = m.procs[i].Name, signals.Name(sig)
	m.do(Action{Kind: Signal, ID: i, Signal: sig, Rung: e.Kind == record.Escalate, Event: m.stamped(now, e)})
}

func (m *machine) stamped(now time.Time, e record.Event) record.Event {
	e.Time = now
	e.Offset = record.Before
	if !m.t0.IsZero() {
		e.Offset = now.Sub(m.t0)
	}
	return e
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

// overrun tells of something that was still going at its deadline. Before a
// shutdown what.Deadline counts from its own start.
func (m *machine) overrun(now time.Time, what record.Event, name string, due time.Time) {
	late := max(0, now.Sub(due))
	what.Kind, what.Level, what.Late = record.Overrun, slog.LevelWarn, late
	if m.stoppingNow() {
		what.Deadline = due.Sub(m.t0)
	}
	m.overruns = append(m.overruns, record.ReportOverrun{What: name, Deadline: what.Deadline, Late: late})
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

// next is when the machine wants to be woken, zero if it does not. Each time that
// is named here is dealt with by the phase's answer to Due, else the loop
// would spin; and each phase of a shutdown names one that cannot fail to come.
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
	switch m.phase {
	case record.Starting, record.Running:
		want(m.front.next)
	case record.Delay, record.Drain:
		want(m.front.due)
		want(m.front.next)
		want(m.killAt)
	case record.Stop:
		for i := range m.procs {
			switch p := &m.procs[i]; p.state {
			case running:
				want(m.latest(p))
			case stopping:
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
	}
	return at
}

// soon is e, where it is later than now; else a moment from now, so that who
// answers with a time that is over cannot make the loop spin.
func soon(now, e time.Time) time.Time {
	if e.After(now) {
		return e
	}
	return now.Add(lookEach)
}
