// Package plan turns settings into a proved shutdown: who stops in which
// order, when each step happens at the earliest and at the latest, and that
// all of it fits into the platform's grace. It is pure: no clock, no file, no
// process.
package plan

import (
	"syscall"
	"time"

	"graced/signals"
)

// Spec is what was asked for, before it is known whether it fits. Times are
// durations from the shutdown's start (t0) or lengths; a Setting that nobody
// set has the zero Source and takes its default in New.
type Spec struct {
	Platform Platform

	Grace      Setting[time.Duration] // the platform's, from its stop signal to its SIGKILL
	GraceSpent Setting[time.Duration] // of it, what is used before the signal arrives
	Margin     Setting[time.Duration] // of it, what graced never uses
	Cleanup    Setting[time.Duration] // kept for post_stop hooks, the report, the last metrics

	Delay    Setting[Delay]
	Drain    Setting[Drain]
	DrainMax Setting[time.Duration]
	Quiet    Setting[time.Duration] // a connection that was answered is idle after this long; default 2s
	Unsure   Setting[time.Duration] // one that cannot be told is idle after this long; default 5s
	Ports    Setting[[]uint16]      // whose connections count; default: every port that the processes listen on

	Stops  Setting[[]syscall.Signal] // the stop signals; default signals.Stops and the programs' own
	Repeat Setting[Repeat]

	Processes []Process // in the file's order; wrap mode has one
	Hooks     []Hook    // in the file's order
	ExitCodes Setting[[]ExitCode]
}

// Process is one program that graced runs.
type Process struct {
	Name    string
	Command []string // argv; Command[0] is looked up in PATH
	After   []string // the names of the processes that must be ready before it starts; it stops before them
	Main    bool     // its end starts the shutdown and its code is graced's; New makes the last one main if none is

	Env    []string // NAME=VALUE, on top of graced's own environment
	Dir    string   // "": graced's own
	User   string   // a name or a number; "": graced's own
	Group  string
	Target Setting[Target]

	// First replaces the first signal of the default ladder; no signal means
	// auto. It is not read when Ladder is set.
	First   Setting[syscall.Signal]
	Ladder  Setting[[]Rung]
	Rewrite signals.Rewrite

	// Ready is how the process becomes ready.
	Ready Setting[Ready]

	// Source is where the process was defined.
	Source Source
}

// Rung is one stop signal of a ladder and how long it is given.
type Rung struct {
	Signal syscall.Signal
	// Wait is counted from when the signal was sent. Open means that it
	// was not given: the rung takes its share of what remains.
	Wait   time.Duration
	Open   bool
	Source Source
}

// Hook is a command that graced runs at a point of its life.
type Hook struct {
	Name    string
	At      Point
	Command []string
	Timeout time.Duration
	Source  Source
	// TimeoutFrom is where the time-out was set.
	TimeoutFrom Source
}

// Point is when a hook runs.
type Point string

const (
	PreStart  Point = "pre_start"
	PostReady Point = "post_ready"
	PreStop   Point = "pre_stop"
	PostStop  Point = "post_stop"
)

// Points has every Point, for messages and checks.
var Points = []Point{PreStart, PostReady, PreStop, PostStop}

// Delay is a duration, or auto: until those who ask for readiness have been told.
type Delay struct {
	Auto bool
	For  time.Duration
}

// Drain is what the drain waits for.
type Drain string

const (
	DrainAuto   Drain = "auto"   // as the table of programs says of those that stop first
	DrainIdle   Drain = "idle"   // until no inbound connection is busy
	DrainClosed Drain = "closed" // until none is left
	DrainOff    Drain = "off"    // not at all
)

// Drains has every Drain, for messages and checks.
var Drains = []Drain{DrainAuto, DrainIdle, DrainClosed, DrainOff}

// Repeat is what a repeated stop signal does.
type Repeat string

const (
	RepeatIgnore   Repeat = "ignore"
	RepeatEscalate Repeat = "escalate" // on to the next rung at once
)

// Repeats has every Repeat, for messages and checks.
var Repeats = []Repeat{RepeatIgnore, RepeatEscalate}

// Target is who gets a process's forwarded and stop signals.
type Target string

const (
	TargetProcess Target = "process"
	TargetGroup   Target = "group" // its process group
	TargetAll     Target = "all"   // it and all its descendants
)

// Targets has every Target, for messages and checks.
var Targets = []Target{TargetProcess, TargetGroup, TargetAll}

// Ready is how a process is found to be ready.
type Ready string

const (
	ReadyListening Ready = "listening" // once it listens on a TCP port
	ReadyStarted   Ready = "started"   // once it runs
)

// ExitCode maps one exit code of graced to another.
type ExitCode struct {
	From    int  // an exact code
	Stopped bool // in place of From: 128+N where the ladder sent N before kill_at
	To      int
}

// Setting is a value and where it came from.
type Setting[T any] struct {
	V    T
	From Source
}

// Set says whether somebody set it: a person in any way, or the preset of the platform.
func (s Setting[T]) Set() bool { return s.From.Kind != ByDefault }

// Or is the value, or d where nobody set one.
func (s Setting[T]) Or(d T) T {
	if s.Set() {
		return s.V
	}
	return d
}

// Given is a Setting of V from a source.
func Given[T any](v T, from Source) Setting[T] { return Setting[T]{V: v, From: from} }

// Source is where a setting came from.
type Source struct {
	Kind SourceKind
	Name string // the flag (--grace), the variable (GRACED_GRACE), the attribute (shutdown.delay) or the platform
	File string // of ByFile
	Line int    // of ByFile, from 1
	Col  int    // of ByFile, from 1
	// Byte offsets of the value's text in the file, for a snippet.
	Start, End int
}

// SourceKind orders the sources: a higher one wins.
type SourceKind uint8

const (
	ByDefault SourceKind = iota
	ByPreset
	ByFile
	ByEnv
	ByFlag
)

// ByPerson says whether a person chose it, not graced.
func (s Source) ByPerson() bool { return s.Kind > ByPreset }
