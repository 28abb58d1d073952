package record

import (
	"maps"
	"slices"
	"time"
)

// Snapshot is the state at one moment, never changed once it is published. The
// supervisor makes one after each step that changed something.
type Snapshot struct {
	Time    time.Time
	Started time.Time // when graced started

	Phase Phase
	// Ready is the answer to /readyz. Reason says why not.
	Ready  bool
	Reason string
	// EverReady: readiness was 200 once.
	EverReady bool
	// AwaitsListener: what is still missing for Ready is that the processes
	// listen on a TCP port, which is looked up when somebody asks.
	AwaitsListener bool
	// NotReadySince is the start of the present time of not being ready that
	// a drain or a shutdown began; zero before.
	NotReadySince time.Time

	// T0 is when the shutdown started, zero before.
	T0       time.Time
	Deadline time.Time // T0 + budget: by then graced has exited
	KillAt   time.Time
	Cause    string // what started it: "SIGTERM", "process web exited"

	Grace, Budget time.Duration
	Processes     []ProcessState
	Connections   Connections // of the last look of the drain
	Phases        []PhaseTime // of the phases that a shutdown has begun, in order
	Totals        Totals
}

// Phase is where graced is in its life.
type Phase string

const (
	Starting Phase = "starting"
	Running  Phase = "running"
	Delay    Phase = "delay"
	Drain    Phase = "drain"
	Stop     Phase = "stop"
	Rest     Phase = "rest"
	Killing  Phase = "kill"
	Cleanup  Phase = "cleanup"
	Exiting  Phase = "exit"
)

// Phases has every Phase, in the order of a life.
var Phases = []Phase{Starting, Running, Delay, Drain, Stop, Rest, Killing, Cleanup, Exiting}

// Stopping says whether p is a phase of a shutdown.
func (p Phase) Stopping() bool { return p != Starting && p != Running }

// PhaseTime is how long a phase of the shutdown took; still going where End is zero.
type PhaseTime struct {
	Phase      Phase
	Start, End time.Time
}

// ProcessState is one process in a Snapshot.
type ProcessState struct {
	Name    string
	State   string // waiting, starting, running, stopping, killed, exited
	PID     int    // 0: none
	Started time.Time
	Ready   bool
	Exited  bool
	Code    int // of the last exit: as a shell says it, 128+N for signal N

	Restarts uint64       // how often it was started anew
	Probes   []ProbeState // in the file's order; replaced, never changed, once published
}

// ProbeState is one probe of a process in a Snapshot.
type ProbeState struct {
	Name     string // ready, live, startup
	Up       bool   // what it said last, by its rise and fall
	Failures uint64 // single failures
}

// Connections counts the processes' inbound connections. Known is false where
// nobody has looked.
type Connections struct {
	Known                             bool
	Busy, Idle, CloseWait, Unaccepted int
}

// Totals are counters that only grow. The maps of a published snapshot are
// never changed: Clone before counting.
type Totals struct {
	SignalsReceived  map[string]uint64     // by signal
	SignalsForwarded map[Forwarded]uint64  // by process and signal
	Overruns         map[string]Overshoot  // by phase
	Kills            map[string]uint64     // by process
	Hooks            map[string]HookResult // by hook, its last run
	Announcements    map[Announced]uint64  // by announcement and result
}

// Forwarded is the key of Totals.SignalsForwarded.
type Forwarded struct{ Process, Signal string }

// Announced is the key of Totals.Announcements. Result is "ok" or "error".
type Announced struct{ Announce, Result string }

// Overshoot is how often a phase overran its deadline, and by how much last.
type Overshoot struct {
	Count uint64
	Last  time.Duration
}

// HookResult is how long a hook took.
type HookResult struct{ Took time.Duration }

// Clone copies t so that it can be counted on.
func (t Totals) Clone() Totals {
	return Totals{
		SignalsReceived:  maps.Clone(t.SignalsReceived),
		SignalsForwarded: maps.Clone(t.SignalsForwarded),
		Overruns:         maps.Clone(t.Overruns),
		Kills:            maps.Clone(t.Kills),
		Hooks:            maps.Clone(t.Hooks),
		Announcements:    maps.Clone(t.Announcements),
	}
}

// Clone copies s, with its slices, so that it can be changed.
func (s Snapshot) Clone() Snapshot {
	s.Processes = slices.Clone(s.Processes)
	s.Phases = slices.Clone(s.Phases)
	s.Totals = s.Totals.Clone()
	return s
}

// Remaining is what is left until the deadline at now; 0 without a shutdown.
func (s *Snapshot) Remaining(now time.Time) time.Duration {
	if s.T0.IsZero() {
		return 0
	}
	return max(0, s.Deadline.Sub(now))
}
