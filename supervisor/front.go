package supervisor

import (
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
	"graced/signals"
)

// front is what comes before the first stop signal: delay and drain.
type front struct {
	due  time.Time // the ceiling of the phase
	next time.Time // when the delay is looked at again

	knowsListeners bool // FindListeners has answered
	lookNext       time.Time
	looking        bool
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
	m.runHooks(now, plan.PreStop, m.t0.Add(m.plan.Front))
	switch {
	case m.trigger == byEnd, m.anyLive() == 0:
		m.enterStop(now)
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

// listeners: it is known whether the processes listen on a TCP port.
func (m *machine) listeners(now time.Time, e Event) {
	if m.front.knowsListeners {
		return
	}
	m.front.knowsListeners = true
	if e.Found && !m.listener && m.phaseBefore() {
		m.listener = true // nobody had asked for readiness; it would have been 200
	}
	m.chooseDelay(now, e.Found)
}

// phaseBefore says whether everything had been started when the shutdown began:
// only then would a listener have made graced ready.
func (m *machine) phaseBefore() bool {
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
	wasReady := m.everReady || m.listener && m.phaseBefore()
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
	if m.plan.DelayAuto && m.front.knowsListeners {
		m.do(Action{Kind: AskAskers, Since: m.notReadySince})
	}
}

// askers: it is known whether everybody has looked away.
func (m *machine) askers(now time.Time, e Event) {
	m.front.next = e.Next
	if e.Away {
		m.enterDrain(now)
	}
}

// delayDue: a time of the delay has come.
func (m *machine) delayDue(now time.Time, e Event) {
	if m.guillotine(now) {
		return
	}
	m.hooksDue(now)
	switch {
	case !m.front.due.IsZero() && !now.Before(m.front.due):
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

// enterDrain waits until no connection is busy.
func (m *machine) enterDrain(now time.Time) {
	m.front.next = time.Time{}
	m.enter(now, record.Drain)
	p := m.plan
	switch {
	case p.Drain == plan.DrainOff, p.DrainMax <= 0,
		m.trigger == byPerson && !p.DrainByPerson,
		m.anyLive() == 0:
		m.frontOver(now)
		return
	}
	m.front.due = m.t0.Add(p.DrainLatest)
	if limit := now.Add(p.DrainMax); p.DrainFixed && limit.Before(m.front.due) {
		m.front.due = limit
	}
	m.front.decided = false
	m.do(Action{Kind: IdentifyAll})
}

// drainIdentified: it is known what the processes are, so what `auto` means.
func (m *machine) drainIdentified(now time.Time, e Event) {
	m.know(e)
	if m.front.decided {
		return
	}
	m.front.decided = true
	m.front.until = m.plan.Drain
	if m.plan.Drain == plan.DrainAuto {
		m.front.until = plan.DrainOff
		for i := range m.procs {
			if p := &m.procs[i]; len(p.Before) == 0 && p.live() && plan.AutoDrain(p.id) == plan.DrainIdle {
				m.front.until = plan.DrainIdle
			}
		}
	}
	if m.front.until == plan.DrainOff {
		m.frontOver(now)
		return
	}
	m.lookAgain()
}

func (m *machine) lookAgain() {
	m.front.looking, m.front.lookNext = true, time.Time{}
	m.do(Action{Kind: Inspect, Until: m.front.until})
}

// looked: it is known which connections are busy.
func (m *machine) looked(now time.Time, e Event) {
	if m.front.over || !m.front.decided {
		return
	}
	m.front.looking = false
	look := e.Look
	if look.Fallback != "" && !m.front.saidFallback {
		m.front.saidFallback = true
		m.emit(now, record.Event{Kind: record.PhaseStart, Level: slog.LevelWarn, Phase: string(record.Drain),
			Msg: "the kernel's socket diagnostics are refused; /proc/net/tcp is read instead, which tells less", Err: look.Fallback})
	}
	if look.Err == nil {
		m.front.look = look
		if look.Quiet {
			m.frontOver(now)
			return
		}
	} else if look.Connections == (record.Connections{}) && look.Fallback == "" {
		m.front.look.Err = look.Err
	}
	m.front.lookNext = e.Next
	if e.Next.IsZero() {
		m.front.lookNext = now.Add(lookEach)
	}
}

// drainDue: a time of the drain has come.
func (m *machine) drainDue(now time.Time, e Event) {
	if m.guillotine(now) {
		return
	}
	m.hooksDue(now)
	switch {
	case m.phase != record.Drain || m.front.over:
	case !now.Before(m.front.due):
		m.tellBusy(now)
		m.frontOver(now)
	case !m.front.lookNext.IsZero() && !now.Before(m.front.lookNext):
		m.lookAgain()
	}
}

// tellBusy says what was still going at the drain's ceiling.
func (m *machine) tellBusy(now time.Time) {
	look := m.front.look
	event := record.Event{Phase: string(record.Drain), Msg: "connections are still busy at the drain's ceiling"}
	if look.Err != nil {
		event.Msg, event.Err = "the connections could not be seen", look.Err.Error()
	}
	event.Attrs = append(event.Attrs, slog.Int("busy", look.Connections.Busy))
	for i, b := range look.Busy {
		if i == 5 {
			event.Attrs = append(event.Attrs, slog.Int("more", len(look.Busy)-i))
			break
		}
		event.Attrs = append(event.Attrs, slog.String(fmt.Sprintf("peer%d", i+1), fmt.Sprintf("%s: %s, %s without a byte", b.Peer, b.Rule, plan.Duration(b.Age))))
	}
	if n := look.Connections.CloseWait; n > 0 {
		event.Attrs = append(event.Attrs, slog.Int("close_wait", n),
			slog.String("hint", "the program does not close connections that its clients have closed (CLOSE_WAIT)"))
	}
	m.overrun(now, event, "drain", m.front.due)
}

// frontOver: delay and drain are over; the first stop signal waits for the
// pre_stop hooks only.
func (m *machine) frontOver(now time.Time) {
	m.front.over, m.front.lookNext, m.front.next, m.front.due = true, time.Time{}, time.Time{}, time.Time{}
	if m.hooksRunning(plan.PreStop) {
		return
	}
	m.enterStop(now)
}

// know keeps what the processes were found to be.
func (m *machine) know(e Event) {
	for i := range m.procs {
		if i < len(e.Identities) && m.procs[i].live() {
			m.procs[i].id = e.Identities[i]
		}
	}
}

// repeat answers a further stop signal: it is counted and changes nothing,
// unless a person presses Ctrl-C again or it was asked for.
func (m *machine) repeat(now time.Time, sig syscall.Signal) {
	m.repeats++
	again := sig == syscall.SIGINT && m.came == syscall.SIGINT
	if !again && m.plan.Repeat != plan.RepeatEscalate {
		if m.repeats == 1 {
			m.emit(now, record.Event{Kind: record.Signal, Level: slog.LevelInfo, Signal: signals.Name(sig),
				Msg: "a further stop signal; the shutdown goes on as it is (--repeat escalate hurries it)"})
		}
		return
	}
	m.emit(now, record.Event{Kind: record.Signal, Level: slog.LevelInfo, Signal: signals.Name(sig), Msg: "a further stop signal: on to the next step"})
	switch m.phase {
	case record.Delay, record.Drain:
		for i := range m.hooks {
			if h := &m.hooks[i]; h.running && h.At == plan.PreStop {
				m.killHook(i)
			}
		}
		m.enterStop(now)
	case record.Stop:
		for i := range m.procs {
			if m.procs[i].state == stopping {
				m.nextRung(now, i)
			}
		}
	case record.Rest:
		m.enterKill(now)
	}
}

// guillotine: at kill_at whatever is left gets SIGKILL, in whatever state.
func (m *machine) guillotine(now time.Time) bool {
	if now.Before(m.killAt) {
		return false
	}
	for i := range m.procs {
		p := &m.procs[i]
		if p.state == running || p.state == stopping {
			m.overrunProcess(now, i, m.killAt)
		}
	}
	for i := range m.hooks {
		if h := &m.hooks[i]; h.running && h.At != plan.PostStop {
			m.overrunHook(now, i, m.killAt)
		}
	}
	if m.phase == record.Rest {
		m.overrunRest(now, m.killAt)
	}
	m.enterKill(now)
	return true
}
