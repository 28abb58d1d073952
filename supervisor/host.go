// Package supervisor walks the shutdown's timeline: one loop that owns all
// state, a pure step from state and event to actions, and a host that carries
// the actions out.
package supervisor

import (
	"syscall"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
)

// Host is the world as the loop needs it. Its methods are called from the
// loop's goroutine only and must not block.
type Host interface {
	// Do carries out an action. What comes of it later arrives in the Inbox;
	// what is known at once is returned.
	Do(Action) (Event, bool)
	// Identify says what process i is at this moment.
	Identify(i int) plan.Identity
	// Emit hands an event to the log and whoever else reads events.
	Emit(record.Event)
	// Publish makes a snapshot the one that everybody reads.
	Publish(*record.Snapshot)
}

// Action is one thing that the machine wants done.
type Action struct {
	Kind   ActionKind
	ID     int            // of a process or hook
	Signal syscall.Signal // of Signal, Broadcast and SignalLeft
	Rung   bool           // of Signal: it is one of a ladder's
	Left   Leftover       // of SignalLeft
	Until  plan.Drain     // of Inspect
	Event  record.Event   // of Emit; of Signal: what is emitted once it was sent, if it has a Msg
	Since  time.Time      // of AskAskers: when not-ready began
	Report *record.Report // of WriteReport
	Wait   time.Duration  // of WriteReport: at most this long, 0: do not wait
}

// ActionKind says what an Action is about.
type ActionKind uint8

const (
	// Spawn starts process ID. Spawned or NotSpawned follows.
	Spawn ActionKind = iota
	// SpawnHook starts hook ID. HookStarted or HookEnded follows.
	SpawnHook
	// Signal sends Signal to process ID, or to whom its target names. A
	// SignalFailed is returned if it could not be sent.
	Signal
	// SignalHook sends Signal to the process group of hook ID.
	SignalHook
	// Continue sends SIGCONT to the group of process ID.
	Continue
	// SignalLeft sends Signal to Left.
	SignalLeft
	// Broadcast sends Signal to everything that graced may signal.
	Broadcast
	// KillAll sends SIGKILL to everything, and goes on where /proc must be
	// walked for it. Surveyed follows.
	KillAll
	// Survey looks what is left. Surveyed is returned or follows.
	Survey
	// IdentifyAll asks what the processes are. Identified is returned.
	IdentifyAll
	// FindListeners looks whether the processes listen on a TCP port.
	// Listeners follows.
	FindListeners
	// AskAskers asks whether those who ask for readiness have looked
	// away since Since. Askers is returned.
	AskAskers
	// Inspect looks at the connections. Looked follows.
	Inspect
	// FindUndelivered looks for answers that are written and not delivered.
	// Looked follows.
	FindUndelivered
	// WriteReport writes Report.
	WriteReport
	// Emit hands Event to the sinks.
	Emit
	// Return gives the terminal back.
	Return
)

// Event is one thing that happened.
type Event struct {
	Kind   EventKind
	ID     int            // of a process or hook
	PID    int            // of Spawned
	Signal syscall.Signal // of Caught, Suspended, SignalFailed
	Stop   bool           // of Caught: it is a stop signal
	Code   int            // of Exited, HookEnded: as a shell says it; of NotSpawned: 126 or 127
	Killed syscall.Signal // of Exited, HookEnded: what it died of, 0 if it left by itself
	Core   bool           // of Exited: a core was written
	Err    error          // of NotSpawned, SignalFailed, HookEnded, Surveyed

	Identities []plan.Identity // of Identified
	Found      bool            // of Listeners: there is one
	Listens    []bool          // of Listening, Listeners: which processes do; nil: any of them may
	Away       bool            // of Askers
	Next       time.Time       // of Askers, Looked: when it is worth asking again
	Look       Look            // of Looked
	Left       []Leftover      // of Surveyed
	Unseen     bool            // of Surveyed: something is left, but not what
	Where      string          // of Fault
	Done       chan struct{}   // closed once the event was taken in, if it is not nil
}

// EventKind says what an Event is about.
type EventKind uint8

const (
	Caught       EventKind = iota // a signal came
	Spawned                       // process ID runs
	NotSpawned                    // process ID could not be started
	Exited                        // process ID ended
	Suspended                     // process ID was stopped by Signal
	HookStarted                   // hook ID runs
	HookEnded                     // hook ID ended, or could not be started (Err)
	Listening                     // somebody asked for readiness and a listener was found
	Listeners                     // what FindListeners found
	Told                          // somebody who asks for readiness was told "not ready"
	Askers                        // what AskAskers found
	Identified                    // what IdentifyAll found
	Looked                        // what Look found
	Surveyed                      // what Survey found
	Reaped                        // an orphan was reaped, or no child is left
	SignalFailed                  // a signal could not be sent
	Fault                         // a panic in graced itself
	Pinged                        // somebody wants to know whether the loop lives
	Due                           // the time that the machine asked for has come
	eventKinds
)

var eventNames = [eventKinds]string{
	"caught", "spawned", "not_spawned", "exited", "suspended", "hook_started", "hook_ended", "listening",
	"listeners", "told", "askers", "identified", "looked", "surveyed", "reaped", "signal_failed", "fault", "pinged", "due",
}

func (k EventKind) String() string { return eventNames[k] }

// Leftover is a process that is left when graced's own are gone.
type Leftover struct {
	PID     int
	Start   uint64 // with PID, it names the process for ever
	Name    string
	ID      plan.Identity
	Ignores uint64 // its ignored signals: bit N-1 is signal N
	Reached bool   // it got a signal of a process's ladder, as one of its group or tree
}

// Look is what a look at the connections found.
type Look struct {
	Err         error
	Quiet       bool // the drain may end
	Connections record.Connections
	Busy        []Busy // some of those that are busy
	Undelivered int    // answers that are written and not delivered
	Fallback    string // why the kernel's diagnostics are not used, "" if they are
}

// Busy is a connection that keeps the drain going.
type Busy struct {
	Peer string
	Rule string
	Age  time.Duration
}
