package supervisor

import (
	"syscall"
	"testing"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
)

// TestEndsByItself: a main that leaves nothing says nothing, and takes no time.
func TestEndsByItself(t *testing.T) {
	r := newRig(t, makePlan(t, "job", autoDelay)).spawned("job")
	r.at(time.Hour).exited("job", 0).want("spawn job", "survey").left().want("return").over(0)
	if loud := r.loud(); len(loud) != 0 {
		t.Errorf("the log shows %v", loud)
	}
	if r.now != r.zero.Add(time.Hour) {
		t.Errorf("it took %v", r.now.Sub(r.zero)-time.Hour)
	}
}

// TestLeftBehind: each gets its signal once, and its time.
func TestLeftBehind(t *testing.T) {
	t.Run("2s after a main that ended by itself", func(t *testing.T) {
		r := newRig(t, makePlan(t, "app")).spawned("app").exited("app", 3).left(7, 8)
		r.want("spawn app", "survey", "SIGTERM pid 7", "SIGCONT pid 7", "SIGTERM pid 8", "SIGCONT pid 8")
		for r.m.phase == record.Rest {
			r.at(r.now.Sub(r.zero) + surveyEach)
			if len(r.did) == 1 && r.did[0] == "survey" {
				r.did = nil
				r.left(7).want()
			}
		}
		if at := r.now.Sub(r.zero); at != restAfterEnd {
			t.Errorf("killed after %v", at)
		}
		r.want("kill all").wantTold(record.Overrun, "rest at 2s late 0s").wantTold(record.Kill, "").left().over(3)
		r.wantTold(record.ShutdownEnd, "") // somebody was killed: that is told
		r.wantKilled("1")
	})
	t.Run("a stop that comes meanwhile moves nothing, and is told", func(t *testing.T) {
		r := newRig(t, makePlan(t, "app")).spawned("app").exited("app", 0).left(7).at(time.Second).signal(term).left().over(0)
		r.wantTold(record.ShutdownEnd, "").wantTold(record.Overrun)
	})
	t.Run("until kill_at after a stop", func(t *testing.T) {
		r := stopped(t, makePlan(t, "app")).at(time.Second).died("app", term).left(7)
		for r.at(2 * time.Second); r.m.phase == record.Rest; r.at(r.now.Sub(r.zero) + surveyEach) {
			r.left(7)
		}
		if at := r.now.Sub(r.zero); at != planKillAt {
			t.Errorf("killed after %v", at)
		}
		r.wantTold(record.Overrun, "rest at 16s late 0s").left().over(143)
	})
	t.Run("a new one gets its signal too", func(t *testing.T) {
		r := newRig(t, makePlan(t, "app")).spawned("app").exited("app", 0).left(7)
		r.did = nil
		r.step(Event{Kind: Reaped}).want("survey").step(Event{Kind: Reaped}).want() // one look at a time
		r.left(7, 9).want("SIGTERM pid 9", "SIGCONT pid 9", "survey").left().over(0)
	})
	t.Run("by what it is", func(t *testing.T) {
		r := stopped(t, makePlan(t, "app")).died("app", term)
		r.did = nil
		ignores := func(sig syscall.Signal) uint64 { return 1 << (sig - 1) }
		r.step(Event{Kind: Surveyed, Left: []Leftover{{PID: 7, ID: plan.Identity{Exe: "nginx"}}, {PID: 8, ID: plan.Identity{Exe: "nginx"}, Ignores: ignores(quit)}}})
		r.want("SIGQUIT pid 7", "SIGCONT pid 7", "SIGTERM pid 8", "SIGCONT pid 8")
	})
	t.Run("a pid that was given again is another process", func(t *testing.T) {
		r := stopped(t, makePlan(t, "app")).died("app", term).left(7)
		r.did = nil
		r.step(Event{Kind: Surveyed, Left: []Leftover{{PID: 7, Start: 99}}}).want("SIGTERM pid 7", "SIGCONT pid 7")
		// one that got the ladder's with its group or tree gets no second one
		r.step(Event{Kind: Surveyed, Left: []Leftover{{PID: 9, Reached: true}}}).want()
	})
	t.Run("what they are cannot be seen", func(t *testing.T) {
		r := stopped(t, makePlan(t, "app")).died("app", term)
		r.did = nil
		r.step(Event{Kind: Surveyed, Unseen: true}).want("SIGTERM everything", "SIGCONT everything").step(Event{Kind: Surveyed, Unseen: true}).want()
		r.at(planKillAt).want("survey", "kill all").wantTold(record.Kill, "")
		r.step(Event{Kind: Surveyed, Unseen: true}).phase(record.Killing).at(planKillAt + time.Second).over(143)
	})
	t.Run("a look that never comes back", func(t *testing.T) {
		r := newRig(t, makePlan(t, "app")).spawned("app").exited("app", 0)
		r.at(restAfterEnd - 1).phase(record.Rest).at(restAfterEnd).phase(record.Killing).at(restAfterEnd + time.Second).over(0)
		r.wantTold(record.Overrun, "rest at 2s late 0s").wantTold(record.Kill, "")
		r.wantKilled("0 and an unknown number of others") // they were killed unseen: "killed 0" would be a lie
	})
}

// TestUndelivered: an answer that is written and not delivered keeps graced, at
// most 2s, and not past kill_at.
func TestUndelivered(t *testing.T) {
	undelivered := func(n int) Event { return Event{Kind: Looked, Look: Look{Undelivered: n}} }
	at := func(t *testing.T, end time.Duration) *rig {
		r := stopped(t, makePlan(t, "app")).at(end).died("app", term)
		r.did, r.answers = nil, true
		return r.left().want("undelivered?").phase(record.Rest)
	}
	t.Run("delivered", func(t *testing.T) {
		at(t, time.Second).step(undelivered(0)).over(143).wantTold(record.Overrun)
	})
	t.Run("looked at again", func(t *testing.T) {
		r := at(t, time.Second).step(undelivered(2)).at(time.Second + lookEach).want("undelivered?")
		r.step(undelivered(0)).over(143)
	})
	t.Run("never", func(t *testing.T) {
		r := at(t, time.Second).step(undelivered(2)).at(3*time.Second - 1).phase(record.Rest)
		r.left().left(9).step(Event{Kind: Reaped}) // these move nothing
		r.at(3*time.Second).over(143).wantTold(record.Overrun, "rest at 3s late 0s")
	})
	t.Run("not past kill_at", func(t *testing.T) {
		at(t, planKillAt-time.Second).step(undelivered(2)).at(planKillAt).over(143).wantTold(record.Overrun, "rest at 16s late 0s")
	})
	t.Run("a look that never comes back", func(t *testing.T) {
		at(t, time.Second).at(3 * time.Second).over(143)
	})
	t.Run("a look that fails", func(t *testing.T) {
		at(t, time.Second).step(Event{Kind: Looked, Look: Look{Err: errTest}}).over(143)
	})
}

// TestKill: again and again until nothing is left or half of the cleanup is over.
func TestKill(t *testing.T) {
	r := stopped(t, makePlan(t, "db web<db")).at(planKillAt)
	r.want("report", "listeners?", "identify", "SIGTERM web", "SIGCONT web", "SIGKILL web", "identify", "SIGTERM db", "SIGCONT db", "SIGKILL db", "kill all")
	r.at(planKillAt+5*killEach).want("kill all", "kill all", "kill all", "kill all", "kill all")
	r.died("web", syscall.SIGKILL).want("survey").left(101).phase(record.Killing)
	r.died("db", syscall.SIGKILL).want("survey").left().want("return", "report").over(137)
	r.wantTold(record.Overrun, "web at 8s late 0s", "db at 16s late 0s").wantTold(record.Kill, "web", "db")

	// it is no end that a look finds nothing while an exit is still on its way
	stopped(t, makePlan(t, "app")).at(planKillAt).left().phase(record.Killing).died("app", syscall.SIGKILL).left().over(137)
}

// TestGuillotine: at kill_at every state answers SIGKILL to everything, once told.
func TestGuillotine(t *testing.T) {
	waits := []spec{delay(3 * time.Second), drain(plan.DrainIdle, 4*time.Second)}
	states := map[string]func(t *testing.T) *rig{
		"spawning": func(t *testing.T) *rig { return newRig(t, makePlan(t, "app", waits...)).signal(term) },
		"delay":    func(t *testing.T) *rig { return up(t, makePlan(t, "app", waits...)).signal(term) },
		"drain": func(t *testing.T) *rig {
			return up(t, makePlan(t, "app", waits...)).signal(term).step(Event{Kind: Listeners, Found: true}).at(3 * time.Second).phase(record.Drain)
		},
		"pre_stop hook": func(t *testing.T) *rig {
			return up(t, makePlan(t, "app", hookAt(plan.PreStop, "x", 8*time.Second))).signal(term).hookStarted("x")
		},
		"pre_start hook": func(t *testing.T) *rig {
			return newRig(t, makePlan(t, "app", hookAt(plan.PreStart, "x", time.Hour))).signal(term).hookStarted("x")
		},
		"stop": func(t *testing.T) *rig { return stopped(t, makePlan(t, "app", waits...)) },
		"rest": func(t *testing.T) *rig { return stopped(t, makePlan(t, "app")).died("app", term).left(7) },
		"answers": func(t *testing.T) *rig {
			r := stopped(t, makePlan(t, "app"))
			r.answers = true
			return r.at(planKillAt-1).died("app", term).left().phase(record.Rest)
		},
	}
	states["stop"] = func(t *testing.T) *rig { return stopped(t, makePlan(t, "app")) }
	for name, start := range states {
		t.Run(name, func(t *testing.T) {
			r := start(t)
			before := len(r.told(record.Overrun))
			r.jump(planKillAt).step(Event{Kind: Due})
			if got := len(r.told(record.Overrun)) - before; name != "pre_stop hook" && got != 1 || got == 0 {
				t.Errorf("%d overruns: %q", got, r.told(record.Overrun))
			}
			if name != "answers" {
				r.phase(record.Killing)
				if last := r.did[len(r.did)-1]; last != "kill all" {
					t.Errorf("the host was told %q", r.did)
				}
			}
			r.at(18 * time.Second)
			if !r.m.done {
				t.Errorf("at the budget's end the phase is %s", r.m.phase)
			}
		})
	}
}

// TestNoCleanup: with no time for it SIGKILL still comes, and the end.
func TestNoCleanup(t *testing.T) {
	p := makePlan(t, "app", func(s *plan.Spec) { s.Cleanup = given(time.Duration(0)) })
	r := stopped(t, p).at(18*time.Second - 1).phase(record.Stop)
	r.did = nil
	r.at(18 * time.Second)
	r.want("SIGKILL app", "kill all", "return", "report").over(137)
}
