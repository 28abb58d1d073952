package supervisor

import (
	"errors"
	"strings"
	"testing"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
)

// TestWhenDelayed has who waits how long before the first signal.
func TestWhenDelayed(t *testing.T) {
	s := time.Second
	tests := []struct {
		name      string
		delay     spec
		sig       func(*rig)
		listening bool // what FindListeners finds
		asked     bool // somebody asked for readiness, and it was 200
		want      time.Duration
	}{
		{"set: in full", delay(3 * s), nil, true, true, 3 * s},
		{"set: in full, for a worker too", delay(3 * s), nil, false, false, 3 * s},
		{"preset: in full where something listens", presetDelay(3 * s), nil, true, true, 3 * s},
		{"preset: also where nobody asked, since it would have been ready", presetDelay(3 * s), nil, true, false, 3 * s},
		{"preset: none for a worker", presetDelay(3 * s), nil, false, false, 0},
		{"preset: none where the listener has gone", presetDelay(3 * s), nil, false, true, 0},
		{"none set", delay(0), nil, true, true, 0},
		{"a person: only what was set", delay(3 * s), func(r *rig) { r.signal(intr) }, true, true, 3 * s},
		{"a person: no preset", presetDelay(3 * s), func(r *rig) { r.signal(intr) }, true, true, 0},
		{"a person: no auto", autoDelay, func(r *rig) { r.signal(intr) }, true, true, 0},
		{"another stop signal", presetDelay(3 * s), func(r *rig) { r.signal(quit) }, true, true, 3 * s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, makePlan(t, "app", tt.delay)).spawned("app")
			if tt.asked {
				r.step(Event{Kind: Listening})
			}
			if r.did = nil; tt.sig == nil {
				r.signal(term)
			} else {
				tt.sig(r)
			}
			r.want("report", "listeners?").step(Event{Kind: Listeners, Found: tt.listening})
			if tt.want > 0 {
				r.want().at(tt.want - 1).want().at(tt.want)
			}
			if got := r.did; len(got) < 2 || got[len(got)-1] != "SIGCONT app" {
				t.Errorf("after %v the host was told %q", tt.want, got)
			}
			r.phase(record.Stop)
		})
	}
}

// TestPlatformsInterrupt: where the platform itself sends SIGINT, it is no person.
func TestPlatformsInterrupt(t *testing.T) {
	r := up(t, makePlan(t, "app", platform("nomad"), presetDelay(3*time.Second)))
	r.signal(intr).step(Event{Kind: Listeners, Found: true}).phase(record.Delay).at(3 * time.Second).phase(record.Stop)
}

// TestFindListenersHangs: it is taken for "there is one", after a moment.
func TestFindListenersHangs(t *testing.T) {
	r := up(t, makePlan(t, "app", presetDelay(3*time.Second)))
	r.signal(term).at(findWithin).phase(record.Delay).at(3*time.Second - 1).phase(record.Delay)
	r.step(Event{Kind: Listeners}).phase(record.Delay) // too late
	r.at(3 * time.Second).phase(record.Stop)
}

// TestAskers: auto waits for those who ask, at most its share.
func TestAskers(t *testing.T) {
	start := func(t *testing.T) *rig {
		r := up(t, makePlan(t, "app", autoDelay)) // a delay of 4/7 of 16s
		return r.signal(term).want("report", "listeners?").step(Event{Kind: Listeners, Found: true}).want("askers?")
	}
	share := makePlan(t, "app", autoDelay).Delay
	t.Run("nobody asks", func(t *testing.T) {
		start(t).step(Event{Kind: Askers, Away: true}).phase(record.Stop)
	})
	t.Run("they are told and look away", func(t *testing.T) {
		r := start(t)
		r.step(Event{Kind: Askers, Next: r.now.Add(time.Second)}).phase(record.Delay)
		r.at(300 * time.Millisecond).step(Event{Kind: Told}).want("askers?")
		r.step(Event{Kind: Askers, Next: r.now.Add(time.Second)}).at(1299 * time.Millisecond).want().at(1300 * time.Millisecond).want("askers?")
		r.step(Event{Kind: Askers, Away: true}).phase(record.Stop)
		r.step(Event{Kind: Askers, Away: true}).step(Event{Kind: Told}).phase(record.Stop)
	})
	t.Run("somebody goes on", func(t *testing.T) {
		r := start(t)
		r.step(Event{Kind: Askers, Next: r.now.Add(time.Hour)}).at(share - 1).phase(record.Delay).at(share).phase(record.Stop)
		r.wantTold(record.Overrun, "delay at "+share.String()+" late 0s")
	})
	t.Run("an answer with a time that is over does not spin", func(t *testing.T) {
		r := start(t).at(time.Second)
		for range 3 {
			r.step(Event{Kind: Askers, Next: r.zero})
			if !r.m.next().After(r.now) {
				t.Fatal("woken at once")
			}
			r.at(r.now.Sub(r.zero) + lookEach).want("askers?")
		}
	})
}

// TestMainEndsEarly: its end during delay or drain ends both.
func TestMainEndsEarly(t *testing.T) {
	for _, name := range []string{"delay", "drain"} {
		t.Run(name, func(t *testing.T) {
			r := up(t, makePlan(t, "db app<db", delay(2*time.Second), drain(plan.DrainIdle, 5*time.Second)))
			r.signal(term).step(Event{Kind: Listeners, Found: true})
			if name == "drain" {
				r.at(2 * time.Second).phase(record.Drain).look(1)
			}
			r.did = nil
			r.exited("app", 3).phase(record.Stop).want("identify", "SIGTERM db", "SIGCONT db")
			r.died("db", term).want("survey").left().step(Event{Kind: Looked}).over(3)
		})
	}
	t.Run("another's end does not", func(t *testing.T) {
		r := up(t, makePlan(t, "db app", delay(2*time.Second))).signal(term)
		r.exited("db", 0).phase(record.Delay)
	})
	t.Run("all others' does", func(t *testing.T) {
		r := newRig(t, makePlan(t, "db app", delay(5*time.Second))).spawned("db") // app's exec hangs
		r.signal(term).exited("db", 0).phase(record.Delay)
		r.step(Event{Kind: NotSpawned, ID: 1, Code: 127, Err: errTest}).phase(record.Rest)
	})
}

func TestDrain(t *testing.T) {
	start := func(t *testing.T, specs ...spec) *rig {
		r := up(t, makePlan(t, "app", specs...))
		r.signal(term).step(Event{Kind: Listeners, Found: true})
		return r.want("report", "listeners?", "identify", "look until idle")
	}
	idle := drain(plan.DrainIdle, 5*time.Second)
	t.Run("until nothing is busy", func(t *testing.T) {
		r := start(t, idle).look(2).at(99 * time.Millisecond).want().at(100 * time.Millisecond).want("look until idle")
		r.look(0).phase(record.Stop).wantTold(record.Overrun)
	})
	t.Run("at most to its ceiling", func(t *testing.T) {
		r := start(t, idle).look(7)
		for r.at(r.now.Sub(r.zero) + lookEach); r.m.phase == record.Drain; r.at(r.now.Sub(r.zero) + lookEach) {
			r.look(7)
		}
		r.phase(record.Stop).wantTold(record.Overrun, "drain at 5s late 0s")
		e := r.emits[len(r.emits)-1]
		for _, e = range r.emits {
			if e.Kind == record.Overrun {
				break
			}
		}
		if len(e.Attrs) != 7 || e.Attrs[1].Value.String() != "10.0.0.1:5: request, 1s without a byte" || e.Attrs[6].Key != "more" {
			t.Errorf("the overrun says %v", e.Attrs)
		}
	})
	t.Run("connections that the program does not close", func(t *testing.T) {
		r := start(t, idle).step(Event{Kind: Looked, Look: Look{Connections: record.Connections{Known: true, Busy: 1, CloseWait: 3}}})
		r.at(5*time.Second).phase(record.Stop).wantTold(record.Overrun, "drain at 5s late 0s")
		said := map[string]string{}
		for _, e := range r.emits {
			if e.Kind == record.Overrun {
				for _, a := range e.Attrs {
					said[a.Key] = a.Value.String()
				}
			}
		}
		if said["close_wait"] != "3" || !strings.Contains(said["hint"], "CLOSE_WAIT") {
			t.Errorf("the overrun says %v", said)
		}
	})
	t.Run("a look that never answers", func(t *testing.T) {
		r := start(t, idle).at(5*time.Second - 1).want().at(5 * time.Second).phase(record.Stop)
		r.wantTold(record.Overrun, "drain at 5s late 0s")
		r.look(0).phase(record.Stop) // too late
	})
	t.Run("looks that fail", func(t *testing.T) {
		r := start(t, idle)
		for r.m.phase == record.Drain {
			r.step(Event{Kind: Looked, Look: Look{Err: errors.New("EPERM")}}).at(r.now.Sub(r.zero) + lookEach)
		}
		r.wantTold(record.Overrun, "drain at 5s late 0s")
	})
	t.Run("the fallback is said once", func(t *testing.T) {
		r := start(t, idle)
		for range 3 {
			r.step(Event{Kind: Looked, Look: Look{Fallback: "EACCES", Connections: record.Connections{Known: true, Busy: 1}}})
		}
		warned := 0
		for _, e := range r.loud() {
			if e.Err == "EACCES" {
				warned++
			}
		}
		if warned != 1 {
			t.Errorf("said %d times", warned)
		}
	})
	t.Run("its share counts from its start and ends at its latest", func(t *testing.T) {
		r := up(t, makePlan(t, "app", delay(2*time.Second), func(s *plan.Spec) { s.Drain = given(plan.DrainIdle) }))
		r.signal(term).at(2 * time.Second).look(1)
		latest := r.m.plan.DrainLatest
		r.at(latest - 1).phase(record.Drain).at(latest).phase(record.Stop)
	})
	t.Run("closed", func(t *testing.T) {
		r := up(t, makePlan(t, "app", drain(plan.DrainClosed, 5*time.Second))).signal(term)
		r.step(Event{Kind: Listeners, Found: true}).want("report", "listeners?", "identify", "look until closed")
	})
	t.Run("a person: only what was set", func(t *testing.T) {
		r := up(t, makePlan(t, "app", idle)).signal(intr).step(Event{Kind: Listeners, Found: true}).phase(record.Drain)
		r.look(0).phase(record.Stop)
		r = up(t, makePlan(t, "app", drain(plan.DrainAuto, 5*time.Second))).signal(intr).step(Event{Kind: Listeners, Found: true}).phase(record.Stop)
		r.want("report", "listeners?", "identify", "SIGINT app", "SIGCONT app")
	})
}

// TestDrainAuto goes by the programs that are stopped first.
func TestDrainAuto(t *testing.T) {
	nginx := plan.Identity{Exe: "nginx"}
	auto := drain(plan.DrainAuto, 5*time.Second)
	t.Run("it drains by itself", func(t *testing.T) {
		r := up(t, makePlan(t, "app", auto))
		r.ids["app"] = nginx
		r.signal(term).step(Event{Kind: Listeners, Found: true}).want("report", "listeners?", "identify", "identify", "SIGQUIT app", "SIGCONT app")
	})
	t.Run("only what is behind does", func(t *testing.T) {
		r := up(t, makePlan(t, "app web<app", auto))
		r.ids["app"] = nginx
		r.signal(term).step(Event{Kind: Listeners, Found: true}).phase(record.Drain)
	})
	t.Run("what is in front does", func(t *testing.T) {
		r := up(t, makePlan(t, "app web<app", auto))
		r.ids["web"] = nginx
		r.signal(term).step(Event{Kind: Listeners, Found: true}).phase(record.Stop)
	})
	t.Run("what was in front has gone", func(t *testing.T) {
		r := up(t, makePlan(t, "main web<main", auto, proc("main", func(p *plan.Process) { p.Main = true })))
		r.ids["web"] = nginx
		r.exited("web", 0).signal(term).step(Event{Kind: Listeners, Found: true}).phase(record.Drain)
	})
}

// TestLatch: nothing after t0 moves a deadline, and readiness is never true again.
func TestLatch(t *testing.T) {
	r := up(t, makePlan(t, "app", delay(3*time.Second), drain(plan.DrainIdle, 5*time.Second)))
	if ok, _, _ := r.m.ready(r.now); !ok {
		t.Fatal("not ready")
	}
	r.at(time.Second).signal(term)
	t0, deadline, kill := r.m.t0, r.m.deadline, r.m.killAt
	for step := range 200 {
		r.at(time.Second + time.Duration(step)*100*time.Millisecond)
		if r.m.done {
			break
		}
		for _, e := range []Event{{Kind: Listening}, {Kind: Listeners, Found: true}, {Kind: Told}, {Kind: Pinged}, {Kind: Reaped},
			{Kind: Fault, Err: errTest}, {Kind: Caught, Signal: term, Stop: true}, {Kind: Caught, Signal: hup}} {
			r.step(e)
		}
		if ok, why, lookup := r.m.ready(r.now); ok || why == "" || lookup {
			t.Fatalf("in %s: ready %v, reason %q, lookup %v", r.m.phase, ok, why, lookup)
		}
		if s := r.m.snapshot(r.now); s.Ready || s.T0 != t0 {
			t.Fatalf("the snapshot says %+v", s)
		}
	}
	if r.m.t0 != t0 || r.m.deadline != deadline || r.m.killAt != kill || kill != t0.Add(planKillAt) || deadline != t0.Add(18*time.Second) {
		t.Errorf("t0, kill_at and the deadline have moved")
	}
	r.over(137)
}
