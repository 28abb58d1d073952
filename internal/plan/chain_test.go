package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"
)

// proc is a process for a graph: its name, those that it comes after, its rungs.
func proc(name string, after string, rungs ...Rung) Process {
	p := Process{Name: name, Command: []string{name}}
	for _, a := range after {
		p.After = append(p.After, string(a))
	}
	if len(rungs) > 0 {
		p.Ladder = Given(rungs, inFile(len(name)))
	}
	return p
}

func graph(kill float64, procs ...Process) Spec {
	return Spec{Grace: grace(seconds(kill + 2)), Margin: flagged(time.Second, "--margin"), Cleanup: flagged(time.Second, "--cleanup"),
		Delay: fixed(0), Drain: flagged(DrainOff, "--drain"), Processes: procs}
}

// TestChains has the latest start and end of each ladder. A process stops before
// those that it was started after.
func TestChains(t *testing.T) {
	quit, term := syscall.SIGQUIT, syscall.SIGTERM
	type times map[string][2]float64
	tests := []struct {
		name string
		spec Spec
		want times
	}{
		{"alone", graph(12, proc("a", "")), times{"a": {0, 12}}},
		{"two that know nothing of one another have it all", graph(12, proc("a", ""), proc("b", "")), times{"a": {0, 12}, "b": {0, 12}}},
		{"a chain of three shares alike", graph(12, proc("a", ""), proc("b", "a"), proc("c", "b")), times{"c": {0, 4}, "b": {4, 8}, "a": {8, 12}}},
		{"open rungs of a chain alike, however they lie in ladders", graph(12, proc("a", "", open(quit), open(term)), proc("b", "a")), times{"b": {0, 4}, "a": {4, 12}}},
		{"what was set is taken out first", graph(12, proc("a", ""), proc("b", "a", wait(term, 5*time.Second)), proc("c", "b")), times{"c": {0, 3.5}, "b": {3.5, 8.5}, "a": {8.5, 12}}},
		{"a diamond", graph(12, proc("d", ""), proc("b", "d"), proc("c", "d"), proc("a", "bc")), times{"a": {0, 4}, "b": {4, 8}, "c": {4, 8}, "d": {8, 12}}},
		{"a diamond with one fixed side: the other has its time", graph(12, proc("d", ""), proc("b", "d", wait(term, 6*time.Second)), proc("c", "d"), proc("a", "bc")),
			times{"a": {0, 3}, "b": {3, 9}, "c": {3, 9}, "d": {9, 12}}},
		{"two chains: the tight one does not make the loose one tight",
			graph(12, proc("a", ""), proc("b", "a"), proc("c", "b"), proc("x", ""), proc("y", "x")),
			times{"c": {0, 4}, "b": {4, 8}, "a": {8, 12}, "y": {0, 6}, "x": {6, 12}}},
		{"a shared end", graph(12, proc("a", ""), proc("b", "a"), proc("c", "b"), proc("x", "a")),
			times{"c": {0, 4}, "b": {4, 8}, "x": {0, 8}, "a": {8, 12}}},
		{"no ladder is under a second while another has more",
			graph(2.5, proc("a", "", open(quit), open(term)), proc("b", "a")), times{"b": {0, 1}, "a": {1, 2.5}}},
		{"at the least", graph(2, proc("a", "", open(quit), open(term)), proc("b", "a")), times{"b": {0, 1}, "a": {1, 2}}},
		{"an open rung fills a short ladder up to the least", graph(2, proc("a", "", wait(quit, 200*time.Millisecond), open(term)), proc("b", "a")), times{"b": {0, 1}, "a": {1, 2}}},
		{"an open rung can be left with nothing", graph(5, proc("a", "", wait(quit, 5*time.Second), open(term))), times{"a": {0, 5}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := mustFit(t, tt.spec)
			for _, s := range p.Processes {
				want := tt.want[s.Name]
				if (s.Start-seconds(want[0])).Abs() > time.Millisecond || (s.End-seconds(want[1])).Abs() > time.Millisecond {
					t.Errorf("%s is stopped from %v to %v, want %vs to %vs", s.Name, s.Start, s.End, want[0], want[1])
				}
			}
			proved(t, p)
		})
	}
}

func TestOrder(t *testing.T) {
	p := mustFit(t, graph(12, proc("d", ""), proc("b", "dd"), proc("c", "d"), proc("a", "bc")))
	if got := p.Processes[0].Before; !slices.Equal(got, []int{1, 2}) {
		t.Errorf("before d is stopped, %v must be gone; want b and c, once each", got)
	}
	if p.Main != 3 || !p.Processes[3].Main {
		t.Errorf("main is process %d; the last one is by default", p.Main)
	}
	var names []string
	for _, i := range p.stopOrder() {
		names = append(names, p.Processes[i].Name)
	}
	if !slices.Equal(names, []string{"a", "b", "c", "d"}) {
		t.Errorf("stopped in the order %v", names)
	}
	procs := []Process{proc("a", ""), proc("b", "")}
	procs[0].Main = true
	if p := mustFit(t, graph(12, procs...)); p.Main != 0 {
		t.Errorf("main is process %d; a says that it is", p.Main)
	}
}

// proved checks what every accepted plan promises.
func proved(t *testing.T, p *Plan) {
	t.Helper()
	var longest time.Duration
	for i, s := range p.Processes {
		width := s.End - s.Start
		longest = max(longest, s.End-p.Front)
		var sum time.Duration
		for r, rung := range s.Rungs {
			sum += rung.Width
			if rung.Width < 0 || rung.Until != s.Start+sum {
				t.Errorf("%s: rung %d of %v ends at %v, not %v after %v", s.Name, r, rung.Width, rung.Until, sum, s.Start)
			}
			if set := p.Processes[i].Ladder; set.Set() && !rung.Open && rung.Width != set.V[r].Wait {
				t.Errorf("%s: rung %d has %v, but %v was set", s.Name, r, rung.Width, set.V[r].Wait)
			}
		}
		if sum != width {
			t.Errorf("%s: the rungs have %v, the ladder %v", s.Name, sum, width)
		}
		if width < MinLadder {
			t.Errorf("%s has %v for its ladder, under %v", s.Name, width, MinLadder)
		}
		if s.Start < p.Front || s.End > p.KillAt {
			t.Errorf("%s is stopped from %v to %v; that must be from %v to %v", s.Name, s.Start, s.End, p.Front, p.KillAt)
		}
		for _, j := range s.Before {
			if p.Processes[j].End > s.Start {
				t.Errorf("%s is stopped at %v while %s may be there until %v", s.Name, s.Start, p.Processes[j].Name, p.Processes[j].End)
			}
		}
	}
	if sum := max(p.Delay+p.DrainMax, p.PreStop) + longest + p.Cleanup; sum > p.Budget {
		t.Errorf("the sum %v is over the budget %v", sum, p.Budget)
	}
	if p.Delay < 0 || p.DrainMax < 0 || p.Front < p.PreStop || p.Front < p.Delay+p.DrainMax || p.Budget >= p.Grace || p.KillAt > p.Budget {
		t.Errorf("delay %v, drain %v, front %v, kill_at %v, budget %v, grace %v", p.Delay, p.DrainMax, p.Front, p.KillAt, p.Budget, p.Grace)
	}
	steps := p.Timeline()
	for i, s := range steps {
		if i > 0 && s.Latest < steps[i-1].Latest {
			t.Errorf("%q (%s) at %v comes after %v", s.Text, s.Process, s.Latest, steps[i-1].Latest)
		}
		if s.Earliest > s.Latest {
			t.Errorf("%q: earliest %v is after latest %v", s.Text, s.Earliest, s.Latest)
		}
		if s.Kind != StepPlatform && s.Latest >= p.Grace {
			t.Errorf("%q at %v is not strictly under the grace %v", s.Text, s.Latest, p.Grace)
		}
	}
	if last := steps[len(steps)-1]; last.Kind != StepPlatform || last.Latest-p.Budget != p.Margin {
		t.Errorf("the last step is %+v", last)
	}
	if p.Text() == "" {
		t.Error("no text")
	}
}

// randomSpec is any spec that a file could have.
func randomSpec(r *rand.Rand) Spec {
	some := func(most time.Duration) time.Duration {
		if r.IntN(12) == 0 {
			return 0
		}
		return time.Duration(r.Int64N(int64(most)/1e6)) * time.Millisecond
	}
	maybe := func() bool { return r.IntN(2) == 0 }
	s := Spec{}
	on(Platforms[r.IntN(len(Platforms))].Name)(&s)
	longest := []time.Duration{3 * time.Second, 20 * time.Second, 90 * time.Second, 24 * time.Hour}[r.IntN(4)]
	if r.IntN(4) > 0 {
		s.Grace = grace(some(longest) + time.Second)
	}
	if maybe() {
		s.Margin = flagged(some(3*time.Second), "--margin")
	}
	if r.IntN(5) == 0 {
		s.GraceSpent = flagged(some(longest/4+1e9), "--grace-spent")
	}
	if r.IntN(3) == 0 {
		s.Cleanup = flagged(some(2*time.Second), "--cleanup")
	}
	switch r.IntN(4) {
	case 0:
		s.Delay = fixed(some(longest / 2))
	case 1:
		s.Delay = flagged(Delay{Auto: true}, "--delay")
	}
	if maybe() {
		s.Drain = flagged(Drains[r.IntN(len(Drains))], "--drain")
	}
	if r.IntN(3) == 0 {
		s.DrainMax = flagged(some(longest/3+1e9), "--drain-max")
	}
	for i := range r.IntN(3) {
		s.Hooks = append(s.Hooks, Hook{Name: fmt.Sprint("h", i), At: Points[r.IntN(len(Points))], Timeout: some(longest/5 + 1e9)})
	}
	for i := range 1 + r.IntN(6) {
		p := Process{Name: fmt.Sprint("p", i), Command: []string{"x"}}
		for j := range i { // to earlier ones only: no circle
			if r.IntN(3) == 0 {
				p.After = append(p.After, fmt.Sprint("p", j))
			}
		}
		if r.IntN(3) > 0 {
			var rungs []Rung
			for range 1 + r.IntN(3) {
				if maybe() {
					rungs = append(rungs, open(syscall.SIGTERM))
				} else {
					rungs = append(rungs, wait(syscall.SIGQUIT, some(longest/6+1e9)))
				}
			}
			p.Ladder = Given(rungs, inFile(i))
		}
		s.Processes = append(s.Processes, p)
	}
	r.Shuffle(len(s.Processes), func(i, j int) { s.Processes[i], s.Processes[j] = s.Processes[j], s.Processes[i] })
	return s
}

// budget is what s has, by the contract's words.
func budget(s Spec) time.Duration {
	g := s.Grace.V
	if !s.Grace.Set() {
		if g = s.Platform.Grace; g == 0 {
			g = 10 * time.Second
		}
	}
	return g - s.GraceSpent.V - s.Margin.Or(min(max(g/10, time.Second/2), 5*time.Second))
}

// checkAny: whatever was asked for, it is proved or refused with a reason; and what is
// refused would not have fitted.
func checkAny(t *testing.T, seed uint64) (accepted bool) {
	s := randomSpec(rand.New(rand.NewPCG(seed, 1)))
	p, err := New(s)
	if err != nil {
		for _, one := range err.(Problems) {
			if one.Text == "" {
				t.Errorf("seed %d: a refusal without words", seed)
			}
			var sum time.Duration
			for _, term := range one.Terms {
				sum += term.Value
			}
			if len(one.Terms) > 0 && sum <= budget(s) {
				t.Errorf("seed %d: refused, but the terms make only %v: %s", seed, sum, one.Text)
			}
		}
		return false
	}
	proved(t, p)
	if t.Failed() {
		t.Errorf("seed %d:\n%s", seed, p.Text())
	}
	return true
}

func TestAnyPlan(t *testing.T) {
	accepted := 0
	const n = 1000
	for seed := range uint64(n) {
		if checkAny(t, seed) {
			accepted++
		}
		if t.Failed() {
			return
		}
	}
	if accepted < n/5 || accepted > n*9/10 {
		t.Errorf("%d of %d accepted: the specs do not try the border", accepted, n)
	}
}

func FuzzPlan(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkAny(t, seed) })
}

// TestManyRungs: sums do not come round to what fits.
func TestManyRungs(t *testing.T) {
	rungs := slices.Repeat([]Rung{wait(syscall.SIGTERM, 24*time.Hour)}, 110_000)
	mustRefuse(t, one(func(s *Spec) { s.Processes[0].Ladder = ladder(rungs...) }))
}
