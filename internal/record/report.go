package record

import "time"

// Report is the last word on a shutdown, for the file that a platform or a
// person reads afterwards (Kubernetes' termination log).
type Report struct {
	Version     string        // of graced; "" is left out
	Cause       string        // what started the shutdown: SIGTERM, "process web exited"
	Start       time.Time     // t0
	Done        bool          // false in the report written at t0
	Code        int           // graced's exit code
	Took        time.Duration // t0 until now
	Grace       time.Duration
	GraceFrom   string // "assumed", "--grace", "kubernetes", …
	Budget      time.Duration
	Phases      []ReportPhase
	Processes   []ReportProcess
	Overruns    []ReportOverrun
	Killed      int      // processes that needed SIGKILL
	Errors      []string // failed hooks, what could not be killed
	Connections string   // what was still busy at the drain's ceiling; "" nothing
}

// ReportPhase is a phase of the shutdown and how long it took.
type ReportPhase struct {
	Phase Phase
	Took  time.Duration
}

// ReportProcess is how a process ended.
type ReportProcess struct {
	Name   string
	Code   int
	Signal string // the last signal that graced sent it; SIGKILL: it was killed
	Took   time.Duration
}

// ReportOverrun is a deadline that was missed.
type ReportOverrun struct {
	What     string // the phase, hook or process
	Deadline time.Duration
	Late     time.Duration
}
