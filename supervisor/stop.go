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

// enterStop begins the ladders, those of the processes first that nobody
// depends on.
func (m *machine) enterStop(now time.Time) {
	m.front.over, m.front.lookNext, m.front.next = true, time.Time{}, time.Time{}
	m.enter(now, record.Stop)
	if !m.stopOver(now) {
		m.do(Action{Kind: IdentifyAll})
	}
}

// stopIdentified: it is known what the processes are, so which signal is right.
func (m *machine) stopIdentified(now time.Time, e Event) {
	m.know(e)
	for i := range m.procs {
		if p := &m.procs[i]; p.state == running && m.mayStop(p) {
			m.startLadder(now, i)
		}
	}
}

// mayStop says whether those that must be gone before p are.
func (m *machine) mayStop(p *process) bool {
	for _, j := range p.Before {
		if dep := &m.procs[j]; dep.live() || dep.state == spawning {
			return false
		}
	}
	return true
}

// startLadder sends the first signal of a ladder.
func (m *machine) startLadder(now time.Time, i int) {
	p := &m.procs[i]
	chosen := plan.First(p.id, m.came)
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
	p.last = now
	p.due = p.Due(p.rung, len(p.ladder), m.t0, now)
	if p.due.After(m.killAt) {
		p.due = m.killAt
	}
	sig := p.ladder[p.rung]
	m.send(i, sig, false)
	m.do(Action{Kind: Signal, ID: i, Signal: syscall.SIGCONT})
	level := slog.LevelDebug
	if p.rung > 0 {
		level = slog.LevelInfo
	}
	m.emit(now, record.Event{Kind: record.Escalate, Level: level, Msg: "stop signal sent", Process: p.Name, PID: p.pid,
		Signal: signals.Name(sig), Deadline: p.due.Sub(m.t0), Attrs: append(attrs, slog.String("state", fmt.Sprintf("rung%d", p.rung)))})
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
	p.state = killing
	m.do(Action{Kind: Signal, ID: i, Signal: syscall.SIGKILL})
	m.tellKill(now, i)
}

// tellKill counts and logs that a process is killed.
func (m *machine) tellKill(now time.Time, i int) {
	p := &m.procs[i]
	if p.slain {
		return
	}
	p.slain = true
	m.countKill(p.Name, 1)
	attrs := []slog.Attr{slog.String("grace", m.graceText())}
	m.emit(now, record.Event{Kind: record.Kill, Level: slog.LevelWarn, Msg: "killed", Process: p.Name, PID: p.pid, Signal: "SIGKILL", Attrs: attrs})
}

func (m *machine) countKill(name string, n int) {
	m.totals = m.totals.Clone()
	if m.totals.Kills == nil {
		m.totals.Kills = map[string]uint64{}
	}
	m.totals.Kills[name] += uint64(n)
}

// overrunProcess tells that a process was still there at its deadline.
func (m *machine) overrunProcess(now time.Time, i int, due time.Time) {
	p := &m.procs[i]
	event := record.Event{Phase: string(record.Stop), Msg: "still running at its deadline", Process: p.Name, PID: p.pid}
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
	for i := range m.procs {
		p := &m.procs[i]
		if p.state != stopping || p.rung < 0 || now.Before(p.due) {
			continue
		}
		if p.rung+1 >= len(p.ladder) {
			m.overrunProcess(now, i, p.due)
		}
		m.nextRung(now, i)
	}
}

// ended: a process is gone during a shutdown.
func (m *machine) ended(now time.Time, i int) {
	switch m.phase {
	case record.Delay, record.Drain:
		// The main process's end ends both: there is nothing left to drain.
		if m.procs[i].Main || m.anyLive() == 0 {
			m.enterStop(now)
		}
	case record.Stop:
		if !m.stopOver(now) {
			m.do(Action{Kind: IdentifyAll}) // the turn of those that it depended on
		}
	case record.Killing:
		m.do(Action{Kind: Survey})
	}
}

// stopOver goes on once all processes are gone.
func (m *machine) stopOver(now time.Time) bool {
	if m.anyLive() > 0 || m.hookLive(plan.PreStart) || m.hookLive(plan.PostReady) {
		return false
	}
	m.enterRest(now)
	return true
}

// rest is what graced's processes have left behind.
type rest struct {
	due       time.Time
	next      time.Time
	surveying bool
	again     bool
	told      map[[2]uint64]bool // those that got their signal, by pid and start
	left      []Leftover
	unseen    bool
	shouted   bool // Broadcast was used
	answers   bool // only undelivered answers are waited for
	answersBy time.Time
}

// restAfterEnd is how long what is left behind has where nobody asked for a
// stop: the main process ended by itself.
const restAfterEnd = 2 * time.Second

// answersWithin bounds how long undelivered answers keep graced.
const answersWithin = 2 * time.Second

// surveyEach is how often what is left is looked at without a reason to.
const surveyEach = 100 * time.Millisecond

// enterRest gives whatever is left its own signal and its time.
func (m *machine) enterRest(now time.Time) {
	m.enter(now, record.Rest)
	m.rest.due = m.killAt
	if m.trigger == byEnd {
		if due := now.Add(restAfterEnd); due.Before(m.rest.due) {
			m.rest.due = due
		}
	}
	m.rest.told = map[[2]uint64]bool{}
	m.survey()
}

func (m *machine) survey() {
	if m.rest.surveying {
		m.rest.again = true
		return
	}
	m.rest.surveying, m.rest.again, m.rest.next = true, false, time.Time{}
	m.do(Action{Kind: Survey})
}

// restReaped: something was reaped, so less may be left.
func (m *machine) restReaped(now time.Time, e Event) {
	if !m.rest.answers {
		m.survey()
	}
}

// restSurveyed: it is known what is left. Each gets its signal once.
func (m *machine) restSurveyed(now time.Time, e Event) {
	m.rest.surveying = false
	m.rest.left, m.rest.unseen = e.Left, e.Unseen
	if len(e.Left) == 0 && !e.Unseen {
		m.restOver(now)
		return
	}
	for _, left := range e.Left {
		key := [2]uint64{uint64(left.PID), left.Start}
		if m.rest.told[key] {
			continue
		}
		m.rest.told[key] = true
		sig := plan.First(left.ID, m.came).Signal
		if left.Ignores&(1<<(sig-1)) != 0 {
			// a shell's background jobs ignore SIGINT and SIGQUIT; POSIX 2.11
			sig = syscall.SIGTERM
		}
		m.do(Action{Kind: SignalLeft, Left: left, Signal: sig})
		m.do(Action{Kind: SignalLeft, Left: left, Signal: syscall.SIGCONT})
		m.emit(now, record.Event{Kind: record.Escalate, Level: slog.LevelDebug, Msg: "left behind; stop signal sent",
			PID: left.PID, Signal: signals.Name(sig), Attrs: []slog.Attr{slog.String("program", left.Name)}})
	}
	if e.Unseen && !m.rest.shouted {
		m.rest.shouted = true
		m.do(Action{Kind: Broadcast, Signal: plan.AsItCame(m.came)})
		m.do(Action{Kind: Broadcast, Signal: syscall.SIGCONT})
	}
	m.rest.next = now.Add(surveyEach)
	if m.rest.again {
		m.survey()
	}
}

// restOver: nothing is left. What was answered but not delivered would be lost
// with the network namespace.
func (m *machine) restOver(now time.Time) {
	if m.listener || m.front.look.Connections.Known {
		m.rest.answers = true
		m.rest.answersBy = now.Add(answersWithin)
		if m.rest.answersBy.After(m.killAt) {
			m.rest.answersBy = m.killAt
		}
		m.rest.due, m.rest.next = m.rest.answersBy, time.Time{}
		m.do(Action{Kind: Inspect, Until: plan.DrainIdle})
		return
	}
	m.enterCleanup(now)
}

// restLooked: it is known whether answers are undelivered.
func (m *machine) restLooked(now time.Time, e Event) {
	if !m.rest.answers {
		return
	}
	if e.Look.Err != nil || e.Look.Undelivered == 0 {
		m.enterCleanup(now)
		return
	}
	m.rest.next = e.Next
}

// restDue: a time of the rest has come.
func (m *machine) restDue(now time.Time, e Event) {
	if m.rest.answers {
		switch {
		case !now.Before(m.rest.due):
			m.overrun(now, record.Event{Phase: string(record.Rest), Msg: "answers are still undelivered"}, "undelivered answers", m.rest.due)
			m.enterCleanup(now)
		case !m.rest.next.IsZero() && !now.Before(m.rest.next):
			m.rest.next = time.Time{}
			m.do(Action{Kind: Inspect, Until: plan.DrainIdle})
		}
		return
	}
	switch {
	case m.guillotine(now):
	case !now.Before(m.rest.due):
		m.overrunRest(now, m.rest.due)
		m.enterKill(now)
	case !m.rest.next.IsZero() && !now.Before(m.rest.next):
		m.survey()
	}
}

// overrunRest tells what of the rest was still there.
func (m *machine) overrunRest(now time.Time, due time.Time) {
	event := record.Event{Phase: string(record.Rest), Msg: "processes left behind are still running", Attrs: []slog.Attr{slog.Int("left", len(m.rest.left))}}
	if m.rest.unseen {
		event.Attrs = []slog.Attr{slog.String("left", "unknown: /proc is not readable")}
	}
	for i, left := range m.rest.left {
		if i == 5 {
			break
		}
		event.Attrs = append(event.Attrs, slog.String(fmt.Sprintf("left%d", i+1), fmt.Sprintf("%s (pid %d)", left.Name, left.PID)))
	}
	m.overrun(now, event, "rest", due)
}
