package supervisor

import (
	"fmt"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
	"graced/signals"
)

// snapshot is the state as everybody may read it.
func (m *machine) snapshot(now time.Time) *record.Snapshot {
	ready, reason, lookup := m.ready(now)
	s := &record.Snapshot{
		Time: now, Started: m.started, Phase: m.phase,
		Ready: ready, Reason: reason, AwaitsListener: lookup, EverReady: m.everReady,
		NotReadySince: m.notReadySince,
		T0:            m.t0, Deadline: m.deadline, KillAt: m.killAt, Cause: m.cause,
		Grace: m.plan.Grace, Budget: m.plan.Budget,
		Connections: m.front.look.Connections,
		Phases:      append([]record.PhaseTime(nil), m.phases...),
		Totals:      m.totals,
	}
	for i := range m.procs {
		p := &m.procs[i]
		s.Processes = append(s.Processes, record.ProcessState{
			Name: p.Name, State: p.state.String(), PID: p.pid, Started: p.started,
			Ready:  p.live() && (m.readyMode(p) == plan.ReadyStarted || m.seen(p)),
			Exited: p.state == gone, Code: p.code,
		})
	}
	return s
}

// report is the last word, or the first one at t0.
func (m *machine) report(now time.Time) *record.Report {
	r := &record.Report{
		Cause: m.cause, Start: m.t0, Done: m.done, Code: m.code, Took: now.Sub(m.t0),
		Grace: m.plan.Grace, GraceFrom: m.graceFrom(), Budget: m.plan.Budget,
		Overruns: m.overruns, Killed: m.killed(), Errors: m.problems,
	}
	for _, p := range m.phases {
		end := p.End
		if end.IsZero() {
			end = now
		}
		r.Phases = append(r.Phases, record.ReportPhase{Phase: p.Phase, Took: end.Sub(p.Start)})
	}
	for i := range m.procs {
		p := &m.procs[i]
		if p.state != gone {
			continue
		}
		one := record.ReportProcess{Name: p.Name, Code: p.code, Took: max(0, p.ended.Sub(m.t0))} // 0: it had ended before
		switch {
		case p.slain:
			one.Signal = "SIGKILL"
		case p.rung >= 0:
			one.Signal = signals.Name(p.ladder[p.rung])
		}
		r.Processes = append(r.Processes, one)
	}
	if c := m.front.look.Connections; c.Known && c.Busy > 0 {
		r.Connections = fmt.Sprintf("%d busy at the last look", c.Busy)
	}
	return r
}

func (m *machine) graceFrom() string {
	from := m.plan.GraceFrom.String()
	switch {
	case !m.plan.Assumed():
		return from
	case from == "":
		return "assumed"
	}
	return "assumed, " + from
}
