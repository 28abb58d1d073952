package supervisor

import (
	"slices"
	"testing"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
)

// TestPreStart: one after the other, before any process; one that fails ends graced.
func TestPreStart(t *testing.T) {
	two := []spec{hookAt(plan.PreStart, "one", time.Second), hookAt(plan.PreStart, "two", time.Second)}
	r := newRig(t, makePlan(t, "app", two...)).want("hook one").hookStarted("one").hookEnded("one", 0).want("hook two")
	r.hookEnded("two", 0).want("spawn app")

	r = newRig(t, makePlan(t, "app", two...)).hookEnded("one", 7).want("hook one", "survey").left().over(7)
	r.wantTold(record.ShutdownEnd) // it is no stop

	newRig(t, makePlan(t, "app", two...)).step(Event{Kind: HookEnded, Code: 127, Err: errTest}).left().over(127)

	r = newRig(t, makePlan(t, "app", two...)).hookStarted("one").at(time.Second).want("hook one", "SIGKILL hook one", "survey").left().over(137)
	r.wantTold(record.Overrun, "one at 1s late 0s")
	r.step(Event{Kind: HookEnded, Code: 137}) // its end, at last

	r = newRig(t, makePlan(t, "app", append(slices.Clone(two), hookAt(plan.PreStop, "leave", time.Second), hookAt(plan.PostStop, "flush", time.Second))...))
	r.hookEnded("one", 1).left().want("hook one", "survey", "return", "hook flush").hookEnded("flush", 0).over(1)
}

func TestPostReady(t *testing.T) {
	start := func(t *testing.T) *rig {
		r := newRig(t, makePlan(t, "app", hookAt(plan.PostReady, "warm", 3*time.Second), hookAt(plan.PostReady, "tell", time.Second))).spawned("app")
		return r.want("spawn app").step(Event{Kind: Listening}).want("hook warm").hookStarted("warm")
	}
	t.Run("one after the other; a failure is told and changes nothing", func(t *testing.T) {
		r := start(t).hookEnded("warm", 1).want("hook tell").hookEnded("tell", 0).phase(record.Running)
		if loud := r.loud(); len(loud) != 1 || loud[0].Hook != "warm" {
			t.Errorf("the log shows %v", loud)
		}
		r.at(time.Hour).want()
	})
	t.Run("nobody asks whether the program listens: it is looked for", func(t *testing.T) {
		r := newRig(t, makePlan(t, "app", hookAt(plan.PostReady, "warm", time.Second))).spawned("app").want("spawn app")
		looks := 0
		for ms := range 60_000 {
			r.at(time.Duration(ms) * time.Millisecond)
			for range r.did {
				looks++
				r.did = nil
				r.step(Event{Kind: Listeners})
			}
		}
		if looks < 20 || looks > 80 {
			t.Errorf("%d looks in the first minute", looks)
		}
		r.at(time.Hour - 1)
		r.did = nil
		r.step(Event{Kind: Listeners}).at(time.Hour + lookAtMost).want("listeners?").step(Event{Kind: Listeners, Found: true}).want("hook warm")
		r.hookStarted("warm").hookEnded("warm", 0).at(2 * time.Hour).want()
	})
	t.Run("its time is over", func(t *testing.T) {
		r := start(t).at(3*time.Second).want("SIGKILL hook warm", "hook tell").phase(record.Running)
		r.wantTold(record.Overrun, "warm at 3s late 0s")
	})
	t.Run("a stop", func(t *testing.T) {
		r := start(t).signal(term).want("report", "SIGTERM hook warm", "SIGCONT hook warm", "listeners?")
		r.step(Event{Kind: Listeners}).died("app", term).phase(record.Stop).hookEnded("warm", 143).phase(record.Rest)
		r.want("identify", "SIGTERM app", "SIGCONT app", "survey")
		for _, e := range r.loud() {
			if e.Hook != "" {
				t.Errorf("a hook that was told to end is said to have failed: %v", e)
			}
		}
	})
	t.Run("the main's end: it has no longer than what is left behind", func(t *testing.T) {
		r := start(t).at(100*time.Millisecond).exited("app", 0).want("SIGTERM hook warm", "SIGCONT hook warm").phase(record.Stop)
		r.at(2*time.Second+99*time.Millisecond).phase(record.Stop).at(2*time.Second+100*time.Millisecond).want("SIGKILL hook warm", "survey")
	})
}

// TestPreStop: beside delay and drain; the first signal waits for them.
func TestPreStop(t *testing.T) {
	two := []spec{hookAt(plan.PreStop, "one", 2*time.Second), hookAt(plan.PreStop, "two", time.Second)}
	t.Run("held up", func(t *testing.T) {
		r := up(t, makePlan(t, "app", two...)).signal(term).want("report", "hook one", "listeners?").step(Event{Kind: Listeners, Found: true}).want()
		r.at(time.Second).hookEnded("one", 0).want("hook two").at(1500*time.Millisecond).hookEnded("two", 0).want("identify", "SIGTERM app", "SIGCONT app")
	})
	t.Run("not held up", func(t *testing.T) {
		r := up(t, makePlan(t, "app", append(slices.Clone(two), delay(4*time.Second))...)).signal(term).hookEnded("one", 0).hookEnded("two", 0)
		r.want("report", "hook one", "listeners?", "hook two").at(4*time.Second).want("identify", "SIGTERM app", "SIGCONT app")
	})
	t.Run("time-outs", func(t *testing.T) {
		r := up(t, makePlan(t, "app", two...)).signal(term).step(Event{Kind: Listeners}).hookStarted("one")
		r.did = nil
		r.at(2*time.Second).want("SIGKILL hook one", "hook two")
		r.at(3*time.Second).want("SIGKILL hook two", "identify", "SIGTERM app", "SIGCONT app")
		r.wantTold(record.Overrun, "one at 2s late 0s", "two at 3s late 0s").wantTold(record.HookEnd, "one", "two")
	})
	t.Run("one that starts when its time is over is killed", func(t *testing.T) {
		r := up(t, makePlan(t, "app", two...)).signal(term).step(Event{Kind: Listeners}).at(2 * time.Second)
		r.did = nil
		r.hookStarted("one").want("SIGKILL hook one")
	})
	t.Run("after a stall there is no time for the second", func(t *testing.T) {
		r := up(t, makePlan(t, "app", two...)).signal(term).step(Event{Kind: Listeners})
		r.did = nil
		r.jump(5*time.Second).step(Event{Kind: Due}).want("SIGKILL hook one", "identify", "SIGTERM app", "SIGCONT app")
		r.wantTold(record.Overrun, "one at 2s late 3s")
	})
	t.Run("the main's end is no reason to leave them out", func(t *testing.T) {
		r := up(t, makePlan(t, "app", two...)).exited("app", 3).want("hook one").phase(record.Delay)
		r.hookEnded("one", 0).want("hook two").hookEnded("two", 0).want("survey").left().step(Event{Kind: Looked}).over(3)
		r = up(t, makePlan(t, "app", append(slices.Clone(two), delay(4*time.Second))...)).signal(term).exited("app", 3).hookEnded("one", 0).phase(record.Delay)
		r.hookEnded("two", 0).phase(record.Rest)
	})
	t.Run("at kill_at", func(t *testing.T) {
		r := up(t, makePlan(t, "app", hookAt(plan.PreStop, "one", 15*time.Second))).signal(term)
		r.did = nil
		r.jump(planKillAt).step(Event{Kind: Due}).want("SIGKILL hook one", "SIGKILL app", "kill all")
		r.wantTold(record.Overrun, "app at 16s late 0s", "one at 16s late 0s").at(planKillAt + killEach).want("kill all")
	})
	t.Run("nothing has begun", func(t *testing.T) {
		r := newRig(t, makePlan(t, "app", append(slices.Clone(two), hookAt(plan.PreStart, "x", time.Minute))...)).signal(term)
		r.want("hook x", "report").hookEnded("x", 0).want("survey")
	})
}

// TestPostStop: in the file's order, each clamped to what remains; none stops the next.
func TestPostStop(t *testing.T) {
	two := []spec{hookAt(plan.PostStop, "flush", time.Second), hookAt(plan.PostStop, "close", time.Second)}
	end := func(t *testing.T, at time.Duration) *rig {
		r := stopped(t, makePlan(t, "app", two...)).at(at).died("app", term).left().step(Event{Kind: Looked})
		r.did = nil
		return r.phase(record.Cleanup)
	}
	t.Run("both", func(t *testing.T) {
		r := end(t, time.Second).hookEnded("flush", 1).want("hook close").hookEnded("close", 0).over(143).want("report")
		r.wantTold(record.HookEnd, "flush", "close").wantTold(record.Overrun)
	})
	t.Run("time-outs", func(t *testing.T) {
		r := end(t, time.Second).at(2*time.Second).want("SIGKILL hook flush", "hook close").at(3*time.Second).want("SIGKILL hook close", "report").over(143)
		r.wantTold(record.Overrun, "flush at 2s late 0s", "close at 3s late 0s")
	})
	t.Run("clamped after a kill that used its half", func(t *testing.T) {
		r := stopped(t, makePlan(t, "app", two...)).at(planKillAt + time.Second).phase(record.Cleanup)
		r.did = nil
		r.at(planKillAt+1900*time.Millisecond).want("SIGKILL hook flush", "report").over(137)
		r.wantTold(record.Overrun, "app at 16s late 0s", "flush at 17.9s late 0s").wantTold(record.HookEnd, "flush", "close")
	})
	t.Run("they cannot be started", func(t *testing.T) {
		r := end(t, time.Second).step(Event{Kind: HookEnded, ID: 0, Code: 127, Err: errTest}).step(Event{Kind: HookEnded, ID: 1, Code: 127, Err: errTest}).over(143)
		if len(r.m.problems) != 2 {
			t.Errorf("the report says %q", r.m.problems)
		}
	})
	t.Run("they run after a start that failed", func(t *testing.T) {
		r := newRig(t, makePlan(t, "app", two...)).step(Event{Kind: NotSpawned, Code: 127, Err: errTest}).left()
		r.want("spawn app", "survey", "return", "hook flush").hookEnded("flush", 0).hookEnded("close", 0).over(127)
	})
}

func TestHookTimes(t *testing.T) {
	r := newRig(t, makePlan(t, "app", hookAt(plan.PreStart, "one", time.Minute))).at(1500*time.Millisecond).hookEnded("one", 0)
	if took := r.m.totals.Hooks["one"].Took; took != 1500*time.Millisecond {
		t.Errorf("it took %v", took)
	}
}
