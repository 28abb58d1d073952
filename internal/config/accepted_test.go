package config

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"graced/internal/plan"
)

// holds checks that a plan that was accepted keeps every deadline strictly under
// the grace, every ladder at its width, and everybody's turn.
func holds(t *testing.T, spec plan.Spec, p *plan.Plan) {
	t.Helper()
	end := p.Grace - p.GraceSpent // the platform's SIGKILL
	if p.Margin < plan.MinMargin || p.Budget != end-p.Margin || p.KillAt+p.Cleanup != p.Budget || p.KillAt > p.Budget || p.KillAt < 0 {
		t.Errorf("grace %v, spent %v, margin %v, budget %v, cleanup %v, kill at %v", p.Grace, p.GraceSpent, p.Margin, p.Budget, p.Cleanup, p.KillAt)
	}
	var pre, post time.Duration
	for _, h := range p.Hooks {
		switch h.At {
		case plan.PreStop:
			pre += h.Timeout
		case plan.PostStop:
			post += h.Timeout
		}
	}
	if p.Front < pre || p.Front < p.Delay+p.DrainMax || p.Cleanup < post {
		t.Errorf("front %v with hooks of %v, delay %v and drain %v; cleanup %v with hooks of %v", p.Front, pre, p.Delay, p.DrainMax, p.Cleanup, post)
	}
	if d := spec.Delay; d.From.ByPerson() && !d.V.Auto && p.Delay != d.V.For {
		t.Errorf("the delay is %v, %v was set", p.Delay, d.V.For)
	}
	if d := spec.DrainMax; d.Set() && p.Drain != plan.DrainOff && p.DrainMax != d.V {
		t.Errorf("the drain has %v, %v was set", p.DrainMax, d.V)
	}
	t0 := time.Unix(1_000_000, 0)
	for i := range p.Processes {
		s := &p.Processes[i]
		at := s.Start
		for r, rung := range s.Rungs {
			if asked := s.Ladder; asked.Set() && !asked.V[r].Open && rung.Width != asked.V[r].Wait {
				t.Errorf("%s: rung %d has %v, %v was set", s.Name, r, rung.Width, asked.V[r].Wait)
			}
			sent := t0.Add(at)
			if due := s.Due(r, len(s.Rungs), t0, sent); due.Before(sent.Add(rung.Width)) || due.After(t0.Add(p.KillAt)) {
				t.Errorf("%s: rung %d of %v that is sent at %v is due at %v; kill at %v", s.Name, r, rung.Width, at, due.Sub(t0), p.KillAt)
			}
			at += rung.Width
		}
		if at != s.End || s.End-s.Start < plan.MinLadder || s.Start < p.Front || s.End > p.KillAt {
			t.Errorf("%s is stopped from %v to %v, its rungs end at %v; front %v, kill at %v", s.Name, s.Start, s.End, at, p.Front, p.KillAt)
		}
		for _, j := range s.Before {
			if p.Processes[j].End > s.Start {
				t.Errorf("%s gets its signal at %v, before %s is gone at %v", s.Name, s.Start, p.Processes[j].Name, p.Processes[j].End)
			}
		}
	}
	for _, s := range p.Timeline() {
		if s.Kind != plan.StepPlatform && (s.Latest >= end || s.Latest > p.Budget) || s.Earliest > s.Latest {
			t.Errorf("%+v; the budget is %v, the grace ends at %v", s, p.Budget, end)
		}
	}
}

// accepted plans what a file and flags say, and checks the plan if there is one.
func accepted(t *testing.T, in Input) bool {
	t.Helper()
	c, _ := Load(in)
	if c == nil {
		return false
	}
	p, err := plan.New(c.Spec)
	if err != nil {
		if c.Unfit(err).Len() == 0 {
			t.Error("it does not fit, and nothing is told")
		}
		return false
	}
	holds(t, c.Spec, p)
	_, _ = p.Text(), p.SVG()
	return true
}

// randomFile is a file that is likely to be right and to fit.
func randomFile(r *rand.Rand) string {
	var b strings.Builder
	maybe := func(text string, args ...any) {
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, text+"\n", args...)
		}
	}
	some := func(most time.Duration) time.Duration {
		return time.Millisecond * time.Duration(1+r.Int64N(most.Milliseconds()))
	}
	grace := time.Second + some([]time.Duration{10 * time.Second, time.Minute, time.Hour}[r.IntN(3)])
	part := max(grace/time.Duration(3+r.IntN(8)), 2*time.Millisecond)
	fmt.Fprintf(&b, "grace = %q\nplatform = %q\n", grace, plan.Platforms[r.IntN(len(plan.Platforms))].Name)
	maybe("margin = %q", 99*time.Millisecond+some(part))
	maybe("grace_spent = %q", some(part/2))
	b.WriteString("shutdown {\n")
	maybe("delay = %q", some(part))
	maybe("cleanup = %q", some(part))
	b.WriteString("drain {\n")
	maybe("until = %q", plan.Drains[r.IntN(len(plan.Drains))])
	maybe("max = %q", some(part))
	b.WriteString("}\n}\n")
	n := 1 + r.IntN(5)
	for i := range n {
		fmt.Fprintf(&b, "process \"p%d\" {\ncommand = [%q]\n", i, []string{"nginx", "java", "app", "postgres"}[r.IntN(4)])
		var after []string
		for j := range i {
			if r.IntN(3) == 0 {
				after = append(after, fmt.Sprintf("%q", fmt.Sprintf("p%d", j)))
			}
		}
		if after != nil {
			fmt.Fprintf(&b, "after = [%s]\n", strings.Join(after, ", "))
		}
		for range r.IntN(4) {
			sig := []string{"TERM", "INT", "QUIT", "USR1"}[r.IntN(4)]
			if r.IntN(3) == 0 {
				fmt.Fprintf(&b, "stop %q {}\n", sig)
			} else {
				fmt.Fprintf(&b, "stop %q { wait = %q }\n", sig, some(part))
			}
		}
		b.WriteString("}\n")
	}
	for i := range r.IntN(4) {
		fmt.Fprintf(&b, "hook \"h%d\" {\nat = %q\ncommand = [\"x\"]\ntimeout = %q\n}\n", i, plan.Points[r.IntN(len(plan.Points))], some(part/2))
	}
	return b.String()
}

// TestWhatIsAcceptedHolds: of many files, those that are accepted hold.
func TestWhatIsAcceptedHolds(t *testing.T) {
	const files = 1500
	n := 0
	for seed := range uint64(files) {
		text := randomFile(rand.New(rand.NewPCG(seed, 1)))
		if accepted(t, withFile(text)) {
			n++
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, text)
		}
	}
	if n < files/5 || n > files*4/5 {
		t.Errorf("%d of %d were accepted; that tries only one side", n, files)
	}
}

// FuzzAccepted: any bytes that are accepted as a file hold, and so do any flags.
func FuzzAccepted(f *testing.F) {
	for _, pattern := range []string{"testdata/*.hcl", "testdata/unfit/*.hcl", "../../examples/*.hcl"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range files {
			src, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(src), "")
		}
	}
	for seed := range uint64(20) {
		f.Add(randomFile(rand.New(rand.NewPCG(seed, 2))), "--grace\n45s\n--margin\n100ms")
	}
	f.Add("", "--grace\n1s\n--margin\n100ms\n--cleanup\n0s\n--delay\n0s\n--drain-max\n1ms\n--stop\nTERM:1s,QUIT")
	f.Add("", "--grace\n24h\n--grace-spent\n24h\n--stop\nTERM:24h,INT:24h,QUIT:24h")
	f.Fuzz(func(t *testing.T, text, flags string) {
		in := withFile(text, strings.Split(flags, "\n")...)
		if text == "" {
			in = world(strings.Split(flags, "\n")...)
		}
		in.CommandOptional = true
		accepted(t, in)
	})
}
