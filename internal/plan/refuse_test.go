package plan

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMisfit has the words of a sum that is too large: the numbers, what to lower
// and by how much, and where each term came from.
func TestMisfit(t *testing.T) {
	term := syscall.SIGTERM
	tests := []struct {
		name, text, sum, at string
		spec                Spec
	}{
		{"a delay", "the shutdown does not fit: it needs 10.5s, the budget is 9s (grace 10s − margin 1s); lower the delay by 1.5s to 7.5s, or raise the grace",
			"9s delay (--delay) + 1s ladder of app (default) + 500ms cleanup (default)", "--delay",
			one(func(s *Spec) { s.Grace, s.Delay = grace(10*time.Second), fixed(9*time.Second) })},
		{"an assumed grace is called so", "the shutdown does not fit: it needs 10.5s, the budget is 9s (grace 10s assumed − margin 1s); lower the delay by 1.5s to 7.5s, or raise the grace",
			"9s delay (--delay) + 1s ladder of app (default) + 500ms cleanup (default)", "--delay",
			one(on("docker"), func(s *Spec) { s.Delay = fixed(9 * time.Second) })},
		{"a ladder in a file", "the shutdown does not fit: it needs 12.5s, the budget is 9s (grace 10s − margin 1s); lower the ladder of app by 3.5s to 8.5s, or raise the grace",
			"12s ladder of app (graced.hcl:7,3) + 500ms cleanup (default)", "graced.hcl:7,3",
			one(func(s *Spec) {
				s.Grace = grace(10 * time.Second)
				s.Processes[0].Ladder = Given([]Rung{wait(term, 12*time.Second)}, inFile(7))
			})},
		{"a chain is named in the order of the stop", "the shutdown does not fit: it needs 12s, the budget is 9s (grace 10s − margin 1s); lower the ladder of web → php by 3s to 8s, or raise the grace",
			"11s ladder of web → php (graced.hcl:3,3) + 1s cleanup (--cleanup)", "graced.hcl:3,3",
			Spec{Grace: grace(10 * time.Second), Cleanup: flagged(time.Second, "--cleanup"), Processes: []Process{
				{Name: "php", Ladder: Given([]Rung{wait(term, 5*time.Second)}, inFile(9))},
				{Name: "web", After: []string{"php"}, Ladder: Given([]Rung{wait(term, 6*time.Second)}, inFile(3))}}}},
		{"nothing was set: only the grace can help", "the shutdown does not fit: it needs 4.5s, the budget is 4s (grace 5s assumed − margin 500ms − 500ms spent before the signal); raise the grace by 500ms (--grace)",
			"4s ladder of d → c → b → a (default) + 500ms cleanup (default)", "",
			func() Spec {
				s := graph(0, proc("a", ""), proc("b", "a"), proc("c", "b"), proc("d", "c"))
				nomad, _ := PlatformByName("nomad")
				return Spec{Platform: nomad, GraceSpent: flagged(500*time.Millisecond, "--grace-spent"), Processes: s.Processes}
			}()},
		{"one term alone cannot give enough", "the shutdown does not fit: it needs 14.7s, the budget is 4.5s (grace 5s − margin 500ms); lower the ladder of app and others by 10.2s in all, or raise the grace",
			"5s delay (--delay) + 2s drain (--drain-max) + 7.2s ladder of app (graced.hcl:2,3) + 500ms cleanup (default)", "graced.hcl:2,3",
			one(func(s *Spec) {
				s.Grace, s.Delay, s.DrainMax = grace(5*time.Second), fixed(5*time.Second), flagged(2*time.Second, "--drain-max")
				s.Processes[0].Ladder = Given([]Rung{wait(term, 7200*time.Millisecond)}, inFile(2))
			})},
		{"a ladder is never lowered under its least", "the shutdown does not fit: it needs 2s, the budget is 1.5s (grace 2s − margin 500ms); raise the grace by 500ms (--grace)",
			"1s ladder of app (--stop) + 1s cleanup (--cleanup)", "--stop",
			one(func(s *Spec) {
				s.Grace, s.Cleanup = grace(2*time.Second), flagged(time.Second, "--cleanup")
				s.Hooks = []Hook{{Name: "a", At: PostStop, Timeout: time.Second}}
				s.Processes[0].Ladder = ladder(wait(term, time.Second))
			})},
		{"pre_stop hooks", "the shutdown does not fit: it needs 10.5s, the budget is 9s (grace 10s − margin 1s); lower the pre_stop hooks by 1.5s to 7.5s, or raise the grace",
			"9s pre_stop hooks (graced.hcl:20,3) + 1s ladder of app (default) + 500ms cleanup (default)", "graced.hcl:20,3",
			one(func(s *Spec) {
				s.Grace = grace(10 * time.Second)
				s.Hooks = []Hook{{Name: "a", At: PreStop, Timeout: 5 * time.Second, Source: inFile(20)}, {Name: "b", At: PreStop, Timeout: 4 * time.Second, Source: inFile(24)}}
			})},
		{"more spent than there is", "the shutdown does not fit: it needs 1.5s, the budget is -500ms (grace 5s − margin 500ms − 5s spent before the signal); raise the grace by 2s (--grace)",
			"1s ladder of app (default) + 500ms cleanup (default)", "",
			one(func(s *Spec) {
				s.Grace, s.GraceSpent = grace(5*time.Second), flagged(5*time.Second, "--grace-spent")
			})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bad := mustRefuse(t, tt.spec)
			if len(bad) != 1 || bad[0].Text != tt.text {
				t.Errorf("refused with\n%v\nwant\n%s", bad, tt.text)
			}
			if got := bad[0].Sum(); got != tt.sum {
				t.Errorf("terms\n%s\nwant\n%s", got, tt.sum)
			}
			if got := bad[0].Source.String(); got != tt.at {
				t.Errorf("at %q, want %q", got, tt.at)
			}
		})
	}
}

// TestMisfitAdviceHelps: whoever lowers what was named by as much fits.
func TestMisfitAdviceHelps(t *testing.T) {
	s := one(func(s *Spec) { s.Grace, s.Delay = grace(10*time.Second), fixed(7500*time.Millisecond) })
	mustFit(t, s)
	s.Delay = fixed(7501 * time.Millisecond)
	mustRefuse(t, s)
}

func TestRefused(t *testing.T) {
	both := graph(9, proc("a", ""), proc("b", ""))
	both.Processes[0].Main, both.Processes[1].Main = true, true
	tests := []struct {
		name, want string
		spec       Spec
	}{
		{"no process", "there is no process to run", Spec{}},
		{"a name twice", `process "a" is there twice; give one another name`, graph(9, proc("a", ""), proc("a", ""))},
		{"two are main", `processes "a" and "b" are both main; exactly one can be`, both},
		{"after nobody", `process "a" starts after "z", which is not there`, graph(9, proc("a", "z"))},
		{"after itself", "the processes wait for one another in a circle: a → a; take one out of an `after`", graph(9, proc("a", "a"))},
		{"a circle", "the processes wait for one another in a circle: b → c → b; take one out of an `after`", graph(9, proc("a", "b"), proc("b", "c"), proc("c", "b"))},
		{"an empty ladder", `--stop: the ladder of process "app" has no rung; write one such as SIGTERM:10s`, one(func(s *Spec) { s.Processes[0].Ladder = ladder() })},
		{"a ladder under a second", `--stop: the ladder of process "app" has 750ms in all, under the least, 1s: a program could not act on its signal; raise a wait by 250ms`,
			one(func(s *Spec) {
				s.Processes[0].Ladder = ladder(wait(syscall.SIGQUIT, 500*time.Millisecond), wait(syscall.SIGTERM, 250*time.Millisecond))
			})},
		{"a thin margin", "--margin: the margin 99ms is under the least, 100ms: graced would race the platform's SIGKILL; leave it out or raise it",
			one(func(s *Spec) { s.Margin = flagged(99*time.Millisecond, "--margin") })},
		{"a cleanup without room for its hooks", "--cleanup: cleanup 1s is less than the post_stop hooks' time-outs, 1m30s in all; raise it by 1m29s or shorten a hook",
			one(func(s *Spec) {
				s.Grace, s.Cleanup = grace(time.Hour), flagged(time.Second, "--cleanup")
				s.Hooks = []Hook{{Name: "a", At: PostStop, Timeout: 90 * time.Second}}
			})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bad := mustRefuse(t, tt.spec)
			if !slices.ContainsFunc(bad, func(p Problem) bool { return p.String() == tt.want }) {
				t.Errorf("refused with\n%v\nwant\n%s", bad, tt.want)
			}
		})
	}
}

// TestAllAtOnce: every mistake is told in one go.
func TestAllAtOnce(t *testing.T) {
	s := graph(9, proc("a", "z"), proc("a", ""))
	s.Margin = flagged(time.Millisecond, "--margin")
	if bad := mustRefuse(t, s); len(bad) != 3 || strings.Count(bad.Error(), "\n") != 2 {
		t.Errorf("%d problems:\n%v", len(bad), bad)
	}
}

func TestWarnings(t *testing.T) {
	tests := []struct {
		name, want string
		spec       Spec
	}{
		{"a long delay", "--delay: the delay 6s is more than half of the grace 10s: the program has 1.252s left for its own stop",
			one(func(s *Spec) { s.Grace, s.Delay = grace(10*time.Second), fixed(6*time.Second) })},
		{"the longest that a load balancer needs", "--delay: the delay 3m is more than half of the grace 5m: the program has 57.251s left for its own stop",
			one(func(s *Spec) { s.Grace, s.Delay = grace(300*time.Second), fixed(180*time.Second) })},
		{"exactly half", "", one(func(s *Spec) { s.Grace, s.Delay = grace(300*time.Second), fixed(150*time.Second) })},
		{"a cap", "--grace: nomad gives at most 30s where the client's max_kill_timeout is not raised, and cuts off what is over without a word; a grace of 45s will not be kept", one(on("nomad"), func(s *Spec) { s.Grace = grace(45 * time.Second) })},
		{"none", "", one(on("kubernetes"))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Problems(mustFit(t, tt.spec).Warnings).Error()
			if got != tt.want {
				t.Errorf("warned %q, want %q", got, tt.want)
			}
		})
	}
}
