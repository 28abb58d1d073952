package supervisor

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
)

// stopped is a rig whose shutdown is in the stop, at once.
func stopped(t *testing.T, p *plan.Plan) *rig {
	r := up(t, p).signal(term)
	r.step(Event{Kind: Listeners}).phase(record.Stop)
	return r
}

// TestLadder: each rung's signal, then SIGCONT, then its wait; SIGKILL follows.
func TestLadder(t *testing.T) {
	s := time.Second
	r := stopped(t, makePlan(t, "app", ladder("app", "SIGQUIT:8s,SIGTERM:2s")))
	r.want("report", "listeners?", "identify", "SIGQUIT app", "SIGCONT app")
	r.at(8*s-1).want().at(8*s).want("SIGTERM app", "SIGCONT app")
	r.at(10*s-1).want().at(10*s).want("SIGKILL app").wantTold(record.Overrun, "app at 10s late 0s")
	r.at(12*s).want().died("app", syscall.SIGKILL).want("survey").left().step(Event{Kind: Looked}).over(137)
	r.wantTold(record.Kill, "app").wantTold(record.Overrun, "app at 10s late 0s")
}

// TestIgnoresSIGTERM: one overrun, at kill_at, and one kill; nothing else is said.
func TestIgnoresSIGTERM(t *testing.T) {
	r := stopped(t, makePlan(t, "app"))
	r.at(planKillAt - 1).phase(record.Stop).at(planKillAt).phase(record.Killing)
	r.want("report", "listeners?", "identify", "SIGTERM app", "SIGCONT app", "SIGKILL app", "kill all")
	r.died("app", syscall.SIGKILL).left().over(137)
	r.wantTold(record.Overrun, "app at 16s late 0s").wantTold(record.Kill, "app")
	var kinds []string
	for _, e := range r.loud() {
		kinds = append(kinds, string(e.Kind))
	}
	if got := strings.Join(kinds, " "); got != "shutdown_start overrun kill shutdown_end" {
		t.Errorf("the log shows %s", got)
	}
	if n := r.m.totals.Overruns["stop"].Count; n != 1 || r.m.totals.Kills["app"] != 1 {
		t.Errorf("%d overruns and %d kills are counted", n, r.m.totals.Kills["app"])
	}
}

func TestDefaultLadder(t *testing.T) {
	tests := []struct {
		name string
		id   plan.Identity
		came syscall.Signal
		want string // the signals, each with its time
	}{
		{"as it came", plan.Identity{Exe: "node"}, term, "SIGTERM 0s, SIGKILL 16s"},
		{"as another came", plan.Identity{Exe: "node"}, quit, "SIGQUIT 0s, SIGTERM 8s, SIGKILL 16s"},
		{"by the table", plan.Identity{Exe: "nginx"}, term, "SIGQUIT 0s, SIGKILL 16s"},
		{"it is not known what it is", plan.Identity{}, term, "SIGTERM 0s, SIGKILL 16s"},
		{"a shell at a terminal", plan.Identity{Exe: "bash", Terminal: true}, term, "SIGHUP 0s, SIGKILL 16s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := up(t, makePlan(t, "app"))
			r.ids["app"] = tt.id
			var sent []string
			note := func() {
				for _, did := range r.did {
					if sig, ok := strings.CutSuffix(did, " app"); ok && sig != "SIGCONT" {
						sent = append(sent, sig+" "+plan.Duration(r.now.Sub(r.zero)))
					}
				}
				r.did = nil
			}
			r.signal(tt.came).step(Event{Kind: Listeners})
			for note(); r.m.phase == record.Stop; note() {
				r.at(r.now.Sub(r.zero) + 500*time.Millisecond)
			}
			if got := strings.Join(sent, ", "); got != tt.want {
				t.Errorf("sent %s, want %s", got, tt.want)
			}
		})
	}
}

// TestOwnStopSignal: httpd's SIGWINCH stops httpd; what stands beside it and is left
// behind would ignore it, so it gets SIGTERM.
func TestOwnStopSignal(t *testing.T) {
	r := up(t, makePlan(t, "side httpd"))
	r.ids["httpd"] = plan.Identity{Exe: "httpd"}
	r.step(Event{Kind: Caught, Signal: syscall.SIGWINCH, Stop: true}).step(Event{Kind: Listeners})
	r.want("report", "listeners?", "identify", "SIGTERM side", "SIGCONT side", "SIGWINCH httpd", "SIGCONT httpd")
	r.exited("side", 0).exited("httpd", 0).did = nil
	r.left(7).want("SIGTERM pid 7", "SIGCONT pid 7")
	set := up(t, makePlan(t, "app", func(s *plan.Spec) { s.Stops = given([]syscall.Signal{usr1}) }))
	set.signal(usr1).step(Event{Kind: Listeners}).want("report", "listeners?", "identify", "SIGUSR1 app", "SIGCONT app")
}

// TestReverseOrder: web and api depend on cache, cache and they on db.
func TestReverseOrder(t *testing.T) {
	r := stopped(t, makePlan(t, "db cache<db web<cache,db api<cache"))
	r.want("report", "listeners?", "identify", "SIGTERM web", "SIGCONT web", "SIGTERM api", "SIGCONT api")
	r.at(time.Second).exited("api", 0).want()
	r.at(2*time.Second).exited("web", 0).want("identify", "SIGTERM cache", "SIGCONT cache")
	r.at(3*time.Second).exited("cache", 0).want("identify", "SIGTERM db", "SIGCONT db")
	r.at(4*time.Second).exited("db", 0).want("survey").left().step(Event{Kind: Looked}).over(0)
	r.wantTold(record.Overrun).wantTold(record.Kill)
}

// TestOutOfTurn: one that dies before its turn is not signalled.
func TestOutOfTurn(t *testing.T) {
	r := stopped(t, makePlan(t, "db web<db"))
	r.exited("db", 1).exited("web", 0).want("report", "listeners?", "identify", "SIGTERM web", "SIGCONT web", "survey")
}

// TestLatestStart: a process that others hold up beyond its time gets its signal
// all the same, and its whole ladder but a moment.
func TestLatestStart(t *testing.T) {
	chain := makePlan(t, "php web<php", ladder("web", "SIGQUIT:8s"), ladder("php", "SIGQUIT:3s"))
	t.Run("what cannot be killed", func(t *testing.T) {
		r := stopped(t, chain)
		r.at(8*time.Second).want("report", "listeners?", "identify", "SIGQUIT web", "SIGCONT web", "SIGKILL web")
		r.at(8*time.Second+killLag-1).want().at(8*time.Second+killLag).want("identify", "SIGQUIT php", "SIGCONT php")
	})
	t.Run("an exec that never returns", func(t *testing.T) {
		r := newRig(t, chain).spawned("php")
		r.signal(term).step(Event{Kind: Listeners}).did = nil
		r.at(8*time.Second+killLag-1).want().at(8*time.Second+killLag).want("identify", "SIGQUIT php", "SIGCONT php")
	})
	t.Run("a ladder that a stall has made late", func(t *testing.T) {
		r := up(t, chain).signal(term).jump(6 * time.Second).step(Event{Kind: Listeners})
		r.did = nil
		r.at(8*time.Second+killLag).want("identify", "SIGQUIT php", "SIGCONT php")
	})
	t.Run("nobody says what it is", func(t *testing.T) {
		r := up(t, makePlan(t, "app"))
		r.mute = true
		r.signal(term).step(Event{Kind: Listeners}).want("report", "listeners?", "identify")
		r.at(killLag).want("identify", "SIGTERM app", "SIGCONT app")
	})
}

// TestRepeat: what a further stop signal does, by phase.
func TestRepeat(t *testing.T) {
	waits := []spec{delay(2 * time.Second), drain(plan.DrainIdle, 3*time.Second), ladder("app", "SIGQUIT:3s,SIGTERM:3s"), hookAt(plan.PreStop, "leave", 4*time.Second)}
	start := func(t *testing.T, first syscall.Signal, more ...spec) *rig {
		return up(t, makePlan(t, "app", append(slices.Clone(waits), more...)...)).signal(first).step(Event{Kind: Listeners, Found: true}).want("report", "hook leave", "listeners?")
	}
	t.Run("ignored", func(t *testing.T) {
		r := start(t, term)
		for range 20 {
			r.signal(term).signal(quit)
		}
		r.signal(intr).want().phase(record.Delay)
		r.at(2*time.Second).look(0).hookEnded("leave", 0).want("identify", "look until idle", "identify", "SIGQUIT app", "SIGCONT app")
		r.signal(term).want()
		said := 0
		for _, e := range r.loud() {
			if e.Kind == record.Signal {
				said++
			}
		}
		if said != 1 || r.m.repeats != 42 {
			t.Errorf("said %d times, counted %d", said, r.m.repeats)
		}
	})
	t.Run("a second Ctrl-C hurries", func(t *testing.T) {
		r := start(t, intr).signal(intr).phase(record.Stop).want("identify", "SIGKILL hook leave", "SIGQUIT app", "SIGCONT app")
		r.signal(intr).want("SIGTERM app", "SIGCONT app").signal(intr).want("SIGKILL app").signal(intr).want()
		r.died("app", syscall.SIGKILL).want("survey").left(7).want("SIGINT pid 7", "SIGCONT pid 7")
		r.signal(intr).want("kill all").phase(record.Killing).signal(intr).want()
		r.left().over(137)
	})
	t.Run("a second SIGINT after a first, also within another's shutdown", func(t *testing.T) {
		r := start(t, term).signal(intr).phase(record.Delay).signal(intr).phase(record.Stop)
		r.want("identify", "SIGKILL hook leave", "SIGQUIT app", "SIGCONT app")
	})
	t.Run("a SIGINT after a SIGTERM is the first", func(t *testing.T) {
		start(t, intr).signal(term).phase(record.Delay).want()
	})
	t.Run("escalate: any", func(t *testing.T) {
		r := start(t, term, escalate).signal(quit).phase(record.Stop).want("identify", "SIGKILL hook leave", "SIGQUIT app", "SIGCONT app")
		r.signal(term).want("SIGTERM app", "SIGCONT app")
	})
	t.Run("escalate in the drain", func(t *testing.T) {
		r := start(t, term, escalate).at(2*time.Second).phase(record.Drain).want("identify", "look until idle")
		r.signal(term).phase(record.Stop).want("identify", "SIGKILL hook leave", "SIGQUIT app", "SIGCONT app")
	})
	t.Run("only those whose turn it is", func(t *testing.T) {
		r := stopped(t, makePlan(t, "db web<db", escalate))
		r.did = nil
		r.signal(term).want("SIGKILL web").signal(term).want().died("web", syscall.SIGKILL).want("identify", "SIGTERM db", "SIGCONT db")
	})
	t.Run("it does not kill the cleanup", func(t *testing.T) {
		r := stopped(t, makePlan(t, "app", escalate, hookAt(plan.PostStop, "flush", time.Second)))
		r.exited("app", 0).left().step(Event{Kind: Looked}).phase(record.Cleanup).did = nil
		r.signal(term).signal(term).want().hookEnded("flush", 0).over(0)
	})
}

// TestSimultaneous: the end is the same whatever comes first.
func TestSimultaneous(t *testing.T) {
	t.Run("the last rung's time and the exit", func(t *testing.T) {
		r := stopped(t, makePlan(t, "app", ladder("app", "SIGTERM:3s"))).jump(3 * time.Second)
		r.exited("app", 0).left().step(Event{Kind: Looked}).over(0).wantTold(record.Overrun)
		r = stopped(t, makePlan(t, "app", ladder("app", "SIGTERM:3s"))).at(3 * time.Second)
		r.exited("app", 0).left().step(Event{Kind: Looked}).over(0).wantTold(record.Overrun, "app at 3s late 0s")
	})
	t.Run("a stop signal and the main's end", func(t *testing.T) {
		r := up(t, makePlan(t, "app")).exited("app", 3)
		r.signal(term).left().step(Event{Kind: Looked}).over(3)
		r = up(t, makePlan(t, "app")).signal(term)
		r.exited("app", 3).left().step(Event{Kind: Looked}).over(3)
	})
	t.Run("kill_at and an exit", func(t *testing.T) {
		r := stopped(t, makePlan(t, "app")).jump(planKillAt).died("app", term)
		r.phase(record.Rest).at(planKillAt).phase(record.Killing).left().over(143)
	})
}

// TestStall: after it the machine goes straight to what is due, and says how late.
func TestStall(t *testing.T) {
	r := up(t, makePlan(t, "app", delay(2*time.Second), drain(plan.DrainIdle, 5*time.Second), hookAt(plan.PostStop, "flush", time.Second)))
	r.signal(term).step(Event{Kind: Listeners, Found: true}).did = nil
	r.jump(30*time.Second).step(Event{Kind: Due}).want("SIGKILL app", "kill all").phase(record.Killing)
	r.wantTold(record.Overrun, "app at 16s late 14s")
	r.died("app", syscall.SIGKILL).left().over(137)
	r.wantTold(record.Overrun, "app at 16s late 14s").wantTold(record.HookEnd, "flush") // no time was left for it
	last := r.loud()[len(r.loud())-1]
	if last.Kind != record.ShutdownEnd || !strings.Contains(last.Msg, "past the budget") {
		t.Errorf("the last line is %s %q", last.Kind, last.Msg)
	}
}

// TestStallWithSurvivors: SIGKILL gets a moment, then graced leaves.
func TestStallWithSurvivors(t *testing.T) {
	r := stopped(t, makePlan(t, "app"))
	r.jump(30 * time.Second).step(Event{Kind: Due}).phase(record.Killing)
	r.at(30*time.Second + killLeast - 1).phase(record.Killing).at(30*time.Second + killLeast).over(137)
}
