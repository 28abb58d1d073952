package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
	"graced/probe"
	"graced/reaper"
	"graced/supervisor"
)

// host is where the supervisor meets the world. The ids of processes are
// their indexes in the plan; those of hooks follow.
type host struct {
	plan     *plan.Plan
	reaper   *reaper.Reaper
	log      *record.Log
	server   *probe.Server // nil: none
	look     *looker
	terminal *terminal
	procs    []reaper.Command
	hooks    []reaper.Command
	report   string // the path, "" none
	create   bool   // the report's file may be made

	inbox      chan supervisor.Event
	gone       context.Context
	snap       atomic.Pointer[record.Snapshot]
	surveying  atomic.Bool
	orphans    uint64 // those that were told of; the loop's
	reached    reached
	signalling atomic.Int32 // trees that are being signalled, or wait for it
	writing    sync.Mutex   // the report
	final      atomic.Bool  // the last report is asked for
}

func (h *host) hookID(i int) reaper.ID { return reaper.ID(len(h.procs) + i) }

// send puts an event into the inbox, unless the loop is over.
func (h *host) send(e supervisor.Event) {
	select {
	case h.inbox <- e:
	case <-h.gone.Done():
	}
}

// background runs fn on a goroutine whose panic is an event.
func (h *host) background(where string, fn func()) {
	go func() {
		defer func() {
			if v := recover(); v != nil {
				h.fault(where, v, debug.Stack())
			}
		}()
		fn()
	}()
}

// fault tells of a panic: once in the log with its stack, once to the loop. It
// does not wait for the loop, which may be what panicked.
func (h *host) fault(where string, v any, stack []byte) {
	if len(stack) > 4096 {
		stack = stack[:4096]
	}
	h.log.Emit(record.Event{Time: time.Now(), Kind: record.Signal, Level: slog.LevelError, Msg: "panic in graced", Offset: record.Before,
		Err: fmt.Sprintf("%v\n%s", v, stack), Attrs: []slog.Attr{slog.String("where", where)}})
	go h.send(supervisor.Event{Kind: supervisor.Fault, Where: where, Err: fmt.Errorf("%v", v)})
}

// Emit implements supervisor.Host.
func (h *host) Emit(e record.Event) { h.log.Emit(e) }

// Publish implements supervisor.Host.
func (h *host) Publish(s *record.Snapshot) { h.snap.Store(s) }

// Identify implements supervisor.Host.
func (h *host) Identify(i int) plan.Identity {
	pid, ok := h.reaper.PID(reaper.ID(i))
	if !ok {
		return plan.Identity{}
	}
	id := identify(pid, i == h.plan.Main && h.terminal.held)
	if id.Exe == "" && id.Comm == "" && len(id.Title) == 0 {
		id.Title = h.procs[i].Argv // no /proc: what was asked for
	}
	return id
}

// Do implements supervisor.Host.
func (h *host) Do(a supervisor.Action) (supervisor.Event, bool) {
	switch a.Kind {
	case supervisor.Spawn:
		if !h.reaper.Spawn(reaper.ID(a.ID), h.procs[a.ID]) {
			return supervisor.Event{Kind: supervisor.NotSpawned, ID: a.ID, Code: codeFailed, Err: errors.New("too many starts at one time")}, true
		}
	case supervisor.SpawnHook:
		if !h.reaper.Spawn(h.hookID(a.ID), h.hooks[a.ID]) {
			return supervisor.Event{Kind: supervisor.HookEnded, ID: a.ID, Code: codeFailed, Err: errors.New("too many starts at one time")}, true
		}
	case supervisor.Signal:
		return h.signal(a)
	case supervisor.SignalHook:
		_ = h.reaper.Signal(h.hookID(a.ID), a.Signal, true) // it may be gone: its end is then on its way
	case supervisor.Continue:
		_ = h.reaper.Signal(reaper.ID(a.ID), syscall.SIGCONT, true)
	case supervisor.SignalLeft:
		_ = h.reaper.SignalProcess(reaper.Descendant{PID: a.Left.PID, Start: a.Left.Start}, a.Signal)
	case supervisor.Broadcast:
		_ = h.reaper.SignalAll(a.Signal)
	case supervisor.KillAll:
		h.reaper.KillNow()
		return h.survey(true)
	case supervisor.Survey:
		return h.survey(false)
	case supervisor.IdentifyAll:
		ids := make([]plan.Identity, len(h.procs))
		for i := range ids {
			ids[i] = h.Identify(i)
		}
		return supervisor.Event{Kind: supervisor.Identified, Identities: ids}, true
	case supervisor.FindListeners:
		h.background("listeners", func() {
			found, err := h.look.listening()
			h.send(supervisor.Event{Kind: supervisor.Listeners, Found: len(found) > 0 || err != nil, Listens: h.listens(found), Err: err})
		})
	case supervisor.AskAskers:
		if h.server == nil {
			return supervisor.Event{Kind: supervisor.Askers, Away: true}, true
		}
		away, next := h.server.Askers().Away(time.Now(), a.Since)
		return supervisor.Event{Kind: supervisor.Askers, Away: away, Next: next}, true
	case supervisor.Inspect:
		h.background("drain", func() { h.send(h.look.inspect(a.Until)) })
	case supervisor.FindUndelivered:
		h.background("undelivered", func() { h.send(h.look.undelivered()) })
	case supervisor.WriteReport:
		h.writeReport(a)
	case supervisor.Return:
		h.terminal.giveBack()
	}
	return supervisor.Event{}, false
}

// signal sends a signal to whom the process's target names.
func (h *host) signal(a supervisor.Action) (supervisor.Event, bool) {
	id, target := reaper.ID(a.ID), h.plan.Processes[a.ID].Target.Or(plan.TargetProcess)
	pid, ok := h.reaper.PID(id) // before: it may die of the signal, and be reaped, at once
	err := h.reaper.Signal(id, a.Signal, target == plan.TargetGroup)
	switch {
	case target == plan.TargetGroup && a.Rung && ok && err == nil:
		h.reached.group(pid)
	case target == plan.TargetAll:
		h.signalTree(a)
	}
	if err != nil {
		return supervisor.Event{Kind: supervisor.SignalFailed, ID: a.ID, Signal: a.Signal, Err: err}, true
	}
	return supervisor.Event{}, false
}

// listens says which processes have one of these listening sockets open, where
// there are several and of some it was written that they have to listen. One
// whose descriptors cannot be read may be the one.
func (h *host) listens(inodes []uint32) []bool {
	if len(h.plan.Processes) == 1 || !slices.ContainsFunc(h.plan.Processes, func(p plan.Stopping) bool { return p.Ready.Set() }) {
		return nil
	}
	which := make([]bool, len(h.plan.Processes))
	for i := range which {
		held, all := h.reaper.HoldersIn(reaper.ID(i), inodes)
		which[i] = len(held) > 0 || !all
	}
	return which
}

// maxSignalling bounds the signals that wait for the trees before them: a /proc
// that hangs holds up all of them, and whoever sends signals can go on for ever.
const maxSignalling = 64

// signalTree sends a signal to the descendants of a process, those of one
// signal after those of the one before.
func (h *host) signalTree(a supervisor.Action) {
	if h.signalling.Add(1) > maxSignalling {
		h.signalling.Add(-1)
		return
	}
	before, done := h.reached.tree()
	h.background("tree", func() {
		defer h.signalling.Add(-1)
		defer close(done)
		<-before
		tree, _ := h.reaper.SignalTree(reaper.ID(a.ID), a.Signal)
		if a.Rung {
			h.reached.add(tree)
		}
	})
}

// survey looks what is left. That nothing is can be asked in one system call;
// else /proc is walked, on another goroutine, one walk at a time.
func (h *host) survey(kill bool) (supervisor.Event, bool) {
	if h.reaper.Childless() {
		return supervisor.Event{Kind: supervisor.Surveyed}, true
	}
	if !h.surveying.CompareAndSwap(false, true) {
		return supervisor.Event{}, false // the one that is under way will tell
	}
	signalled := h.reached.trees()
	h.background("survey", func() {
		walk := h.reaper.KillTree
		if !kill { // the kill waits for nobody
			<-signalled
			walk = h.reaper.Descendants
		}
		tree, err := walk()
		e := supervisor.Event{Kind: supervisor.Surveyed, Err: err, Unseen: errors.Is(err, reaper.ErrNoProc)}
		for _, d := range tree {
			left := leftover(d)
			left.Reached = h.reached.by(d)
			e.Left = append(e.Left, left)
		}
		h.surveying.Store(false)
		h.send(e)
	})
	return supervisor.Event{}, false
}

// writeReport writes the report beside the loop; a file system can hang. The
// last one is waited for, within what is left.
func (h *host) writeReport(a supervisor.Action) {
	if h.report == "" {
		return
	}
	done := make(chan struct{})
	final := a.Wait > 0
	if final {
		h.final.Store(true)
	}
	h.background("report", func() {
		defer close(done)
		h.writing.Lock() // one after the other: the first must not land on the last
		defer h.writing.Unlock()
		if !final && h.final.Load() {
			return
		}
		report := *a.Report
		report.Version = ownVersion()
		if err := record.WriteReport(h.report, h.create, report); err != nil {
			h.log.Emit(record.Event{Time: time.Now(), Kind: record.Exit, Level: slog.LevelWarn, Msg: "the report could not be written", Offset: record.Before, Err: err.Error()})
		}
	})
	if a.Wait <= 0 {
		return
	}
	timer := time.NewTimer(a.Wait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// tellReaped logs how many orphans were reaped since it last did. There is one
// event for all that came within a few milliseconds: a program that forks without
// end must not fill the log.
func (h *host) tellReaped() {
	n := h.reaper.Orphans()
	if n == h.orphans {
		return
	}
	e := record.Event{Time: time.Now(), Kind: record.Reaped, Level: slog.LevelDebug, Msg: "orphans reaped", Offset: record.Before,
		Attrs: []slog.Attr{slog.Uint64("orphans", n-h.orphans), slog.Uint64("total", n)}}
	if s := h.snap.Load(); !s.T0.IsZero() {
		e.Offset = e.Time.Sub(s.T0)
	}
	h.orphans = n
	h.Emit(e)
}

// children turns what the reaper says into the supervisor's events.
func (h *host) children() []supervisor.Event {
	var events []supervisor.Event
	h.tellReaped()
	for _, e := range h.reaper.Take() {
		id, isHook := int(e.ID), int(e.ID) >= len(h.procs)
		if isHook {
			id -= len(h.procs)
		}
		out := supervisor.Event{ID: id, PID: e.PID}
		switch e.Kind {
		case reaper.Started:
			out.Kind = supervisor.Spawned
			if isHook {
				out.Kind = supervisor.HookStarted
			}
		case reaper.NotStarted:
			out.Kind, out.Code, out.Err = supervisor.NotSpawned, reaper.NotStartedCode(e.Err), e.Err
			if isHook {
				out.Kind = supervisor.HookEnded
			}
		case reaper.Exited:
			out.Kind, out.Code = supervisor.Exited, e.Status.ExitStatus()
			if e.Status.Signaled() {
				out.Killed, out.Core = e.Status.Signal(), e.Status.CoreDump()
				out.Code = 128 + int(out.Killed)
			}
			if isHook {
				out.Kind = supervisor.HookEnded
			}
		case reaper.Stopped:
			if isHook {
				continue
			}
			out.Kind, out.Signal = supervisor.Suspended, e.Signal
		}
		events = append(events, out)
	}
	return events
}
