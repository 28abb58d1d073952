package supervisor

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
	"graced/signals"
)

// rig steps a machine through a test. Times are offsets from graced's start.
type rig struct {
	t       testing.TB
	m       *machine
	zero    time.Time
	now     time.Time
	did     []string                 // what the host was told since the last look, without events
	emits   []record.Event           // all of them
	ids     map[string]plan.Identity // what processes are found to be
	mute    bool                     // IdentifyAll is not answered
	answers bool                     // whether answers are undelivered is not answered at once: none
	refuses bool                     // signals are refused
}

func newRig(t testing.TB, p *plan.Plan) *rig { return rigAt(t, p, time.Unix(1_000_000, 0)) }

// rigAt is a rig that starts at a time.
func rigAt(t testing.TB, p *plan.Plan, zero time.Time) *rig {
	r := &rig{t: t, m: newMachine(p, zero), zero: zero, now: zero, ids: map[string]plan.Identity{}}
	r.carry(r.m.launch(zero))
	return r
}

// up is a rig whose processes all run and listen.
func up(t testing.TB, p *plan.Plan) *rig {
	r := newRig(t, p)
	for range p.Processes {
		for i := range r.m.procs {
			if r.m.procs[i].state == spawning {
				r.step(Event{Kind: Spawned, ID: i, PID: 100 + i})
			}
		}
	}
	r.step(Event{Kind: Listening})
	if r.m.phase != record.Running {
		t.Fatalf("the phase is %s after the start", r.m.phase)
	}
	r.did = nil
	return r
}

// carry notes actions, and answers what is answered at once.
func (r *rig) carry(actions []Action) {
	for ; len(actions) > 0; actions = actions[1:] {
		a := actions[0]
		if a.Kind == Emit {
			r.emits = append(r.emits, a.Event)
			continue
		}
		if a.Kind == FindUndelivered && !r.answers {
			actions = append(actions, r.m.step(r.now, Event{Kind: Looked})...)
			continue
		}
		r.did = append(r.did, r.words(a))
		if a.Kind == Signal && r.refuses {
			actions = append(actions, r.m.step(r.now, Event{Kind: SignalFailed, ID: a.ID, Signal: a.Signal, Err: syscall.EPERM})...)
		} else if a.Event.Msg != "" {
			r.emits = append(r.emits, a.Event)
		}
		if a.Kind == IdentifyAll && !r.mute {
			ids := make([]plan.Identity, len(r.m.procs))
			for i := range ids {
				ids[i] = r.ids[r.m.procs[i].Name]
			}
			actions = append(actions, r.m.step(r.now, Event{Kind: Identified, Identities: ids})...)
		}
	}
}

func (r *rig) words(a Action) string {
	name := func() string { return r.m.procs[a.ID].Name }
	switch a.Kind {
	case Spawn:
		return "spawn " + name()
	case SpawnHook:
		return "hook " + r.m.hooks[a.ID].Name
	case Signal:
		return signals.Name(a.Signal) + " " + name()
	case SignalHook:
		return signals.Name(a.Signal) + " hook " + r.m.hooks[a.ID].Name
	case Continue:
		return "continue " + name()
	case SignalLeft:
		return fmt.Sprintf("%s pid %d", signals.Name(a.Signal), a.Left.PID)
	case Broadcast:
		return signals.Name(a.Signal) + " everything"
	case Inspect:
		return "look until " + string(a.Until)
	}
	return map[ActionKind]string{KillAll: "kill all", Survey: "survey", IdentifyAll: "identify", FindListeners: "listeners?",
		AskAskers: "askers?", WriteReport: "report", FindUndelivered: "undelivered?", Return: "return"}[a.Kind]
}

func (r *rig) step(e Event) *rig {
	r.carry(r.m.step(r.now, e))
	return r
}

// at lets time pass up to an offset; the machine is woken whenever it asked for.
func (r *rig) at(offset time.Duration) *rig {
	r.t.Helper()
	end := r.zero.Add(offset)
	for same := 0; ; {
		next := r.m.next()
		if r.m.done || next.IsZero() || next.After(end) {
			break
		}
		if next.After(r.now) {
			r.now, same = next, 0
		} else if same++; same > 20 {
			r.t.Fatalf("phase %s: woken for the %dth time at %v, and next is %v", r.m.phase, same, r.now.Sub(r.zero), next.Sub(r.zero))
		}
		r.step(Event{Kind: Due})
	}
	if end.After(r.now) {
		r.now = end
	}
	return r
}

// jump is at for a machine that gets no time meanwhile.
func (r *rig) jump(offset time.Duration) *rig {
	r.now = r.zero.Add(offset)
	return r
}

func (r *rig) signal(sig syscall.Signal) *rig {
	return r.step(Event{Kind: Caught, Signal: sig, Stop: slices.Contains(r.m.plan.Stops, sig)})
}

func (r *rig) index(name string) int {
	i := slices.IndexFunc(r.m.procs, func(p process) bool { return p.Name == name })
	if i < 0 {
		r.t.Helper()
		r.t.Fatalf("no process %s", name)
	}
	return i
}

func (r *rig) spawned(name string) *rig {
	i := r.index(name)
	return r.step(Event{Kind: Spawned, ID: i, PID: 100 + i})
}

func (r *rig) exited(name string, code int) *rig {
	return r.step(Event{Kind: Exited, ID: r.index(name), Code: code})
}

func (r *rig) died(name string, sig syscall.Signal) *rig {
	return r.step(Event{Kind: Exited, ID: r.index(name), Code: 128 + int(sig), Killed: sig})
}

func (r *rig) hookStarted(name string) *rig {
	return r.step(Event{Kind: HookStarted, ID: r.hook(name), PID: 200})
}

func (r *rig) hookEnded(name string, code int) *rig {
	return r.step(Event{Kind: HookEnded, ID: r.hook(name), Code: code})
}

func (r *rig) hook(name string) int {
	return slices.IndexFunc(r.m.hooks, func(h hook) bool { return h.Name == name })
}

// left answers a survey with processes by their pids.
func (r *rig) left(pids ...int) *rig {
	var list []Leftover
	for _, pid := range pids {
		list = append(list, Leftover{PID: pid, Start: uint64(pid), Name: "daemon"})
	}
	return r.step(Event{Kind: Surveyed, Left: list})
}

// look answers a look at the connections.
func (r *rig) look(busy int) *rig {
	look := Look{Quiet: busy == 0, Connections: record.Connections{Known: true, Busy: busy}}
	for range busy {
		look.Busy = append(look.Busy, Busy{Peer: "10.0.0.1:5", Rule: "request", Age: time.Second})
	}
	return r.step(Event{Kind: Looked, Look: look, Next: r.now.Add(lookEach)})
}

// want checks what the host was told since the last look.
func (r *rig) want(did ...string) *rig {
	r.t.Helper()
	if !slices.Equal(r.did, did) {
		r.t.Errorf("at %v, phase %s, the host was told\n\t%s\nwant\n\t%s", r.now.Sub(r.zero), r.m.phase, strings.Join(r.did, ", "), strings.Join(did, ", "))
	}
	r.did = nil
	return r
}

func (r *rig) phase(p record.Phase) *rig {
	r.t.Helper()
	if r.m.phase != p {
		r.t.Errorf("at %v the phase is %s, want %s", r.now.Sub(r.zero), r.m.phase, p)
	}
	return r
}

// over checks that graced leaves now, with a code.
func (r *rig) over(code int) *rig {
	r.t.Helper()
	if !r.m.done || r.m.code != code {
		r.t.Errorf("at %v: done %v with code %d in phase %s; want done with %d", r.now.Sub(r.zero), r.m.done, r.m.code, r.m.phase, code)
	}
	return r
}

// told lists the events of a kind: their subject and what is measured.
func (r *rig) told(kind record.Kind) []string {
	var list []string
	for _, e := range r.emits {
		if e.Kind != kind {
			continue
		}
		text := strings.TrimSpace(e.Process + e.Hook)
		if text == "" {
			text = e.Phase
		}
		if kind == record.Overrun {
			text += fmt.Sprintf(" at %v late %v", e.Deadline, e.Late)
		}
		list = append(list, strings.TrimSpace(text))
	}
	return list
}

func (r *rig) wantTold(kind record.Kind, want ...string) *rig {
	r.t.Helper()
	if got := r.told(kind); !slices.Equal(got, want) {
		r.t.Errorf("%s told %q, want %q", kind, got, want)
	}
	return r
}

// loud lists the events that the default log shows.
func (r *rig) loud() (list []record.Event) {
	for _, e := range r.emits {
		if e.Level >= slog.LevelInfo {
			list = append(list, e)
		}
	}
	return list
}

// wantKilled checks how many shutdown_end says were killed.
func (r *rig) wantKilled(want string) {
	r.t.Helper()
	got := "no such line"
	for _, e := range r.emits {
		if e.Kind != record.ShutdownEnd {
			continue
		}
		for _, a := range e.Attrs {
			if a.Key == "killed" {
				got = a.Value.String()
			}
		}
	}
	if got != want {
		r.t.Errorf("shutdown_end says killed %q, want %q", got, want)
	}
}
