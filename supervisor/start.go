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

// launch is the first step: hooks that come before, then the processes that
// wait for nobody.
func (m *machine) launch(now time.Time) []Action {
	m.emit(now, record.Event{Kind: record.Start, Level: slog.LevelDebug, Msg: "graced started", Attrs: []slog.Attr{
		slog.String("grace", plan.Duration(m.plan.Grace)), slog.String("budget", plan.Duration(m.plan.Budget)), slog.String("platform", m.plan.Platform.Name)}})
	for _, w := range m.plan.Warnings {
		m.emit(now, record.Event{Kind: record.Start, Level: slog.LevelWarn, Msg: w.String()})
	}
	m.proceed(now)
	return m.take()
}

// proceed starts what is next: the pre_start hooks one by one, then each
// process whose turn it is.
func (m *machine) proceed(now time.Time) {
	if m.stoppingNow() {
		return // no process starts after t0
	}
	if !m.runHooks(now, plan.PreStart, time.Time{}) {
		return
	}
	all := true
	for i := range m.procs {
		p := &m.procs[i]
		if p.state == waiting && m.mayStart(p) {
			p.state = spawning
			m.do(Action{Kind: Spawn, ID: i})
		}
		all = all && p.state != waiting && p.state != spawning
	}
	m.front.next = m.lookNext(now)
	if all && m.phase == record.Starting {
		m.enter(now, record.Running)
		m.settle(now)
		m.front.next = m.lookNext(now)
	}
}

// lookEach is how often listeners are looked for while a process waits for one.
// A hook that waits for one may do so for long, since many programs never listen:
// it is looked for less and less often, at last each lookAtMost.
const (
	lookEach   = 100 * time.Millisecond
	lookAtMost = 5 * time.Second
)

// lookNext is when to look for a listener that nobody asked for; zero: never.
func (m *machine) lookNext(now time.Time) time.Time {
	switch {
	case m.anyAwaited():
		return now.Add(lookEach)
	case !m.everReady && m.phase == record.Running && m.hooksLeft(plan.PostReady):
		return now.Add(min(max(lookEach, now.Sub(m.started)/10), lookAtMost))
	}
	return time.Time{}
}

// mayStart says whether those that p starts after are ready. One whose
// readiness nobody described is ready once it runs.
func (m *machine) mayStart(p *process) bool {
	for _, j := range p.After {
		if dep := &m.procs[j]; !dep.begun || m.slow(dep) {
			return false
		}
	}
	return true
}

// slow says whether p is still to become ready, where that was described.
func (m *machine) slow(p *process) bool {
	return p.Ready.Set() && p.Ready.V == plan.ReadyListening && !m.seen(p)
}

// seen says whether p listens. Where nobody wrote that it should, anybody's
// listener will do: it may be a worker beside a server.
func (m *machine) seen(p *process) bool {
	if p.Ready.Set() {
		return p.listens
	}
	return m.listener
}

// awaited says whether a process waits for p, which runs or did so, to be ready.
func (m *machine) awaited(p *process) bool {
	if !p.begun || !m.slow(p) {
		return false
	}
	return slices.ContainsFunc(p.Before, func(j int) bool { return m.procs[j].state == waiting })
}

// anyAwaited says whether a process waits for a listener.
func (m *machine) anyAwaited() bool {
	for i := range m.procs {
		if m.awaited(&m.procs[i]) {
			return true
		}
	}
	return false
}

// spawned: a process runs. If a shutdown has begun meanwhile, its stop is the
// first thing that it gets.
func (m *machine) spawned(now time.Time, e Event) {
	p := &m.procs[e.ID]
	p.state, p.pid, p.started, p.begun = running, e.PID, now, true
	m.emit(now, record.Event{Kind: record.ProcessStart, Level: slog.LevelDebug, Msg: "process started", Process: p.Name, PID: e.PID})
	if m.readyMode(p) == plan.ReadyStarted {
		m.emit(now, record.Event{Kind: record.ProcessReady, Level: slog.LevelDebug, Msg: "process is ready once it runs", Process: p.Name, PID: e.PID})
	}
	for _, sig := range p.pending {
		m.pass(now, e.ID, sig)
	}
	p.pending = nil
	switch m.phase {
	case record.Delay, record.Drain:
		if !m.anyBefore() {
			m.frontOver(now) // nobody has been sent to what starts only now
		}
	case record.Stop:
		m.nextTurn(now)
	case record.Killing, record.Cleanup:
		m.slay(now, e.ID)
	default:
		m.proceed(now)
		m.settle(now)
	}
}

// anyBefore says whether a process runs that did so before the shutdown.
func (m *machine) anyBefore() bool {
	for i := range m.procs {
		if p := &m.procs[i]; p.live() && p.started.Before(m.t0) {
			return true
		}
	}
	return false
}

// notSpawned: a process could not be started. Half of what was asked for is
// not what was asked for, so everything ends.
func (m *machine) notSpawned(now time.Time, e Event) {
	p := &m.procs[e.ID]
	p.state, p.code, p.ended = gone, e.Code, now
	m.emit(now, record.Event{Kind: record.ProcessStart, Level: slog.LevelError, Msg: e.Err.Error(), Process: p.Name, Attrs: []slog.Attr{slog.Int("code", e.Code)}})
	m.problems = append(m.problems, e.Err.Error())
	switch {
	case m.stoppingNow():
		m.ended(now, e.ID)
	default:
		m.startCode = e.Code
		m.begin(now, byEnd, fmt.Sprintf("process %s could not be started", p.Name))
	}
}

// exited: a process ended.
func (m *machine) exited(now time.Time, e Event) {
	p := &m.procs[e.ID]
	p.state, p.ended, p.code, p.killed = gone, now, e.Code, e.Killed
	level := slog.LevelDebug
	if !m.stoppingNow() && !p.Main {
		level = slog.LevelWarn
	}
	event := record.Event{Kind: record.ProcessExit, Level: level, Msg: "process ended", Process: p.Name, PID: p.pid,
		Code: e.Code, Took: now.Sub(p.started)}
	if e.Killed != 0 {
		event.Signal = signals.Name(e.Killed)
		event.Attrs = append(event.Attrs, slog.Bool("core", e.Core))
	}
	m.emit(now, event)
	p.pid = 0
	if m.stoppingNow() {
		m.ended(now, e.ID)
		return
	}
	switch {
	case p.Main:
		m.begin(now, byEnd, fmt.Sprintf("process %s ended with code %d", p.Name, e.Code))
	case m.awaited(p):
		m.startCode = e.Code
		m.begin(now, byEnd, fmt.Sprintf("process %s ended with code %d before it was ready", p.Name, e.Code))
	}
}

// heard: a listener of the processes was found when somebody asked.
func (m *machine) heard(now time.Time, e Event) {
	news := !m.listener
	m.listener = true
	for i := range m.procs {
		p := &m.procs[i]
		if p.live() && !p.listens && m.readyMode(p) == plan.ReadyListening && (e.Listens == nil || e.Listens[i] || !p.Ready.Set()) {
			p.listens, news = true, true
			m.emit(now, record.Event{Kind: record.ProcessReady, Level: slog.LevelDebug, Msg: "process listens", Process: p.Name, PID: p.pid})
		}
	}
	if news {
		m.proceed(now)
		m.settle(now)
		m.front.next = m.lookNext(now)
	}
}

// readyMode is how p becomes ready.
func (m *machine) readyMode(p *process) plan.Ready { return p.Ready.Or(plan.ReadyListening) }

// startDue: the time of a hook is over, or it is time to look for the listener
// that a process waits for.
func (m *machine) startDue(now time.Time, e Event) {
	m.hooksDue(now)
	if next := m.front.next; !next.IsZero() && !now.Before(next) {
		m.front.next = time.Time{}
		m.do(Action{Kind: FindListeners})
	}
}

// found is what FindListeners found while the processes start.
func (m *machine) found(now time.Time, e Event) {
	if e.Found {
		m.heard(now, e)
	}
	m.front.next = m.lookNext(now)
}

// ready says whether readiness is 200, and if not why.
func (m *machine) ready(now time.Time) (ok bool, reason string, lookup bool) {
	if m.stoppingNow() {
		return false, m.drainReason(), false
	}
	for i := range m.procs {
		switch p := &m.procs[i]; p.state {
		case waiting, spawning:
			return false, "starting: " + p.Name + ": not started yet", false
		case gone:
			if p.Main {
				return false, fmt.Sprintf("stopping: %s: ended with code %d", p.Name, p.code), false
			}
		}
	}
	for i := range m.procs {
		if p := &m.procs[i]; m.readyMode(p) == plan.ReadyListening && !m.seen(p) {
			if m.listener {
				return false, "starting: " + p.Name + ": no listening port yet", true
			}
			return false, "starting: no listening port yet (a program without one: --ready started)", true
		}
	}
	return true, "", false
}

// drainReason says what a shutdown is doing.
func (m *machine) drainReason() string {
	switch m.phase {
	case record.Delay:
		return "draining: waiting until load balancers look away"
	case record.Drain:
		if c := m.front.look.Connections; c.Known {
			if c.Busy == 1 {
				return "draining: 1 connection busy"
			}
			return fmt.Sprintf("draining: %d connections busy", c.Busy)
		}
		return "draining"
	}
	return "stopping"
}

// settle tells of a change of readiness.
func (m *machine) settle(now time.Time) {
	ok, _, _ := m.ready(now)
	if ok == m.wasReady {
		return
	}
	m.wasReady = ok
	if ok {
		m.everReady = true
		m.runHooks(now, plan.PostReady, time.Time{})
		m.emit(now, record.Event{Kind: record.Ready, Level: slog.LevelDebug, Msg: "ready", Took: now.Sub(m.started)})
	}
}

// fault: a goroutine of graced itself panicked. What it did is lost, so graced
// ends in order, as long as it can.
func (m *machine) fault(now time.Time, e Event) {
	m.problems = append(m.problems, "fault in graced ("+e.Where+"): "+errText(e.Err))
	m.emit(now, record.Event{Kind: record.Signal, Level: slog.LevelError, Msg: "fault in graced itself; please report it", Err: errText(e.Err), Attrs: []slog.Attr{slog.String("where", e.Where)}})
	if !m.stoppingNow() {
		m.came = syscall.SIGTERM
		m.begin(now, byFault, "a fault in graced")
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
