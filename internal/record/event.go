// Package record is what happened and what is: the events that the supervisor
// emits, the snapshot of its state, the report of a shutdown, and the log that
// events are written to. Log, metrics, status and report are readers of the
// same values, so they cannot disagree.
package record

import (
	"log/slog"
	"time"
)

// Kind is the stable name of an event, the field `event` of a log line.
type Kind string

const (
	Start          Kind = "start"
	ProcessStart   Kind = "process_start"
	ProcessReady   Kind = "process_ready"
	Ready          Kind = "ready"
	NotReady       Kind = "not_ready"
	Signal         Kind = "signal"  // one that graced received
	Forward        Kind = "forward" // one that it passed on
	ShutdownStart  Kind = "shutdown_start"
	PhaseStart     Kind = "phase_start"
	PhaseEnd       Kind = "phase_end"
	Escalate       Kind = "escalate" // a rung of a ladder
	Kill           Kind = "kill"
	Overrun        Kind = "overrun"
	ProcessExit    Kind = "process_exit"
	ProcessRestart Kind = "process_restart"
	HookStart      Kind = "hook_start"
	HookEnd        Kind = "hook_end"
	Announce       Kind = "announce"
	Probe          Kind = "probe"
	Reaped         Kind = "reaped"
	ShutdownEnd    Kind = "shutdown_end"
	Exit           Kind = "exit"
)

// Event is one thing that happened. Fields that do not apply are zero and do
// not appear in the log.
type Event struct {
	Time  time.Time
	Kind  Kind
	Level slog.Level
	// Msg is the sentence for a person.
	Msg string

	Process string
	Phase   string
	Hook    string
	Signal  string // its name, SIGTERM
	PID     int
	// Code is an exit code, in the events that have one: process_exit,
	// hook_end, shutdown_end, exit.
	Code int

	// Offset is the time since the shutdown's start; negative: there was none yet.
	Offset time.Duration
	Took   time.Duration // how long what ends with this event went on
	// Deadline is the offset at which something had to be over, Late by how
	// much it was exceeded.
	Deadline time.Duration
	Late     time.Duration
	Err      string
	// Attrs are further fields.
	Attrs []slog.Attr
}

// Before is the Offset of what happens before a shutdown.
const Before time.Duration = -1

// HasCode says whether an event of this kind carries an exit code.
func (k Kind) HasCode() bool {
	switch k {
	case ProcessExit, HookEnd, ShutdownEnd, Exit:
		return true
	}
	return false
}
