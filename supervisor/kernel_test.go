package supervisor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
	"graced/signals"
)

// behaviour is how a process of the fake kernel takes what comes to it.
type behaviour struct {
	spawn time.Duration // until its exec returns; negative: never
	life  time.Duration // until it ends by itself; 0: never
	code  int           // with which it does
	// on has the signals that it acts on, and after how long it ends. A default
	// signal that is not here is ignored, but for SIGKILL.
	on map[syscall.Signal]time.Duration
	id plan.Identity
}

// obeys is a program that ends d after a SIGTERM or SIGINT.
func obeys(d time.Duration) behaviour {
	return behaviour{on: map[syscall.Signal]time.Duration{term: d, intr: d, quit: d}}
}

// kernel is a Host with processes that do as they were told to. It writes down
// what happens with its time, in milliseconds since the start.
type kernel struct {
	t     *testing.T
	loop  *Loop
	start time.Time
	does  map[string]behaviour
	// before is run ahead of each action, on the loop: it may wait or panic.
	before func(Action)
	busy   time.Duration // until when connections are busy

	mu       sync.Mutex
	events   []Event
	there    map[int]bool
	ended    map[int]bool
	told     []string // what the host was told
	log      []record.Event
	snapshot *record.Snapshot
	sigs     []syscall.Signal
	children chan struct{}
	caught   chan struct{}
}

// boot makes a kernel and the loop that runs on it.
func boot(t *testing.T, p *plan.Plan, does map[string]behaviour) *kernel {
	k := &kernel{t: t, start: time.Now(), does: does, there: map[int]bool{}, ended: map[int]bool{}, children: make(chan struct{}, 1), caught: make(chan struct{}, 1)}
	k.loop = &Loop{Plan: p, Host: k, Signals: k.caught, TakeSignals: k.takeSignals, Children: k.children, TakeChildren: k.takeChildren,
		Inbox: make(chan Event, 64), Gone: t.Context()}
	return k
}

// run runs the loop in a bubble of virtual time and gives the code. script runs
// beside it, setup before it.
func run(t *testing.T, p *plan.Plan, does map[string]behaviour, script func(*kernel), setup ...func(*kernel)) (k *kernel, code int) {
	t.Helper()
	synctest.Test(t, func(inner *testing.T) {
		k = boot(t, p, does)
		for _, s := range setup {
			s(k)
		}
		ctx, leave := context.WithCancel(context.Background())
		k.loop.Gone = ctx
		scripted := make(chan struct{})
		go func() {
			defer close(scripted)
			if script != nil {
				script(k)
			}
		}()
		code = k.loop.Run()
		k.note("exit %d", code)
		leave()
		<-scripted
		synctest.Wait()
	})
	return k, code
}

func (k *kernel) note(format string, args ...any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told = append(k.told, fmt.Sprintf("%d ", time.Since(k.start).Milliseconds())+fmt.Sprintf(format, args...))
}

func (k *kernel) name(i int) string { return k.loop.Plan.Processes[i].Name }

func (k *kernel) child(e Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch e.Kind {
	case Spawned:
		k.there[e.ID] = true
	case Exited:
		if k.ended[e.ID] {
			return
		}
		k.ended[e.ID] = true
	}
	k.events = append(k.events, e)
	poke(k.children)
}

func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (k *kernel) takeChildren() []Event {
	k.mu.Lock()
	defer k.mu.Unlock()
	events := k.events
	k.events = nil
	return events
}

func (k *kernel) takeSignals() []syscall.Signal {
	k.mu.Lock()
	defer k.mu.Unlock()
	sigs := k.sigs
	k.sigs = nil
	return sigs
}

// send is kill(2) on graced, after a time since the start.
func (k *kernel) send(at time.Duration, sigs ...syscall.Signal) {
	time.Sleep(at - time.Since(k.start))
	k.mu.Lock()
	k.sigs = append(k.sigs, sigs...)
	k.mu.Unlock()
	poke(k.caught)
}

// stopAt is a script that sends a SIGTERM.
func stopAt(at time.Duration) func(*kernel) { return func(k *kernel) { k.send(at, term) } }

// busy is a setup with connections that are busy for so long.
func busy(d time.Duration) func(*kernel) { return func(k *kernel) { k.busy = d } }

func (k *kernel) inbox(e Event) {
	go func() {
		select {
		case k.loop.Inbox <- e:
		case <-k.loop.Gone.Done():
		}
	}()
}

func (k *kernel) end(i int, after time.Duration, code int, killed syscall.Signal) {
	time.AfterFunc(after, func() { k.child(Event{Kind: Exited, ID: i, Code: code, Killed: killed}) })
}

func (k *kernel) Identify(i int) plan.Identity { return k.does[k.name(i)].id }
func (k *kernel) Emit(e record.Event)          { k.log = append(k.log, e) }
func (k *kernel) Publish(s *record.Snapshot)   { k.snapshot = s }

func (k *kernel) Do(a Action) (Event, bool) {
	if k.before != nil {
		k.before(a)
	}
	switch a.Kind {
	case Spawn:
		k.note("spawn %s", k.name(a.ID))
		b := k.does[k.name(a.ID)]
		if b.spawn < 0 {
			break
		}
		time.AfterFunc(b.spawn, func() { k.child(Event{Kind: Spawned, ID: a.ID, PID: 100 + a.ID}) })
		if b.life > 0 {
			k.end(a.ID, b.spawn+b.life, b.code, 0)
		}
	case Signal:
		if a.Signal == syscall.SIGCONT {
			break
		}
		k.note("%s %s", signals.Name(a.Signal), k.name(a.ID))
		if !k.snapshot.T0.IsZero() && k.snapshot.Ready {
			k.t.Error("a process is told to stop while readiness is 200")
		}
		k.mu.Lock()
		there := k.there[a.ID] && !k.ended[a.ID]
		k.mu.Unlock()
		if !there {
			return Event{Kind: SignalFailed, ID: a.ID, Signal: a.Signal, Err: syscall.ESRCH}, true
		}
		if wait, ok := k.does[k.name(a.ID)].on[a.Signal]; ok || a.Signal == syscall.SIGKILL {
			k.end(a.ID, wait, 128+int(a.Signal), a.Signal)
		}
	case SpawnHook:
		k.note("hook %s", k.loop.Plan.Hooks[a.ID].Name)
		k.child(Event{Kind: HookStarted, ID: a.ID, PID: 200})
		time.AfterFunc(100*time.Millisecond, func() { k.child(Event{Kind: HookEnded, ID: a.ID}) })
	case IdentifyAll:
		ids := make([]plan.Identity, len(k.loop.Plan.Processes))
		for i := range ids {
			ids[i] = k.Identify(i)
		}
		return Event{Kind: Identified, Identities: ids}, true
	case FindListeners:
		k.inbox(Event{Kind: Listeners, Found: true})
	case Inspect:
		k.inbox(Event{Kind: Looked, Look: Look{Quiet: time.Since(k.start) >= k.busy, Connections: record.Connections{Known: true, Busy: 1}}, Next: time.Now().Add(lookEach)})
	case FindUndelivered:
		k.inbox(Event{Kind: Looked})
	case Survey, KillAll:
		if a.Kind == KillAll {
			k.note("kill all")
		}
		return Event{Kind: Surveyed}, true
	case AskAskers:
		return Event{Kind: Askers, Away: true}, true
	}
	return Event{}, false
}

// want compares what the host was told.
func (k *kernel) want(lines ...string) {
	k.t.Helper()
	if !slices.Equal(k.told, lines) {
		k.t.Errorf("the host was told\n\t%s\nwant\n\t%s", strings.Join(k.told, "\n\t"), strings.Join(lines, "\n\t"))
	}
}

func (k *kernel) overruns() (list []string) {
	for _, e := range k.log {
		if e.Kind == record.Overrun {
			list = append(list, fmt.Sprintf("%s%s%s at %v late %v", e.Process, e.Hook, strings.TrimPrefix(e.Phase, "stop"), e.Deadline, e.Late))
		}
	}
	return list
}
