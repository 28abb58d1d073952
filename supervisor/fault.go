package supervisor

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"syscall"
	"time"

	"graced/internal/record"
)

// guard runs fn. A panic in it is an event like others: what was decided before
// it is carried out, and a shutdown begins, or goes on with its deadlines. After
// a second one the machine is not trusted any more; see emergency.
func (l *Loop) guard(m *machine, fn func()) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		e := l.fault(v)
		if l.panicked {
			l.emergency(m)
			return
		}
		l.panicked = true
		l.guard(m, func() { l.carryOut(m, m.step(time.Now(), e)) })
	}()
	fn()
}

// fault logs a panic and makes it an event.
func (l *Loop) fault(v any) Event {
	l.emit(record.Event{Time: time.Now(), Kind: record.Signal, Level: slog.LevelError, Msg: "panic in graced",
		Offset: record.Before, Err: fmt.Sprint(v) + "\n" + string(debug.Stack())})
	return Event{Kind: Fault, Where: "loop", Err: fmt.Errorf("%v", v)}
}

// do hands a to the host. A panic of the host's costs the one action, not the
// others that wait for their turn.
func (l *Loop) do(a Action) (e Event, ok bool) {
	defer func() {
		if v := recover(); v != nil {
			e, ok = l.fault(v), true
		}
	}()
	return l.Host.Do(a)
}

// emit and publish tell others; whether they listen changes nothing.
func (l *Loop) emit(e record.Event) {
	defer func() { _ = recover() }()
	l.Host.Emit(e)
}

func (l *Loop) publish(m *machine) {
	defer func() { _ = recover() }()
	l.Host.Publish(m.snapshot(time.Now()))
}

// emergency ends what runs without the machine: the stop signal to everything,
// the planned time, SIGKILL.
func (l *Loop) emergency(m *machine) {
	m.done, m.code = true, codeFailed
	wait := l.Plan.KillAt
	if !m.t0.IsZero() {
		wait = time.Until(m.killAt)
	}
	left := map[int]bool{}
	for i := range m.procs {
		switch p := &m.procs[i]; {
		case p.state == gone && p.Main:
			m.code = p.code
		case p.state != gone && p.state != waiting:
			left[i] = true
			l.do(Action{Kind: Signal, ID: i, Signal: syscall.SIGTERM})
			l.do(Action{Kind: Signal, ID: i, Signal: syscall.SIGCONT})
		}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for over := false; len(left) > 0 && !over; {
		select {
		case <-timer.C:
			over = true
		case <-l.Children:
			for _, e := range l.lastChildren() {
				switch e.Kind {
				case Spawned: // its signal came too early
					l.do(Action{Kind: Signal, ID: e.ID, Signal: syscall.SIGTERM})
				case Exited, NotSpawned:
					delete(left, e.ID)
					if e.ID == l.Plan.Main {
						m.code = e.Code
					}
				}
			}
		case <-l.Signals:
		case <-l.Inbox:
		}
	}
	if left[l.Plan.Main] {
		m.code = codeKilled
	}
	l.do(Action{Kind: KillAll})
}

// lastChildren is TakeChildren, for which nobody is left to panic to.
func (l *Loop) lastChildren() []Event {
	defer func() { _ = recover() }()
	return l.TakeChildren()
}
