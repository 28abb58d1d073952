package supervisor

import (
	"log/slog"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
	"graced/signals"
)

// front is what comes before the first stop signal: delay and drain.
type front struct {
	due  time.Time // the ceiling of the phase
	next time.Time // when to look again

	knowsListeners bool // FindListeners has answered
	look           Look // the last one of the drain
	saidFallback   bool
	decided        bool // the drain knows what it waits for
	until          plan.Drain
	over           bool // nothing is waited for but the pre_stop hooks
}

// findWithin bounds how long a shutdown waits for FindListeners. The dump takes
// microseconds; an answer that does not come is taken for "there is one".
const findWithin = 300 * time.Millisecond

// begin starts the shutdown. It latches: nothing later moves a deadline.
func (m *machine) begin(now time.Time, by trigger, cause string) {
	m.t0, m.trigger, m.cause = now, by, cause
	m.deadline, m.killAt = now.Add(m.plan.Budget), now.Add(m.plan.KillAt)
	m.front = front{} // what a start that is under way looked for
	if m.notReadySince.IsZero() {
		m.notReadySince = now
	}
	if by != byEnd {
		m.emit(now, record.Event{Kind: record.ShutdownStart, Level: slog.LevelInfo, Msg: "shutdown starts", Signal: m.cameName(), Attrs: []slog.Attr{
			slog.String("cause", cause), slog.String("grace", m.graceText()), slog.String("budget", plan.Duration(m.plan.Budget))}})
		m.do(Action{Kind: WriteReport, Report: m.report(now)})
	}
	m.emit(now, record.Event{Kind: record.NotReady, Level: slog.LevelDebug, Msg: "not ready"})
	m.wasReady = false
	m.stopStartHooks(now)
	m.enterDelay(now)
}

func (m *machine) cameName() string {
	if m.came == 0 {
		return ""
	}
	return signals.Name(m.came)
}

// graceText says how long the grace is and whether somebody gave it.
func (m *machine) graceText() string {
	text := plan.Duration(m.plan.Grace)
	if m.plan.Assumed() {
		text += " (assumed; --grace sets it)"
	}
	return text
}

// enterDelay waits until load balancers look away, if there is anything to
// look away from.
func (m *machine) enterDelay(now time.Time) {
	m.enter(now, record.Delay)
	if m.anyBegun() {
		m.runHooks(now, plan.PreStop, m.t0.Add(m.plan.Front))
	} else {
		m.skipHooks(plan.PreStop) // there is nothing that could be prepared for its stop
	}
	if m.trigger == byEnd || m.anyLive() == 0 {
		m.frontOver(now)
		return
	}
	// What the delay and the drain depend on: does anything listen?
	m.front.due = now.Add(findWithin)
	m.do(Action{Kind: FindListeners})
}

// anyLive counts the processes that run or are about to.
func (m *machine) anyLive() int {
	n := 0
	for i := range m.procs {
		if p := &m.procs[i]; p.live() || p.state == spawning {
			n++
		}
	}
	return n
}

// anyBegun says whether a process runs, did so or is about to.
func (m *machine) anyBegun() bool {
	for i := range m.procs {
		if p := &m.procs[i]; p.begun || p.state == spawning {
			return true
		}
	}
	return false
}

// listeners: it is known whether the processes listen on a TCP port.
func (m *machine) listeners(now time.Time, e Event) {
	if m.front.knowsListeners || m.front.over {
		return
	}
	m.front.knowsListeners = true
	if e.Found && m.allBegun() {
		m.listener = true // nobody had asked for readiness; it would have been 200
	}
	m.chooseDelay(now, e.Found)
}

// allBegun says whether everything had been started when the shutdown began:
// only then would a listener have made graced ready.
func (m *machine) allBegun() bool {
	for i := range m.procs {
		if !m.procs[i].begun {
			return false
		}
	}
	return true
}

// chooseDelay decides how long the delay is. A duration that a person set is
// waited in full. Any other is for those who might still send requests: there
// are none where nothing listens, or where readiness was never 200.
func (m *machine) chooseDelay(now time.Time, listening bool) {
	p := m.plan
	wasReady := m.everReady || m.listener && m.allBegun()
	switch {
	case p.Delay == 0,
		m.trigger == byPerson && !p.DelayByPerson,
		!p.DelayByPerson && (!listening || !wasReady):
		m.enterDrain(now)
		return
	}
	m.front.due = m.notReadySince.Add(p.Delay)
	if limit := m.t0.Add(p.Delay); m.front.due.After(limit) {
		m.front.due = limit
	}
	if p.DelayAuto {
		m.do(Action{Kind: AskAskers, Since: m.notReadySince})
	} else if !now.Before(m.front.due) {
		m.enterDrain(now)
	}
}

// told: somebody who asks was told "not ready".
func (m *machine) told(now time.Time, e Event) {
	if m.plan.DelayAuto && m.front.knowsListeners && !m.front.over {
		m.do(Action{Kind: AskAskers, Since: m.notReadySince})
	}
}

// askers: it is known whether everybody has looked away.
func (m *machine) askers(now time.Time, e Event) {
	switch {
	case m.front.over:
	case e.Away:
		m.enterDrain(now)
	case !e.Next.IsZero():
		m.front.next = soon(now, e.Next)
	}
}

// delayDue: a time of the delay has come.
func (m *machine) delayDue(now time.Time, e Event) {
	if m.guillotine(now) {
		return
	}
	m.hooksDue(now)
	switch {
	case m.phase != record.Delay || m.front.over:
	case !now.Before(m.front.due):
		if !m.front.knowsListeners {
			m.listeners(now, Event{Found: true})
			return
		}
		if m.plan.DelayAuto {
			m.overrun(now, record.Event{Phase: string(record.Delay), Msg: "some who ask for readiness have not looked away yet"}, "delay", m.front.due)
		}
		m.enterDrain(now)
	case !m.front.next.IsZero() && !now.Before(m.front.next):
		m.front.next = time.Time{}
		m.do(Action{Kind: AskAskers, Since: m.notReadySince})
	}
}
