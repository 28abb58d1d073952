package supervisor

import (
	"time"

	"graced/internal/record"
)

// handler is what the machine does with an event in a phase.
type handler func(m *machine, now time.Time, e Event)

// table is the whole supervisor: what each event does in each phase. A cell
// that is not here is in empty, with its reason.
var table map[record.Phase][eventKinds]handler

// init breaks the cycle that Go sees: a handler may enter a phase, whose step
// looks into the table.
func init() {
	table = map[record.Phase][eventKinds]handler{
		record.Starting: {
			Caught: (*machine).caught, Spawned: (*machine).spawned, NotSpawned: (*machine).notSpawned,
			Exited: (*machine).exited, Suspended: (*machine).suspended,
			HookStarted: (*machine).hookStarted, HookEnded: (*machine).hookEnded,
			Listening: (*machine).heard, Listeners: (*machine).found, SignalFailed: (*machine).signalFailed,
			Fault: (*machine).fault, Due: (*machine).startDue,
		},
		record.Running: {
			Caught: (*machine).caught, Exited: (*machine).exited, Suspended: (*machine).suspended,
			HookStarted: (*machine).hookStarted, HookEnded: (*machine).hookEnded,
			Listening: (*machine).heard, Listeners: (*machine).found,
			SignalFailed: (*machine).signalFailed, Fault: (*machine).fault, Due: (*machine).startDue,
		},
		record.Delay: {
			Caught: (*machine).caught, Spawned: (*machine).spawned, NotSpawned: (*machine).notSpawned,
			Exited: (*machine).exited, Suspended: (*machine).suspended,
			HookStarted: (*machine).hookStarted, HookEnded: (*machine).hookEnded,
			Listeners: (*machine).listeners, Told: (*machine).told, Askers: (*machine).askers,
			SignalFailed: (*machine).signalFailed, Fault: (*machine).fault, Due: (*machine).delayDue,
		},
		record.Drain: {
			Caught: (*machine).caught, Spawned: (*machine).spawned, NotSpawned: (*machine).notSpawned,
			Exited: (*machine).exited, Suspended: (*machine).suspended,
			HookStarted: (*machine).hookStarted, HookEnded: (*machine).hookEnded,
			Identified: (*machine).drainIdentified, Looked: (*machine).looked,
			SignalFailed: (*machine).signalFailed, Fault: (*machine).fault, Due: (*machine).drainDue,
		},
		record.Stop: {
			Caught: (*machine).caught, Spawned: (*machine).spawned, NotSpawned: (*machine).notSpawned,
			Exited: (*machine).exited, Suspended: (*machine).suspended,
			HookStarted: (*machine).hookStarted, HookEnded: (*machine).hookEnded,
			Identified: (*machine).stopIdentified, SignalFailed: (*machine).signalFailed,
			Fault: (*machine).fault, Due: (*machine).stopDue,
		},
		record.Rest: {
			Caught: (*machine).caught, HookStarted: (*machine).hookStarted,
			Looked: (*machine).restLooked, Surveyed: (*machine).restSurveyed, Reaped: (*machine).restReaped, Fault: (*machine).fault, Due: (*machine).restDue,
		},
		record.Killing: {
			Caught: (*machine).caught, Spawned: (*machine).spawned, NotSpawned: (*machine).notSpawned,
			Exited: (*machine).exited, HookStarted: (*machine).hookStarted, HookEnded: (*machine).hookEnded,
			Surveyed: (*machine).killSurveyed, Reaped: (*machine).killReaped, SignalFailed: (*machine).killRefused,
			Fault: (*machine).fault, Due: (*machine).killDue,
		},
		record.Cleanup: {
			Caught: (*machine).caught, Spawned: (*machine).spawned, NotSpawned: (*machine).notSpawned,
			Exited: (*machine).exited, HookStarted: (*machine).hookStarted, HookEnded: (*machine).hookEnded,
			Fault: (*machine).fault, Due: (*machine).cleanupDue,
		},
	}
}

// Reasons for empty cells that several phases share.
const (
	nobodyAsked   = "nothing asked for it in this phase; an answer that comes late is of no use"
	latched       = "readiness is 503 from the shutdown's start on and never 200 again"
	allStarted    = "every process was started, or failed to, before this phase"
	allGone       = "every process and every hook before this phase is over"
	notYet        = "only a shutdown looks at that"
	noWaitForThem = "only the rest and the kill wait for what was left behind"
	onlyDelay     = "only the delay waits for those who ask"
	justPing      = "that it was taken in is all that was asked"
)

// empty has the cells that table leaves out, each with its reason.
var empty = map[record.Phase]map[EventKind]string{
	record.Starting: {
		Pinged: justPing, Told: onlyDelay, Askers: nobodyAsked, Identified: nobodyAsked,
		Looked: nobodyAsked, Surveyed: nobodyAsked, Reaped: noWaitForThem,
	},
	record.Running: {
		Pinged: justPing, Spawned: allStarted, NotSpawned: allStarted, Told: notYet, Askers: nobodyAsked,
		Identified: nobodyAsked, Looked: nobodyAsked, Surveyed: nobodyAsked, Reaped: noWaitForThem,
	},
	record.Delay: {
		Pinged: justPing, Listening: latched, Identified: nobodyAsked, Looked: nobodyAsked,
		Surveyed: nobodyAsked, Reaped: noWaitForThem,
	},
	record.Drain: {
		Pinged: justPing, Listening: latched, Listeners: nobodyAsked, Told: onlyDelay, Askers: nobodyAsked,
		Surveyed: nobodyAsked, Reaped: noWaitForThem,
	},
	record.Stop: {
		Pinged: justPing, Listening: latched, Listeners: nobodyAsked, Told: onlyDelay, Askers: nobodyAsked,
		Looked: nobodyAsked, Surveyed: nobodyAsked, Reaped: noWaitForThem,
	},
	record.Rest: {
		Pinged: justPing, Spawned: allGone, NotSpawned: allGone, Exited: allGone, Suspended: allGone,
		HookEnded: allGone, Listening: latched, Listeners: nobodyAsked, Told: onlyDelay, Askers: nobodyAsked,
		Identified: nobodyAsked, SignalFailed: "what is left gets its signal once; one that refuses it is killed at the end",
	},
	record.Killing: {
		Pinged: justPing, Suspended: "SIGKILL ends a stopped process too", Listening: latched, Listeners: nobodyAsked,
		Told: onlyDelay, Askers: nobodyAsked, Identified: nobodyAsked, Looked: nobodyAsked,
	},
	record.Cleanup: {
		Pinged: justPing, Suspended: "it is to be killed or could not be", Listening: latched, Listeners: nobodyAsked,
		Told: onlyDelay, Askers: nobodyAsked, Identified: nobodyAsked, Looked: nobodyAsked, Surveyed: nobodyAsked,
		Reaped: noWaitForThem, SignalFailed: "what could not be killed has been told",
	},
	record.Exiting: allEmpty("graced is leaving"),
}

func allEmpty(reason string) map[EventKind]string {
	cells := map[EventKind]string{}
	for k := range eventKinds {
		cells[k] = reason
	}
	return cells
}
