package supervisor

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
)

// kill is the time in which everything gets SIGKILL.
type kill struct {
	due  time.Time
	next time.Time
	// blind: what was left behind is killed without having been seen, so
	// nobody knows how many that were.
	blind bool
}

// killEach is how often SIGKILL is sent again: a process that forks can
// outrun one round.
const killEach = 20 * time.Millisecond

// killLeast is what SIGKILL gets to act also where a stall has eaten its time.
const killLeast = 50 * time.Millisecond

// enterKill sends SIGKILL to everything, until nothing is left or half of the
// cleanup is over.
func (m *machine) enterKill(now time.Time) {
	blind := m.rest.unseen || m.phase == record.Rest && !m.rest.seen
	m.enter(now, record.Killing)
	half := m.plan.Cleanup / 2
	m.kill.due = earlier(now, m.killAt).Add(half)
	if m.kill.due.Before(now) {
		m.kill.due = now.Add(killLeast)
	}
	m.killHooks(now)
	for i := range m.procs {
		if m.procs[i].live() {
			m.slay(now, i)
		}
	}
	if n := len(m.rest.left); n > 0 {
		m.countKill("", n)
		m.emit(now, record.Event{Kind: record.Kill, Level: slog.LevelWarn, Msg: "what was left behind is killed", Signal: "SIGKILL",
			Attrs: []slog.Attr{slog.Int("processes", n), slog.String("grace", m.graceText())}})
	} else if blind {
		m.kill.blind = true
		m.emit(now, record.Event{Kind: record.Kill, Level: slog.LevelWarn, Msg: "what was left behind is killed", Signal: "SIGKILL",
			Attrs: []slog.Attr{slog.String("processes", "unknown")}})
	}
	m.killAll(now)
}

// killAll sends SIGKILL to everything, and again a moment later, whatever
// becomes of this time.
func (m *machine) killAll(now time.Time) {
	m.kill.next = now.Add(killEach)
	m.do(Action{Kind: KillAll})
}

// killSurveyed: it is known what SIGKILL has left.
func (m *machine) killSurveyed(now time.Time, e Event) {
	m.rest.left, m.rest.unseen = e.Left, e.Unseen
	if len(e.Left) == 0 && !e.Unseen && m.anyLive() == 0 {
		m.enterCleanup(now)
	}
}

// killDue: a time of the kill has come.
func (m *machine) killDue(now time.Time, e Event) {
	if !now.Before(m.kill.due) {
		m.tellUnkillable(now)
		m.enterCleanup(now)
		return
	}
	if !now.Before(m.kill.next) {
		m.killAll(now)
	}
}

// killReaped: something died.
func (m *machine) killReaped(now time.Time, e Event) { m.do(Action{Kind: Survey}) }

// tellUnkillable says what SIGKILL did not end: another user's process without
// CAP_KILL, or one in an uninterruptible wait.
func (m *machine) tellUnkillable(now time.Time) {
	for i := range m.procs {
		p := &m.procs[i]
		if !p.live() {
			continue
		}
		text := "process " + p.Name + " cannot be killed: it belongs to another user, or waits for a device or file system"
		m.problems = append(m.problems, text)
		m.emit(now, record.Event{Kind: record.Kill, Level: slog.LevelError, Msg: "cannot be killed; graced ends without it", Process: p.Name, PID: p.pid, Signal: "SIGKILL"})
	}
	told, others := 0, 0
	for _, left := range m.rest.left {
		if slices.ContainsFunc(m.procs, func(p process) bool { return p.pid == left.PID }) {
			continue // one of those above
		}
		if others++; told == 5 {
			continue
		}
		told++
		m.emit(now, record.Event{Kind: record.Kill, Level: slog.LevelError, Msg: "cannot be killed; graced ends without it", PID: left.PID, Signal: "SIGKILL",
			Attrs: []slog.Attr{slog.String("program", left.Name)}})
	}
	m.uncountKill("", others)
}

// lastWords is kept for the report and the exit itself.
const lastWords = 100 * time.Millisecond

// enterCleanup runs the post_stop hooks.
func (m *machine) enterCleanup(now time.Time) {
	m.enter(now, record.Cleanup)
	m.do(Action{Kind: Return})
	m.tidy = m.deadline.Add(-min(lastWords, m.plan.Cleanup/4))
	m.cleanUp(now)
}

// cleanUp runs what is next of the post_stop hooks, and ends after the last.
func (m *machine) cleanUp(now time.Time) {
	if m.runHooks(now, plan.PostStop, m.tidy) {
		m.finish(now)
	}
}

// cleanupDue: the time of a hook is over. There is always one that runs.
func (m *machine) cleanupDue(now time.Time, e Event) { m.hooksDue(now) }

// finish is the end: the code, the last events, the report.
func (m *machine) finish(now time.Time) {
	if now.After(m.deadline) && len(m.overruns) == 0 { // nothing else has told of it
		m.overrun(now, record.Event{Phase: string(record.Exiting), Msg: "graced ends past the budget"}, "graced", m.deadline)
	}
	m.code = m.exitCode()
	m.enter(now, record.Exiting)
	m.done = true
	asked := m.trigger != byEnd || m.repeats > 0
	if asked || len(m.overruns) > 0 || m.killed() > 0 {
		m.tellEnd(now, asked)
		m.do(Action{Kind: WriteReport, Report: m.report(now), Wait: max(m.deadline.Sub(now)/2, 10*time.Millisecond)})
	}
	m.emit(now, record.Event{Kind: record.Exit, Level: slog.LevelDebug, Msg: "exit", Code: m.code})
}

// killed counts the processes that needed SIGKILL.
func (m *machine) killed() int {
	n := uint64(0)
	for _, k := range m.totals.Kills {
		n += k
	}
	return int(n)
}

// killedAttr is how many were killed, as far as that is known.
func (m *machine) killedAttr() slog.Attr {
	n := m.killed()
	if !m.kill.blind {
		return slog.Int("killed", n)
	}
	return slog.String("killed", fmt.Sprintf("%d and an unknown number of others", n))
}

// tellEnd is the whole story in one line.
func (m *machine) tellEnd(now time.Time, asked bool) {
	level := slog.LevelInfo
	attrs := []slog.Attr{slog.String("cause", m.cause), slog.String("budget", plan.Duration(m.plan.Budget))}
	for _, p := range m.phases {
		attrs = append(attrs, slog.String(string(p.Phase), plan.Duration(p.End.Sub(p.Start))))
	}
	attrs = append(attrs, slog.Int("overruns", len(m.overruns)), m.killedAttr())
	if m.repeats > 0 {
		attrs = append(attrs, slog.Int("repeated", m.repeats))
	}
	msg := "shutdown done"
	if now.After(m.deadline) {
		level, msg = slog.LevelWarn, "shutdown done, past the budget"
		attrs = append(attrs, slog.String("late", plan.Duration(now.Sub(m.deadline))))
	}
	m.emit(now, record.Event{Kind: record.ShutdownEnd, Level: level, Msg: msg, Code: m.code, Took: now.Sub(m.t0), Attrs: attrs})
}
