package probe

import (
	"time"

	"graced/internal/record"
)

// Status is the JSON of /statusz. Times are RFC 3339 with the zone, durations
// are seconds. What does not apply is left out; a name never changes its
// meaning, new ones may come.
type Status struct {
	Ready     bool   `json:"ready"`
	Reason    string `json:"reason,omitempty"` // why not ready
	EverReady bool   `json:"ever_ready"`
	// Phase: starting, running, delay, drain, stop, rest, kill, cleanup, exit.
	Phase         record.Phase `json:"phase"`
	Started       time.Time    `json:"started,omitzero"`
	UptimeSeconds float64      `json:"uptime_seconds"`
	// NotReadySince is when a drain or a shutdown began.
	NotReadySince time.Time `json:"not_ready_since,omitzero"`

	GraceSeconds  float64 `json:"grace_seconds"`
	BudgetSeconds float64 `json:"budget_seconds"`

	// Shutdown is there once one has started.
	Shutdown  *StatusShutdown `json:"shutdown,omitempty"`
	Processes []StatusProcess `json:"processes"`
	// Connections are the inbound ones of the processes, where they were counted.
	Connections *StatusConnections `json:"connections,omitempty"`

	// By the signal's name.
	SignalsReceived map[string]uint64 `json:"signals_received,omitempty"`
	// By the process's name, then the signal's.
	SignalsForwarded map[string]map[string]uint64 `json:"signals_forwarded,omitempty"`
	// By the process's name.
	Kills map[string]uint64 `json:"kills,omitempty"`
	// By the phase, and the hook's name.
	Overruns map[string]StatusOverrun `json:"overruns,omitempty"`
	Hooks    map[string]StatusHook    `json:"hooks,omitempty"`
}

// StatusShutdown is a shutdown under way.
type StatusShutdown struct {
	Cause    string    `json:"cause"` // "SIGTERM", "process web exited"
	Started  time.Time `json:"started"`
	KillAt   time.Time `json:"kill_at"`
	Deadline time.Time `json:"deadline"` // by then graced has exited
	// RemainingSeconds is until Deadline, at least 0.
	RemainingSeconds float64       `json:"remaining_seconds"`
	Phases           []StatusPhase `json:"phases"` // those that have begun, in order
}

// StatusPhase is a phase of the shutdown; Ended is missing while it goes on,
// Seconds is how long it took, or has taken so far.
type StatusPhase struct {
	Phase   record.Phase `json:"phase"`
	Started time.Time    `json:"started"`
	Ended   time.Time    `json:"ended,omitzero"`
	Seconds float64      `json:"seconds"`
}

// StatusProcess is one process, in the order of the configuration.
type StatusProcess struct {
	Name string `json:"name"`
	// State: waiting, starting, running, stopping, killed, exited.
	State   string    `json:"state"`
	PID     int       `json:"pid,omitempty"`
	Started time.Time `json:"started,omitzero"`
	Ready   bool      `json:"ready"`
	// ExitCode is that of its last exit, 128+N for signal N; missing if it
	// never exited.
	ExitCode *int `json:"exit_code,omitempty"`
}

// StatusConnections counts connections by what they do.
type StatusConnections struct {
	Busy       int `json:"busy"`
	Idle       int `json:"idle"`
	CloseWait  int `json:"close_wait"`
	Unaccepted int `json:"unaccepted"`
}

// StatusOverrun is how often a phase went over its deadline, and by how much
// the last time.
type StatusOverrun struct {
	Count       uint64  `json:"count"`
	LastSeconds float64 `json:"last_seconds"`
}

// StatusHook is the last run of a hook.
type StatusHook struct {
	Seconds float64 `json:"seconds"`
}

// StatusOf is the status that the snapshot has at now.
func StatusOf(s *record.Snapshot, now time.Time) Status {
	st := Status{
		Ready:         isReady(s),
		EverReady:     s.EverReady,
		Phase:         s.Phase,
		Started:       s.Started,
		NotReadySince: s.NotReadySince,
		GraceSeconds:  s.Grace.Seconds(),
		BudgetSeconds: s.Budget.Seconds(),
		Shutdown:      statusShutdown(s, now),
		Processes:     make([]StatusProcess, 0, len(s.Processes)),

		SignalsReceived: s.Totals.SignalsReceived,
		Kills:           s.Totals.Kills,
	}
	if !st.Ready {
		st.Reason = reason(s, now)
	}
	if !s.Started.IsZero() {
		st.UptimeSeconds = max(0, now.Sub(s.Started)).Seconds()
	}
	for _, p := range s.Processes {
		one := StatusProcess{Name: p.Name, State: p.State, PID: p.PID, Started: p.Started, Ready: p.Ready}
		if p.Exited {
			one.ExitCode = &p.Code
		}
		st.Processes = append(st.Processes, one)
	}
	if c := s.Connections; c.Known {
		st.Connections = &StatusConnections{Busy: c.Busy, Idle: c.Idle, CloseWait: c.CloseWait, Unaccepted: c.Unaccepted}
	}
	st.addTotals(s.Totals)
	return st
}

func statusShutdown(s *record.Snapshot, now time.Time) *StatusShutdown {
	if s.T0.IsZero() {
		return nil
	}
	sd := &StatusShutdown{
		Cause:            s.Cause,
		Started:          s.T0,
		KillAt:           s.KillAt,
		Deadline:         s.Deadline,
		RemainingSeconds: s.Remaining(now).Seconds(),
		Phases:           make([]StatusPhase, 0, len(s.Phases)),
	}
	for _, p := range s.Phases {
		end := p.End
		if end.IsZero() {
			end = now
		}
		sd.Phases = append(sd.Phases, StatusPhase{Phase: p.Phase, Started: p.Start, Ended: p.End, Seconds: end.Sub(p.Start).Seconds()})
	}
	return sd
}

func (st *Status) addTotals(t record.Totals) {
	for key, count := range t.SignalsForwarded {
		if st.SignalsForwarded == nil {
			st.SignalsForwarded = make(map[string]map[string]uint64)
		}
		if st.SignalsForwarded[key.Process] == nil {
			st.SignalsForwarded[key.Process] = make(map[string]uint64)
		}
		st.SignalsForwarded[key.Process][key.Signal] = count
	}
	for phase, o := range t.Overruns {
		if st.Overruns == nil {
			st.Overruns = make(map[string]StatusOverrun)
		}
		st.Overruns[phase] = StatusOverrun{Count: o.Count, LastSeconds: o.Last.Seconds()}
	}
	for hook, r := range t.Hooks {
		if st.Hooks == nil {
			st.Hooks = make(map[string]StatusHook)
		}
		st.Hooks[hook] = StatusHook{Seconds: r.Took.Seconds()}
	}
}
