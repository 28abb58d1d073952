package supervisor

import (
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
)

// hook is one hook of the plan as it is now.
type hook struct {
	plan.Hook
	running bool
	done    bool
	failed  bool
	code    int
	started time.Time
	due     time.Time
	slain   bool
}

// runHooks starts the next hook of a point, one after the other in the file's
// order, each clamped to limit (zero: to its own time-out only). It says
// whether all are done.
func (m *machine) runHooks(now time.Time, at plan.Point, limit time.Time) bool {
	for i := range m.hooks {
		h := &m.hooks[i]
		if h.At != at || h.done {
			continue
		}
		if h.running {
			return false
		}
		h.running, h.started, h.due = true, now, now.Add(h.Timeout)
		if !limit.IsZero() && h.due.After(limit) {
			h.due = limit
		}
		m.emit(now, record.Event{Kind: record.HookStart, Level: slog.LevelDebug, Msg: "hook starts", Hook: h.Name})
		m.do(Action{Kind: SpawnHook, ID: i})
		return false
	}
	return true
}

// hooksRunning says whether a hook of a point is still to end.
func (m *machine) hooksRunning(at plan.Point) bool {
	for i := range m.hooks {
		if h := &m.hooks[i]; h.At == at && !h.done {
			return true
		}
	}
	return false
}

// hookLive says whether a hook of a point runs.
func (m *machine) hookLive(at plan.Point) bool {
	for i := range m.hooks {
		if h := &m.hooks[i]; h.At == at && h.running {
			return true
		}
	}
	return false
}

// hookEnded: a hook is over; what it held up goes on.
func (m *machine) hookEnded(now time.Time, e Event) {
	h := &m.hooks[e.ID]
	if h.done {
		return
	}
	h.running, h.done, h.code = false, true, e.Code
	took := now.Sub(h.started)
	m.totals = m.totals.Clone()
	if m.totals.Hooks == nil {
		m.totals.Hooks = map[string]record.HookResult{}
	}
	m.totals.Hooks[h.Name] = record.HookResult{Took: took}
	event := record.Event{Kind: record.HookEnd, Level: slog.LevelDebug, Msg: "hook done", Hook: h.Name, Code: e.Code, Took: took}
	if e.Err != nil || e.Code != 0 {
		h.failed = true
		event.Level, event.Msg, event.Err = slog.LevelWarn, "hook failed", errText(e.Err)
		m.problems = append(m.problems, fmt.Sprintf("hook %s failed with code %d %s", h.Name, e.Code, errText(e.Err)))
	}
	m.emit(now, event)
	m.afterHook(now, h)
}

// afterHook goes on with what waited for h.
func (m *machine) afterHook(now time.Time, h *hook) {
	switch {
	case h.At == plan.PreStart && !m.stoppingNow():
		if h.failed {
			m.begin(now, byEnd, fmt.Sprintf("hook %s failed with code %d", h.Name, h.code))
			return
		}
		m.proceed(now)
	case (h.At == plan.PreStart || h.At == plan.PostReady) && m.phase == record.Stop:
		m.stopOver(now)
	case h.At == plan.PreStop && (m.phase == record.Delay || m.phase == record.Drain):
		if m.runHooks(now, plan.PreStop, m.t0.Add(m.plan.Front)) && m.front.over {
			m.enterStop(now)
		}
	case h.At == plan.PostStop && m.phase == record.Cleanup:
		m.cleanUp(now)
	case h.At == plan.PostReady && !m.stoppingNow():
		m.runHooks(now, plan.PostReady, time.Time{})
	}
}

// hooksDue kills each hook whose time is over and goes on.
func (m *machine) hooksDue(now time.Time) {
	for i := range m.hooks {
		h := &m.hooks[i]
		if !h.running || h.slain || now.Before(h.due) {
			continue
		}
		m.overrunHook(now, i, h.due)
		m.killHook(i)
		h.code = 137
		m.hookEnded(now, Event{Kind: HookEnded, ID: i, Code: 137, Killed: syscall.SIGKILL})
	}
}

// overrunHook tells that a hook was still going at its deadline.
func (m *machine) overrunHook(now time.Time, i int, due time.Time) {
	h := &m.hooks[i]
	e := record.Event{Msg: "hook still running at its deadline", Hook: h.Name, Phase: "hook"}
	if !m.stoppingNow() {
		e.Kind, e.Level, e.Late = record.Overrun, slog.LevelWarn, now.Sub(due)
		m.emit(now, e)
		return
	}
	m.overrun(now, e, "hook "+h.Name, due)
}

// killHook ends a hook at once; its group with it.
func (m *machine) killHook(i int) {
	h := &m.hooks[i]
	if h.slain {
		return
	}
	h.slain = true
	m.do(Action{Kind: SignalHook, ID: i, Signal: syscall.SIGKILL})
}

// stopStartHooks: a hook that runs before the processes gets SIGTERM when a
// stop comes, and is killed at kill_at at the latest.
func (m *machine) stopStartHooks(now time.Time) {
	for i := range m.hooks {
		h := &m.hooks[i]
		if h.running && (h.At == plan.PreStart || h.At == plan.PostReady) {
			m.do(Action{Kind: SignalHook, ID: i, Signal: syscall.SIGTERM})
			m.do(Action{Kind: SignalHook, ID: i, Signal: syscall.SIGCONT})
			if h.due.After(m.killAt) {
				h.due = m.killAt
			}
		}
	}
}
