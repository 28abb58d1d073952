package supervisor

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
)

// Loop runs the supervisor's one loop.
type Loop struct {
	Plan *plan.Plan
	Host Host
	// Signals has an entry when TakeSignals has something.
	Signals     <-chan struct{}
	TakeSignals func() []syscall.Signal
	// Children has an entry when TakeChildren has something, or an orphan was
	// reaped, or no child is left.
	Children     <-chan struct{}
	TakeChildren func() []Event
	// Inbox takes what other goroutines have to say. It is bounded: whoever
	// sends also waits for Gone.
	Inbox chan Event
	// Gone is done when the loop is over.
	Gone context.Context
}

// Run starts what the plan says and returns graced's exit code when the
// shutdown is over.
func (l *Loop) Run() int {
	m := newMachine(l.Plan, time.Now())
	l.carryOut(m, m.launch(time.Now()))
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	for !m.done {
		l.round(m, timer)
	}
	return m.code
}

// round waits for one thing to happen and lets the machine act on it. A panic
// in the machine is an event like others; one that comes again while a
// shutdown runs leaves the deadlines as they are, since the timer goes on.
func (l *Loop) round(m *machine, timer *time.Timer) {
	defer func() {
		if v := recover(); v != nil {
			l.recovered(m, v)
		}
	}()
	var due <-chan time.Time
	if next := m.next(); !next.IsZero() {
		timer.Reset(time.Until(next))
		due = timer.C
	}
	select {
	case <-l.Signals:
		for _, sig := range l.ordered(l.TakeSignals()) {
			l.take(m, Event{Kind: Caught, Signal: sig, Stop: l.stops(m, sig)})
		}
	case <-l.Children:
		for _, e := range l.TakeChildren() {
			l.take(m, e)
		}
		l.take(m, Event{Kind: Reaped})
	case e := <-l.Inbox:
		l.take(m, e)
	case <-due:
		l.take(m, Event{Kind: Due})
	}
}

// take steps through e and everything that its actions bring at once.
func (l *Loop) take(m *machine, e Event) {
	now := time.Now()
	// Whatever came late, deadlines come first: after a stall the loop goes
	// straight to what is due now.
	if next := m.next(); e.Kind != Due && !next.IsZero() && !now.Before(next) {
		l.carryOut(m, m.step(now, Event{Kind: Due}))
	}
	l.carryOut(m, m.step(now, e))
	if e.Done != nil {
		close(e.Done)
	}
}

// carryOut hands actions to the host, and steps through what they bring. The
// snapshot is published last, so that whoever reads it sees a whole step.
func (l *Loop) carryOut(m *machine, actions []Action) {
	for len(actions) > 0 {
		a := actions[0]
		actions = actions[1:]
		if a.Kind == Emit {
			l.Host.Emit(a.Event)
			continue
		}
		if a.Kind == Spawn || a.Kind == SpawnHook || a.Kind == WriteReport || a.Kind == Signal {
			l.Host.Publish(m.snapshot(time.Now())) // not ready before anybody is told to stop
		}
		if e, ok := l.Host.Do(a); ok {
			actions = append(actions, m.step(time.Now(), e)...)
		}
	}
	l.Host.Publish(m.snapshot(time.Now()))
}

// ordered puts the stop signals last, so that what came with one is
// delivered before it ends the program.
func (l *Loop) ordered(sigs []syscall.Signal) []syscall.Signal {
	slices.SortStableFunc(sigs, func(a, b syscall.Signal) int {
		return b2i(l.Plan.MayStop(a)) - b2i(l.Plan.MayStop(b))
	})
	return sigs
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// stops says whether sig is a stop signal, given what the processes are.
func (l *Loop) stops(m *machine, sig syscall.Signal) bool {
	if !l.Plan.MayStop(sig) {
		return false
	}
	if l.Plan.StopsSet {
		return true
	}
	main := l.Plan.Main
	if m.procs[main].live() && !l.Plan.StopsFor(sig, l.Host.Identify(main)) {
		// not the main one's; perhaps another's own
		for i := range m.procs {
			if i != main && m.procs[i].live() && !slices.Contains(l.Plan.Stops, sig) && l.Plan.StopsFor(sig, l.Host.Identify(i)) {
				return true
			}
		}
		return false
	}
	return slices.Contains(l.Plan.Stops, sig) || m.procs[main].live()
}

// recovered turns a panic of the loop into a fault of the machine. If the
// machine cannot even take that in, everything gets SIGKILL at kill_at by
// what is left of it: see emergency.
func (l *Loop) recovered(m *machine, v any) {
	defer func() {
		if again := recover(); again != nil {
			l.emergency(m, again)
		}
	}()
	l.Host.Emit(record.Event{Time: time.Now(), Kind: record.Signal, Level: 8, Msg: "panic in graced", Offset: record.Before, Err: fmt.Sprint(v) + "\n" + string(debug.Stack())})
	l.carryOut(m, m.step(time.Now(), Event{Kind: Fault, Where: "loop", Err: fmt.Errorf("%v", v)}))
}

// emergency ends what runs without the machine: the stop signal to everything,
// the planned time, SIGKILL.
func (l *Loop) emergency(m *machine, v any) {
	m.done = true
	m.code = 125
	wait := l.Plan.KillAt
	if !m.t0.IsZero() {
		wait = time.Until(m.killAt)
	}
	for i := range m.procs {
		l.Host.Do(Action{Kind: Signal, ID: i, Signal: syscall.SIGTERM})
		l.Host.Do(Action{Kind: Signal, ID: i, Signal: syscall.SIGCONT})
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for left := true; left; {
		select {
		case <-timer.C:
			left = false
		case <-l.Children:
			for _, e := range l.TakeChildren() {
				if e.Kind == Exited && e.ID == l.Plan.Main {
					m.code = e.Code
					left = false
				}
			}
		case <-l.Signals:
			l.TakeSignals()
		case <-l.Inbox:
		}
	}
	l.Host.Do(Action{Kind: KillAll})
}
