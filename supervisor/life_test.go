package supervisor

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
)

// event is what may happen next.
func (w *model) event() (Event, bool) {
	r := w.r
	i := r.IntN(len(w.procs))
	p := &w.procs[i]
	stops := []syscall.Signal{term, intr, quit, term}
	switch r.IntN(24) {
	case 0, 1, 2:
		if p.asked && !p.runs && !p.ended {
			if r.IntN(6) == 0 {
				p.ended = true
				return Event{Kind: NotSpawned, ID: i, Code: 127, Err: errTest}, true
			}
			p.runs = true
			return Event{Kind: Spawned, ID: i, PID: 100 + i}, true
		}
	case 3, 4:
		if p.runs && !p.ended {
			p.ended = true
			return Event{Kind: Exited, ID: i, Code: r.IntN(256), Killed: syscall.Signal(r.IntN(20))}, true
		}
	case 5, 6, 7, 8:
		if len(w.hooks) == 0 {
			break
		}
		i := r.IntN(len(w.hooks))
		switch h := &w.hooks[i]; {
		case h.asked && !h.runs && !h.ended:
			if h.runs = r.IntN(5) > 0; !h.runs {
				h.ended = true
				return Event{Kind: HookEnded, ID: i, Code: 127, Err: errTest}, true
			}
			return Event{Kind: HookStarted, ID: i, PID: 300}, true
		case h.runs && !h.ended:
			h.ended = true
			return Event{Kind: HookEnded, ID: i, Code: r.IntN(3)}, true
		}
	case 9:
		if r.IntN(4) == 0 {
			return Event{Kind: Caught, Signal: stops[r.IntN(len(stops))], Stop: true}, true
		}
	case 10:
		return Event{Kind: Caught, Signal: []syscall.Signal{hup, usr1, usr2}[r.IntN(3)]}, true
	case 11:
		return Event{Kind: Listening}, true
	case 12:
		return Event{Kind: Listeners, Found: r.IntN(2) == 0}, true
	case 13:
		return Event{Kind: Told}, true
	case 14:
		return Event{Kind: Askers, Away: r.IntN(4) == 0, Next: w.any()}, true
	case 15, 16:
		look := Look{Quiet: r.IntN(4) == 0, Undelivered: r.IntN(2), Connections: record.Connections{Known: true, Busy: 1}, Busy: make([]Busy, r.IntN(9))}
		if r.IntN(4) == 0 {
			look.Err = errTest
		}
		return Event{Kind: Looked, Look: look, Next: w.any()}, true
	case 17, 18:
		e := Event{Kind: Surveyed, Unseen: r.IntN(9) == 0}
		for range r.IntN(3) {
			e.Left = append(e.Left, Leftover{PID: 1000 + r.IntN(5), Start: 1})
		}
		if len(e.Left) == 0 && !e.Unseen && !w.childless() {
			break
		}
		return e, true
	case 19:
		return Event{Kind: Reaped}, true
	case 20:
		return Event{Kind: SignalFailed, ID: i, Signal: term, Err: []error{syscall.EPERM, syscall.ESRCH}[r.IntN(2)]}, true
	case 21:
		if r.IntN(20) == 0 {
			return Event{Kind: Fault, Err: errTest}, true
		}
	case 22:
		return Event{Kind: Suspended, ID: i, Signal: syscall.SIGTSTP}, true
	case 23:
		return Event{Kind: Pinged}, true
	}
	return Event{}, false
}

// any is some time, also one that is over, or none.
func (w *model) any() time.Time {
	if w.r.IntN(4) == 0 {
		return time.Time{}
	}
	return w.now.Add(time.Duration(w.r.IntN(1000)-300) * time.Millisecond)
}

// randomPlan is one of several processes with hooks.
func randomPlan(t *testing.T, r *rand.Rand) *plan.Plan {
	names := []string{"a", "b<a", "c<a,b", "d<a"}[:1+r.IntN(4)]
	maybe := func(s ...spec) spec {
		if i := r.IntN(len(s) + 1); i < len(s) {
			return s[i]
		}
		return func(*plan.Spec) {}
	}
	specs := []spec{
		maybe(delay(time.Second), autoDelay, presetDelay(2*time.Second)),
		maybe(drain(plan.DrainIdle, 2*time.Second), drain(plan.DrainAuto, time.Second), drain(plan.DrainClosed, 3*time.Second)),
		maybe(escalate), maybe(platform("nomad"), platform("kubernetes")),
		maybe(ladder("a", "SIGQUIT:1s,SIGTERM:1s"), ladder("a", "SIGQUIT,SIGTERM:1s")), maybe(ladder("b", "SIGINT:2s")),
		maybe(ready("a", plan.ReadyListening), ready("a", plan.ReadyStarted)),
		proc("a", func(p *plan.Process) { p.Main = r.IntN(3) == 0 }),
	}
	for i := range r.IntN(5) {
		specs = append(specs, hookAt(plan.Points[r.IntN(len(plan.Points))], fmt.Sprint("h", i), 400*time.Millisecond))
	}
	return makePlan(t, strings.Join(names, " "), specs...)
}

// live plays one life of a machine, by a seed.
func live(t *testing.T, seed uint64) *model {
	r := rand.New(rand.NewPCG(seed, 7))
	p := randomPlan(t, r)
	w := &model{t: t, r: r, now: time.Unix(1_000_000, 0), went: map[string]int{}, log: []string{fmt.Sprint("seed ", seed)},
		procs: make([]modelProc, len(p.Processes)), hooks: make([]modelProc, len(p.Hooks))}
	w.m = newMachine(p, w.now)
	w.check(w.m.launch(w.now))
	pace := []int{1, 30, 300, 3000}[r.IntN(4)] // milliseconds between events, about
	for range 4000 {
		if w.m.done {
			return w
		}
		if e, ok := w.event(); ok {
			w.step(e)
		}
		if r.IntN(3) > 0 {
			w.pass(w.now.Add(time.Duration(r.IntN(1+pace)) * time.Millisecond))
		}
	}
	if w.m.t0.IsZero() {
		w.step(Event{Kind: Caught, Signal: term, Stop: true})
	}
	w.pass(w.m.deadline) // from here on nothing happens any more
	if !w.m.done {
		w.failf("the budget is over, and graced is in %s", w.m.phase)
	}
	return w
}

func TestModel(t *testing.T) {
	seen := map[record.Phase]int{}
	for seed := range uint64(400) {
		w := live(t, seed)
		for _, p := range w.m.phases {
			seen[p.Phase]++
		}
	}
	for _, phase := range record.Phases[2:8] {
		if seen[phase] < 40 {
			t.Errorf("only %d lives have come through %s", seen[phase], phase)
		}
	}
}

func FuzzModel(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { live(t, seed) })
}
