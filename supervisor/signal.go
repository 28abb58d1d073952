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
	if e.Signal == syscall.SIGINT {
		m.interrupts++
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

// pass sends a forwarded signal and counts it.
func (m *machine) pass(now time.Time, i int, sig syscall.Signal) {
	m.send(now, i, sig, record.Event{Kind: record.Forward, Level: slog.LevelDebug, Msg: "signal passed on"})
	m.totals = m.totals.Clone()
	if m.totals.SignalsForwarded == nil {
		m.totals.SignalsForwarded = map[record.Forwarded]uint64{}
	}
	m.totals.SignalsForwarded[record.Forwarded{Process: m.procs[i].Name, Signal: signals.Name(sig)}]++
}

// signalFailed takes note of a signal that could not be sent. ESRCH is no
// failure: the process is gone and its exit is on its way.
func (m *machine) signalFailed(now time.Time, e Event) {
	if e.Err == syscall.ESRCH {
		return
	}
	m.killRefused(now, e)
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

// killRefused: what SIGKILL could not be sent to was not killed. That it is still
// there is told at the end.
func (m *machine) killRefused(now time.Time, e Event) {
	if p := &m.procs[e.ID]; e.Signal == syscall.SIGKILL && e.Err != syscall.ESRCH && p.slain {
		p.slain = false
		m.uncountKill(p.Name, 1)
	}
}

// suspended: a main that holds the terminal was stopped by a key or by its own
// reading or writing. There is no shell above that could continue it. Another
// process that reads the terminal is in the background for good: continued,
// it would be stopped again at once, and so on.
func (m *machine) suspended(now time.Time, e Event) {
	switch e.Signal {
	case syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU:
		if e.ID == m.plan.Main && m.main().live() {
			m.do(Action{Kind: Continue, ID: e.ID})
		}
	}
}

// repeat answers a further stop signal: it is counted and changes nothing,
// unless a person presses Ctrl-C again or it was asked for.
func (m *machine) repeat(now time.Time, sig syscall.Signal) {
	m.repeats++
	if again := sig == syscall.SIGINT && m.interrupts > 1; !again && m.plan.Repeat != plan.RepeatEscalate {
		if m.repeats == 1 {
			m.emit(now, record.Event{Kind: record.Signal, Level: slog.LevelInfo, Signal: signals.Name(sig),
				Msg: "a further stop signal; the shutdown goes on as it is (--repeat escalate hurries it)"})
		}
		return
	}
	m.emit(now, record.Event{Kind: record.Signal, Level: slog.LevelInfo, Signal: signals.Name(sig), Msg: "a further stop signal: on to the next step"})
	switch m.phase {
	case record.Delay, record.Drain:
		m.enterStop(now)
		m.killHooks(now, plan.PreStop)
	case record.Stop:
		m.killHooks(now, plan.PreStart, plan.PostReady)
		for i := range m.procs {
			if m.procs[i].state == stopping {
				m.nextRung(now, i)
			}
		}
	case record.Rest:
		m.enterKill(now)
	}
}
