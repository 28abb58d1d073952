package plan

import (
	"syscall"
	"testing"
	"time"
)

// TestShares has the whole arithmetic of one process: who gets what of the
// grace. Times are seconds; the ladder is its width.
func TestShares(t *testing.T) {
	tests := []struct {
		name                         string
		spec                         Spec
		killAt, delay, drain, ladder float64
	}{
		{"all open: 4, 3 and 3 parts", one(func(s *Spec) {
			s.Grace, s.Margin, s.Cleanup = grace(14*time.Second), flagged(2*time.Second, "--margin"), flagged(2*time.Second, "--cleanup")
		}),
			10, 4, 3, 3},
		{"a fixed delay: drain and ladder half each", one(func(s *Spec) { s.Grace, s.Delay = grace(20*time.Second), fixed(5*time.Second) }),
			17.5, 5, 6.25, 6.25},
		{"no delay: drain and ladder half each", one(func(s *Spec) { s.Grace, s.Delay = grace(20*time.Second), fixed(0) }),
			17.5, 0, 8.75, 8.75},
		{"no drain: delay 4, ladder 3", one(func(s *Spec) { s.Grace, s.Drain = grace(16*time.Second), flagged(DrainOff, "--drain") }),
			13.9, 7.94, 0, 5.96},
		{"a fixed drain", one(func(s *Spec) { s.Grace, s.DrainMax = grace(20*time.Second), flagged(seconds(3.5), "--drain-max") }),
			17.5, 8, 3.5, 6},
		{"a fixed drain that is off is nothing", one(func(s *Spec) {
			s.Grace, s.DrainMax, s.Drain = grace(20*time.Second), flagged(9*time.Second, "--drain-max"), flagged(DrainOff, "--drain")
		}), 17.5, 10, 0, 7.5},
		{"a fixed ladder", one(func(s *Spec) {
			s.Grace = grace(20 * time.Second)
			s.Processes[0].Ladder = ladder(wait(syscall.SIGQUIT, 8*time.Second), wait(syscall.SIGTERM, 2500*time.Millisecond))
		}), 17.5, 4, 3, 10.5},
		{"a ladder with a fixed and an open rung: the open one is a share", one(func(s *Spec) {
			s.Grace = grace(20 * time.Second)
			s.Processes[0].Ladder = ladder(wait(syscall.SIGQUIT, 7500*time.Millisecond), open(syscall.SIGTERM))
		}), 17.5, 4, 3, 10.5},
		{"all fixed: what is not used is left", one(func(s *Spec) {
			s.Grace, s.Delay, s.DrainMax = grace(60*time.Second), fixed(time.Second), flagged(2*time.Second, "--drain-max")
			s.Processes[0].Ladder = ladder(wait(syscall.SIGTERM, 3*time.Second))
		}), 54.5, 1, 2, 3},
		{"docker's grace is assumed", one(on("docker")), 8.5, 3.4, 2.55, 2.55},
		{"no platform: 10s are assumed", one(on("none")), 8.5, 3.4, 2.55, 2.55},
		{"kubernetes' is assumed: delay and drain end by 8s", one(on("kubernetes")), 26.5, 5, 3, 18.5},
		{"kubernetes' grace given: no cap", one(on("kubernetes"), func(s *Spec) { s.Grace = grace(30 * time.Second) }), 26.5, 5, 10.75, 10.75},
		{"systemd's is assumed: 4 to 3 parts of 8s", one(on("systemd")), 84.5, 4.571428571, 3.428571429, 76.5},
		{"an assumed grace moves no delay that a person set", one(on("kubernetes"), func(s *Spec) { s.Delay = fixed(9 * time.Second) }), 26.5, 9, 0, 17.5},
		{"nor a drain", one(on("kubernetes"), func(s *Spec) { s.DrainMax = flagged(10*time.Second, "--drain-max") }), 26.5, 5, 10, 11.5},
		{"a preset's delay gives way to a short grace", one(on("kubernetes"), func(s *Spec) { s.Grace = grace(7 * time.Second) }), 5.8, 2.32, 1.74, 1.74},
		{"and to a long ladder", one(on("kubernetes"), func(s *Spec) {
			s.Grace = grace(30 * time.Second)
			s.Processes[0].Ladder = ladder(wait(syscall.SIGTERM, 23*time.Second))
		}), 26.5, 2, 1.5, 23},
		{"a preset's delay stays where it fits", one(on("ecs"), func(s *Spec) { s.Grace = grace(8 * time.Second) }), 6.7, 5, 0.7, 1},
		{"the least ladder comes before delay and drain", one(func(s *Spec) { s.Grace = grace(3 * time.Second) }), 2, 0.568, 0.426, 1.006},
		{"the shortest grace", one(func(s *Spec) { s.Grace = grace(2 * time.Second) }), 1, 0, 0, 1},
		{"pre_stop hooks run beside delay and drain", one(func(s *Spec) {
			s.Grace = grace(20 * time.Second)
			s.Hooks = []Hook{{Name: "a", At: PreStop, Timeout: 5 * time.Second}, {Name: "b", At: PreStop, Timeout: 7 * time.Second}}
		}), 17.5, 7, 5.25, 5.25},
		{"longer ones hold up the ladder", one(func(s *Spec) {
			s.Grace = grace(20 * time.Second)
			s.Hooks = []Hook{{Name: "a", At: PreStop, Timeout: 15 * time.Second}}
		}), 17.5, 7, 5.25, 2.5},
		{"post_stop hooks make the cleanup", one(func(s *Spec) {
			s.Grace = grace(20 * time.Second)
			s.Hooks = []Hook{{Name: "a", At: PostStop, Timeout: 5 * time.Second}, {Name: "b", At: PostStop, Timeout: 2 * time.Second}}
		}), 10.5, 4.2, 3.15, 3.15},
		{"spent grace is nobody's", one(func(s *Spec) { s.Grace, s.GraceSpent = grace(20*time.Second), flagged(10*time.Second, "--grace-spent") }), 7.5, 3, 2.25, 2.25},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := mustFit(t, tt.spec)
			app := p.Processes[0]
			for _, check := range []struct {
				what string
				got  time.Duration
				want float64
			}{{"kill_at", p.KillAt, tt.killAt}, {"delay", p.Delay, tt.delay}, {"drain", p.DrainMax, tt.drain}, {"ladder", app.End - app.Start, tt.ladder}} {
				if diff := check.got - seconds(check.want); diff.Abs() > 5*time.Millisecond {
					t.Errorf("%s is %v, want %vs", check.what, check.got, check.want)
				}
			}
			if p.DrainLatest != p.Delay+p.DrainMax {
				t.Errorf("the drain ends at %v, not after %v and %v", p.DrainLatest, p.Delay, p.DrainMax)
			}
			proved(t, p)
		})
	}
}

func TestMargin(t *testing.T) {
	for _, tt := range []struct{ grace, want float64 }{{2, 0.5}, {5, 0.5}, {10, 1}, {30, 3}, {50, 5}, {600, 5}} {
		p := mustFit(t, one(func(s *Spec) { s.Grace = grace(seconds(tt.grace)) }))
		if p.Margin != seconds(tt.want) {
			t.Errorf("of a grace of %vs the margin is %v, want %vs", tt.grace, p.Margin, tt.want)
		}
	}
}

// TestWhoSet: what a person set is waited for also at a Ctrl-C; auto is off then.
func TestWhoSet(t *testing.T) {
	tests := []struct {
		name                string
		change              func(*Spec)
		auto, byDelay, byDr bool
	}{
		{"nobody", func(*Spec) {}, true, false, false},
		{"preset", on("kubernetes"), false, false, false},
		{"a delay", func(s *Spec) { s.Delay = fixed(time.Second) }, false, true, false},
		{"delay auto", func(s *Spec) { s.Delay = flagged(Delay{Auto: true}, "--delay") }, true, false, false},
		{"delay auto over a preset", func(s *Spec) { on("ecs")(s); s.Delay = flagged(Delay{Auto: true}, "--delay") }, true, false, false},
		{"drain idle", func(s *Spec) { s.Drain = flagged(DrainIdle, "--drain") }, true, false, true},
		{"drain auto", func(s *Spec) { s.Drain = flagged(DrainAuto, "--drain") }, true, false, false},
		{"drain max", func(s *Spec) { s.DrainMax = flagged(time.Second, "--drain-max") }, true, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := mustFit(t, one(func(s *Spec) { s.Grace = grace(20 * time.Second) }, tt.change))
			if p.DelayAuto != tt.auto || p.DelayByPerson != tt.byDelay || p.DrainByPerson != tt.byDr {
				t.Errorf("DelayAuto %v, DelayByPerson %v, DrainByPerson %v; want %v, %v, %v", p.DelayAuto, p.DelayByPerson, p.DrainByPerson, tt.auto, tt.byDelay, tt.byDr)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	p := mustFit(t, one(on("docker")))
	if !p.Assumed() || p.GraceFrom.String() != "docker" {
		t.Errorf("docker's grace is assumed, from docker; got %v from %q", p.Assumed(), p.GraceFrom)
	}
	if p.Quiet != 2*time.Second || p.Unsure != 5*time.Second || p.Repeat != RepeatIgnore || p.Drain != DrainAuto || len(p.Stops) != 4 || p.StopsSet {
		t.Errorf("defaults: quiet %v, unsure %v, repeat %q, drain %q, stops %v", p.Quiet, p.Unsure, p.Repeat, p.Drain, p.Stops)
	}
	if p.Main != 0 || !p.Processes[0].Main || !p.Processes[0].Default {
		t.Errorf("the only process is main and has the default ladder: %+v", p.Processes[0])
	}
	if p := mustFit(t, one(on("docker"), func(s *Spec) { s.Grace = grace(9 * time.Second) })); p.Assumed() {
		t.Error("a grace that a person gave is not assumed")
	}
}
