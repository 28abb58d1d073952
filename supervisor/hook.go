package supervisor

import (
	"fmt"
	"log/slog"
	"slices"
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
	there   bool // it was told that it runs
	told    bool // SIGTERM is its due, once it is there
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
		if !limit.IsZero() {
			if !now.Before(limit) {
				m.missed(now, h)
				continue
			}
			h.due = earlier(h.due, limit)
		}
		m.emit(now, record.Event{Kind: record.HookStart, Level: slog.LevelDebug, Msg: "hook starts", Hook: h.Name})
		m.do(Action{Kind: SpawnHook, ID: i})
		return false
	}
	return true
}

// missed tells of a hook whose turn came too late.
func (m *machine) missed(now time.Time, h *hook) {
	h.running, h.done, h.failed = false, true, true
	m.problems = append(m.problems, "hook "+h.Name+" did not run: no time was left")
	m.emit(now, record.Event{Kind: record.HookEnd, Level: slog.LevelWarn, Msg: "did not run: no time was left", Hook: h.Name, Code: -1})
}

// skipHooks leaves the hooks of a point out.
func (m *machine) skipHooks(at plan.Point) {
	for i := range m.hooks {
		m.hooks[i].done = m.hooks[i].done || m.hooks[i].At == at
	}
}

// hooksLeft says whether a hook of a point is still to end.
func (m *machine) hooksLeft(at plan.Point) bool {
	for i := range m.hooks {
		if h := &m.hooks[i]; h.At == at && !h.done {
			return true
		}
	}
	return false
}

// hookLive says whether a hook runs.
func (m *machine) hookLive() bool {
	for i := range m.hooks {
		if m.hooks[i].running {
			return true
		}
	}
	return false
}

// hookStarted: a hook is there. Its start may have taken so long that what it
// should have been told meanwhile is its due now.
func (m *machine) hookStarted(now time.Time, e Event) {
	h := &m.hooks[e.ID]
	h.there = true
	switch {
	case h.done:
		m.do(Action{Kind: SignalHook, ID: e.ID, Signal: syscall.SIGKILL})
	case h.told:
		m.tellStop(e.ID)
	}
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
	if (e.Err != nil || e.Code != 0) && !h.told {
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
			m.startCode = h.code
			m.begin(now, byEnd, fmt.Sprintf("hook %s failed with code %d", h.Name, h.code))
			return
		}
		m.proceed(now)
	case m.phase == record.Stop:
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
		if h := &m.hooks[i]; h.running && !now.Before(h.due) {
			m.overrunHook(now, i, h.due)
			m.killHook(now, i)
		}
	}
}

// overrunHook tells that a hook was still going at its deadline.
func (m *machine) overrunHook(now time.Time, i int, due time.Time) {
	h := &m.hooks[i]
	m.overrun(now, record.Event{Phase: "hook", Msg: "hook still running at its deadline", Hook: h.Name, Deadline: h.Timeout}, "hook "+h.Name, due)
}

// killHook ends a hook at once, its group with it, and counts it as over: one
// in a wait that SIGKILL does not end would else hold everything up.
func (m *machine) killHook(now time.Time, i int) {
	m.do(Action{Kind: SignalHook, ID: i, Signal: syscall.SIGKILL})
	m.hookEnded(now, Event{Kind: HookEnded, ID: i, Code: codeKilled, Killed: syscall.SIGKILL})
}

// killHooks ends the hooks that run of some points, of all if none is given.
func (m *machine) killHooks(now time.Time, at ...plan.Point) {
	for i := range m.hooks {
		if h := &m.hooks[i]; h.running && (len(at) == 0 || slices.Contains(at, h.At)) {
			m.killHook(now, i)
		}
	}
}

// stopStartHooks: a hook that runs before or beside the processes gets SIGTERM
// when a stop comes, and is killed when what is left behind would be.
func (m *machine) stopStartHooks(now time.Time) {
	limit := m.killAt
	if m.trigger == byEnd {
		limit = earlier(limit, now.Add(restAfterEnd))
	}
	for i := range m.hooks {
		if h := &m.hooks[i]; h.running {
			h.told, h.due = true, earlier(h.due, limit)
			if h.there {
				m.tellStop(i)
			}
		}
	}
}

// tellStop sends a hook its stop signal.
func (m *machine) tellStop(i int) {
	m.do(Action{Kind: SignalHook, ID: i, Signal: syscall.SIGTERM})
	m.do(Action{Kind: SignalHook, ID: i, Signal: syscall.SIGCONT})
}
