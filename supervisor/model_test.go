package supervisor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
)

// model is a world that is as unkind to a machine as it can be, and checks what
// the machine does. Events come in any order, late, twice or never; only what
// the reaper guarantees holds: a process is told to run before it is told to
// have ended, and both once.
type model struct {
	t    *testing.T
	r    *rand.Rand
	m    *machine
	now  time.Time
	log  []string
	went map[string]int // what must happen once

	procs, hooks []modelProc
	t0           time.Time
	phase        int
}

// modelProc is a process as the world knows it.
type modelProc struct{ asked, runs, ended bool }

func (w *model) failf(format string, args ...any) {
	w.t.Helper()
	last := w.log
	if len(last) > 60 {
		last = last[len(last)-60:]
	}
	w.t.Fatalf("%s\n%s\n%s", fmt.Sprintf(format, args...), w.m.plan.Text(), strings.Join(last, "\n"))
}

// once fails if what happens a second time.
func (w *model) once(format string, args ...any) {
	w.t.Helper()
	what := fmt.Sprintf(format, args...)
	if w.went[what]++; w.went[what] > 1 {
		w.failf("twice: %s", what)
	}
}

func (w *model) step(e Event) {
	w.log = append(w.log, fmt.Sprintf("%v %s: %s id %d signal %d", w.now.Sub(w.m.started), w.m.phase, e.Kind, e.ID, e.Signal))
	w.check(w.m.step(w.now, e))
}

// check looks at what a step has decided.
func (w *model) check(actions []Action) {
	m := w.m
	for ; len(actions) > 0; actions = actions[1:] {
		a := actions[0]
		w.log = append(w.log, fmt.Sprintf("  → %d id %d signal %d %s %s", a.Kind, a.ID, a.Signal, a.Event.Kind, a.Event.Msg))
		switch a.Kind {
		case Spawn:
			w.once("spawn of %d", a.ID)
			if !m.t0.IsZero() {
				w.failf("process %d is started after t0", a.ID)
			}
			w.procs[a.ID].asked = true
		case SpawnHook:
			w.once("start of hook %d", a.ID)
			if !m.killAt.IsZero() && m.hooks[a.ID].At != plan.PostStop && !w.now.Before(m.killAt) {
				w.failf("hook %d is started after kill_at", a.ID)
			}
			w.hooks[a.ID].asked = true
		case Signal:
			if p := w.procs[a.ID]; !p.runs || p.ended && m.procs[a.ID].state == gone {
				w.failf("%s is sent to process %d, which is not there", a.Signal, a.ID)
			}
			if a.Signal == syscall.SIGKILL {
				w.once("SIGKILL to %d", a.ID)
			}
			if a.Event.Msg != "" {
				w.checkEvent(a.Event)
			}
		case Emit:
			w.checkEvent(a.Event)
		case IdentifyAll:
			if w.r.IntN(8) > 0 { // it is not always answered
				ids := make([]plan.Identity, len(m.procs))
				for i := range ids {
					ids[i].Exe = []string{"node", "nginx", "java", "", "httpd", "postgres"}[w.r.IntN(6)]
				}
				actions = append(actions, m.step(w.now, Event{Kind: Identified, Identities: ids})...)
			}
		case Survey, KillAll:
			if w.r.IntN(3) == 0 && w.childless() {
				actions = append(actions, m.step(w.now, Event{Kind: Surveyed})...)
			}
		}
	}
	w.invariants()
}

func (w *model) checkEvent(e record.Event) {
	switch e.Kind {
	case record.Overrun:
		w.once("overrun of %s%s%s at %v", e.Process, e.Hook, e.Phase, e.Deadline)
		if e.Late < 0 {
			w.failf("an overrun that is early: %v", e.Late)
		}
	case record.Escalate:
		if e.Process == "" {
			w.once("signal to what is left, pid %d", e.PID)
			return
		}
		w.once("%s of %s", e.Attrs[len(e.Attrs)-1].Value, e.Process)
		i := slices.IndexFunc(w.m.procs, func(p process) bool { return p.Name == e.Process })
		p := &w.m.procs[i]
		for _, j := range p.Before {
			if before := w.procs[j]; before.asked && !before.ended && w.now.Before(w.m.latest(p)) {
				w.failf("%s is stopped before %s is gone", e.Process, w.m.procs[j].Name)
			}
		}
		if e.Offset >= w.m.plan.KillAt || e.Deadline > w.m.plan.KillAt {
			w.failf("a rung at %v until %v, kill_at is %v", e.Offset, e.Deadline, w.m.plan.KillAt)
		}
	case record.ShutdownStart, record.ShutdownEnd, record.Exit, record.PhaseStart:
		if e.Err == "" { // the drain's fallback
			w.once("%s %s", e.Kind, e.Phase)
		}
	}
}

// invariants hold after each step.
func (w *model) invariants() {
	m := w.m
	if !w.t0.IsZero() {
		if m.t0 != w.t0 || m.deadline != w.t0.Add(m.plan.Budget) || m.killAt != w.t0.Add(m.plan.KillAt) {
			w.failf("t0 or a deadline has moved")
		}
		if ok, why, _ := m.ready(w.now); ok || why == "" {
			w.failf("ready again")
		}
		if m.done {
			if w.now.After(m.deadline) {
				w.failf("over %v after the budget", w.now.Sub(m.deadline))
			}
		} else if next := m.next(); next.IsZero() || next.After(m.deadline) {
			w.failf("nothing is waited for by the deadline: next is %v", next)
		}
	}
	w.t0 = m.t0
	phase := slices.Index(record.Phases, m.phase)
	if phase < w.phase {
		w.failf("back from %s to %s", record.Phases[w.phase], m.phase)
	}
	w.phase = phase
	if len(m.actions) > 0 {
		w.failf("actions were left behind")
	}
	s := m.snapshot(w.now)
	if s.Ready != (s.Reason == "") {
		w.failf("ready %v, reason %q", s.Ready, s.Reason)
	}
}

func (w *model) childless() bool {
	for _, p := range append(slices.Clone(w.procs), w.hooks...) {
		if p.asked && !p.ended {
			return false
		}
	}
	return true
}

// pass lets time go on to at, and wakes the machine whenever it asked for.
func (w *model) pass(at time.Time) {
	for same := 0; !w.m.done; {
		next := w.m.next()
		if next.IsZero() || next.After(at) {
			break
		}
		if next.After(w.now) {
			w.now, same = next, 0
		} else if same++; same > 8 {
			w.failf("the machine spins in %s: it wants to be woken at %v, which it was", w.m.phase, next.Sub(w.m.started))
		}
		w.step(Event{Kind: Due})
	}
	if at.After(w.now) {
		w.now = at
	}
}
