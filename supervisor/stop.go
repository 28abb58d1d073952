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

// enterStop begins the ladders, those of the processes first that nobody
// depends on.
func (m *machine) enterStop(now time.Time) {
	m.front.over = true
	m.enter(now, record.Stop)
	if !m.stopOver(now) {
		m.nextTurn(now)
	}
}

// nextTurn asks what the processes are if it is the turn of one.
func (m *machine) nextTurn(now time.Time) {
	for i := range m.procs {
		if p := &m.procs[i]; p.state == running && m.mayStop(now, p) {
			m.do(Action{Kind: IdentifyAll})
			return
		}
	}
}

// stopIdentified: it is known what the processes are, so which signal is right.
func (m *machine) stopIdentified(now time.Time, e Event) {
	m.know(e)
	for i := range m.procs {
		if p := &m.procs[i]; p.state == running && m.mayStop(now, p) {
			m.startLadder(now, i)
		}
	}
}

// killLag is the time that a SIGKILL, sent at the end of a ladder, needs to act.
const killLag = 100 * time.Millisecond

// latest is when p is stopped whatever else goes on: nothing that runs before it
// can eat its ladder, neither a process that cannot be killed, nor an exec that
// never returns, nor a stall of graced itself.
func (m *machine) latest(p *process) time.Time { return m.t0.Add(p.Start + killLag) }

// mayStop says whether it is p's turn.
func (m *machine) mayStop(now time.Time, p *process) bool {
	return m.firstLeft(p) || !now.Before(m.latest(p))
}

// firstLeft says whether those that must be gone before p are.
func (m *machine) firstLeft(p *process) bool {
	for _, j := range p.Before {
		if dep := &m.procs[j]; dep.live() || dep.state == spawning {
			return false
		}
	}
	return true
}

// stopSignal is the one that came, for those that it is one to: 0 if it is
// the own one of a program, such as httpd's SIGWINCH, and nobody else's.
func (m *machine) stopSignal() syscall.Signal {
	if !slices.Contains(m.plan.Stops, m.came) {
		return 0
	}
	return m.came
}

// startLadder sends the first signal of a ladder.
func (m *machine) startLadder(now time.Time, i int) {
	p := &m.procs[i]
	chosen := plan.First(p.id, m.stopSignal())
	p.ladder, p.state, p.rung = p.Signals(chosen), stopping, -1
	attrs := []slog.Attr{slog.String("why", chosen.Why)}
	if p.Rungs[0].Signal != 0 {
		attrs = []slog.Attr{slog.String("why", "as set")}
	}
	if chosen.Program != "" {
		attrs = append(attrs, slog.String("program", chosen.Program))
	}
	m.climb(now, i, attrs)
}

// climb goes to the next rung: its signal, then SIGCONT, since a stopped
// process acts on nothing but SIGKILL until it is continued.
func (m *machine) climb(now time.Time, i int, attrs []slog.Attr) {
	p := &m.procs[i]
	p.rung++
	p.due = p.Due(p.rung, len(p.ladder), m.t0, now)
	if p.due.After(m.killAt) {
		p.due = m.killAt
	}
	sig := p.ladder[p.rung]
	level := slog.LevelDebug
	if p.rung > 0 {
		level = slog.LevelInfo
	}
	m.send(now, i, sig, record.Event{Kind: record.Escalate, Level: level, Msg: "stop signal sent", PID: p.pid,
		Deadline: p.due.Sub(m.t0), Attrs: append(attrs, slog.String("state", fmt.Sprintf("rung%d", p.rung)))})
	m.do(Action{Kind: Signal, ID: i, Signal: syscall.SIGCONT})
}

// nextRung goes on to the next rung, or to SIGKILL after the last.
func (m *machine) nextRung(now time.Time, i int) {
	p := &m.procs[i]
	if p.rung+1 < len(p.ladder) {
		m.climb(now, i, nil)
		return
	}
	m.slay(now, i)
}

// slay sends SIGKILL to a process.
func (m *machine) slay(now time.Time, i int) {
	p := &m.procs[i]
	if p.state == killing || p.state == gone {
		return
	}
	p.state, p.slain = killing, true
	m.countKill(p.Name, 1)
	m.send(now, i, syscall.SIGKILL, record.Event{Kind: record.Kill, Level: slog.LevelWarn, Msg: "killed", PID: p.pid,
		Attrs: []slog.Attr{slog.String("grace", m.graceText())}})
}

func (m *machine) countKill(name string, n int) {
	m.totals = m.totals.Clone()
	if m.totals.Kills == nil {
		m.totals.Kills = map[string]uint64{}
	}
	m.totals.Kills[name] += uint64(n)
}

// uncountKill takes back those that SIGKILL did not reach.
func (m *machine) uncountKill(name string, n int) {
	m.totals = m.totals.Clone()
	if left := m.totals.Kills[name]; left > uint64(n) {
		m.totals.Kills[name] = left - uint64(n)
	} else {
		delete(m.totals.Kills, name)
	}
}

// overrunProcess tells that a process was still there at its deadline.
func (m *machine) overrunProcess(now time.Time, i int, due time.Time) {
	p := &m.procs[i]
	event := record.Event{Phase: string(record.Stop), Msg: "still running at its deadline", Process: p.Name, PID: p.pid}
	if p.state == spawning {
		event.Msg = "its start has not ended at the deadline"
	}
	if p.rung >= 0 {
		event.Signal = signals.Name(p.ladder[p.rung])
	}
	m.overrun(now, event, p.Name, due)
}

// stopDue: a time of the stop has come.
func (m *machine) stopDue(now time.Time, e Event) {
	if m.guillotine(now) {
		return
	}
	m.hooksDue(now)
	ask := false
	for i := range m.procs {
		switch p := &m.procs[i]; {
		case p.state == running && !now.Before(m.latest(p)):
			if p.called { // there was no answer; what is known of it must do
				m.startLadder(now, i)
				continue
			}
			ask, p.called = true, true
		case p.state == stopping && !now.Before(p.due):
			if p.rung+1 >= len(p.ladder) {
				m.overrunProcess(now, i, p.due)
			}
			m.nextRung(now, i)
		}
	}
	if ask {
		m.do(Action{Kind: IdentifyAll})
	}
}

// guillotine: at kill_at whatever is left gets SIGKILL, in whatever state.
func (m *machine) guillotine(now time.Time) bool {
	if now.Before(m.killAt) {
		return false
	}
	for i := range m.procs {
		p := &m.procs[i]
		if p.state == spawning || p.state == running || p.state == stopping {
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

// ended: a process is gone during a shutdown.
func (m *machine) ended(now time.Time, i int) {
	switch m.phase {
	case record.Delay, record.Drain:
		// The main process's end ends both: there is nothing left to drain.
		if m.procs[i].Main || m.anyLive() == 0 {
			m.frontOver(now)
		}
	case record.Stop:
		if !m.stopOver(now) {
			m.nextTurn(now) // that of those that it depended on
		}
	case record.Killing:
		m.do(Action{Kind: Survey})
	}
}

// stopOver goes on once all processes are gone, and the hooks that ran beside
// them.
func (m *machine) stopOver(now time.Time) bool {
	if m.anyLive() > 0 || m.hookLive() {
		return false
	}
	m.enterRest(now)
	return true
}
