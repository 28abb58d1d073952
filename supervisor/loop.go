package supervisor

import (
	"context"
	"slices"
	"syscall"
	"time"

	"graced/internal/plan"
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

	queue    []Action // what is still to be carried out
	panicked bool     // in the machine or this loop
}

// Run starts what the plan says and returns graced's exit code when the
// shutdown is over.
func (l *Loop) Run() int {
	m := newMachine(l.Plan, time.Now())
	l.guard(m, func() { l.carryOut(m, m.launch(time.Now())) })
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	for !m.done {
		l.guard(m, func() { l.round(m, timer) })
	}
	return m.code
}

// round waits for one thing to happen and lets the machine act on it.
func (l *Loop) round(m *machine, timer *time.Timer) {
	var due <-chan time.Time
	if next := m.next(); !next.IsZero() {
		timer.Reset(time.Until(next))
		due = timer.C
	}
	select {
	case <-l.Signals:
		// What the children did came first: a stop right after a program said that
		// it is ready must find it started.
		l.children(m)
		for _, sig := range l.ordered(l.TakeSignals()) {
			l.guard(m, func() { l.take(m, Event{Kind: Caught, Signal: sig, Stop: l.stops(m, sig)}) })
		}
	case <-l.Children:
		l.children(m)
		l.take(m, Event{Kind: Reaped})
	case e := <-l.Inbox:
		l.take(m, e)
	case <-due:
		l.due(m)
	}
}

// take steps through e. Whatever came late, deadlines come first: after a
// stall the loop goes straight to what is due now.
func (l *Loop) take(m *machine, e Event) {
	l.due(m)
	l.step(m, e)
}

// due lets the machine act on the time, if one has come that it asked for. What
// is known of the children comes before: one that ended during a stall did
// not miss its deadline.
func (l *Loop) due(m *machine) {
	late := func() bool {
		next := m.next()
		return !next.IsZero() && !time.Now().Before(next)
	}
	if !late() {
		return
	}
	if l.children(m); late() {
		l.step(m, Event{Kind: Due})
	}
}

// children takes in what happened to the children. There is at most a start
// and an end of each, so that no flood of them can hold up a deadline.
func (l *Loop) children(m *machine) {
	for _, e := range l.TakeChildren() {
		l.step(m, e)
	}
}

// step steps through e and everything that its actions bring at once.
func (l *Loop) step(m *machine, e Event) {
	l.guard(m, func() { l.carryOut(m, m.step(time.Now(), e)) })
	if e.Done != nil {
		close(e.Done)
	}
}

// carryOut hands actions to the host, and steps through what they bring. The
// snapshot is published last, so that whoever reads it sees a whole step; but
// also before anybody is told to stop, since not ready comes first.
func (l *Loop) carryOut(m *machine, actions []Action) {
	for l.queue = append(l.queue, actions...); len(l.queue) > 0; {
		a := l.queue[0]
		l.queue = l.queue[1:]
		switch a.Kind {
		case Emit:
			l.emit(a.Event)
			continue
		case Spawn, SpawnHook, WriteReport, Signal:
			l.publish(m)
		}
		e, ok := l.do(a)
		if ok {
			l.queue = append(l.queue, m.step(time.Now(), e)...)
		}
		if a.Kind == Signal && a.Event.Msg != "" && (!ok || e.Kind != SignalFailed) {
			l.emit(a.Event)
		}
	}
	l.publish(m)
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

// stops says whether sig is a stop signal, given what the processes are: one of
// the list, unless the main process means something else by it, or the own
// one of any of them.
func (l *Loop) stops(m *machine, sig syscall.Signal) bool {
	if !l.Plan.MayStop(sig) {
		return false
	}
	listed := slices.Contains(l.Plan.Stops, sig)
	main := l.Plan.Main
	if l.Plan.StopsSet || listed && !m.procs[main].live() {
		return true
	}
	id := l.Host.Identify(main)
	if listed || l.Plan.StopsFor(sig, id) {
		return l.Plan.StopsFor(sig, id)
	}
	for i := range m.procs {
		if other := l.Host.Identify(i); i != main && m.procs[i].live() {
			other.Terminal = id.Terminal // the SIGWINCH of a resize means no stop to httpd beside it either
			if l.Plan.StopsFor(sig, other) {
				return true
			}
		}
	}
	return false
}
