package plan

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"graced/signals"
)

// Step is one step of the timeline. Earliest is when it happens if everything
// ahead of it ends at once, Latest when it happens whatever else goes on.
type Step struct {
	Kind     StepKind
	Process  string        // of a signal
	Signal   string        // its name; of the table of programs, a guess from the command
	Earliest time.Duration // -1: only if what is before it lasts to its end
	Latest   time.Duration
	Text     string
}

// StepKind is what a step is about.
type StepKind string

const (
	StepNotReady StepKind = "not_ready"
	StepPreStop  StepKind = "pre_stop"
	StepDelay    StepKind = "delay"
	StepDrain    StepKind = "drain"
	StepSignal   StepKind = "signal"
	StepKill     StepKind = "kill"
	StepHook     StepKind = "post_stop"
	StepExit     StepKind = "exit"
	StepPlatform StepKind = "platform"
)

// never is the Earliest of a step that only a missed deadline brings.
const never time.Duration = -1

// Timeline is the shutdown as a list of steps, in the order in which they
// happen if each lasts as long as it may.
func (p *Plan) Timeline() []Step {
	steps := []Step{{Kind: StepNotReady, Text: "not ready: readiness answers 503 until the end"}}
	var at time.Duration
	for _, h := range p.Hooks {
		if h.At == PreStop { // one after the other
			at += h.Timeout
			steps = append(steps, Step{Kind: StepPreStop, Latest: at, Text: fmt.Sprintf("hook %s ≤ %s, beside the delay and the drain", h.Name, Duration(h.Timeout))})
		}
	}
	first := time.Duration(0)
	if p.DelayByPerson {
		first = p.Delay
	}
	if p.Delay > 0 {
		steps = append(steps, Step{Kind: StepDelay, Earliest: first, Latest: p.Delay, Text: p.delayText()})
	}
	if p.Drain != DrainOff && p.DrainMax > 0 {
		steps = append(steps, Step{Kind: StepDrain, Earliest: first, Latest: p.DrainLatest, Text: p.drainText()})
	}
	for _, i := range p.stopOrder() {
		steps = append(steps, p.Processes[i].steps(first, p.after(i))...)
	}
	slices.SortStableFunc(steps, func(a, b Step) int { return int(a.Latest - b.Latest) })
	steps = append(steps, Step{Kind: StepKill, Earliest: never, Latest: p.KillAt, Text: "everything left: SIGKILL"})
	for _, h := range p.Hooks {
		if h.At == PostStop {
			steps = append(steps, Step{Kind: StepHook, Earliest: first, Latest: p.Budget, Text: fmt.Sprintf("hook %s ≤ %s", h.Name, Duration(h.Timeout))})
		}
	}
	return append(steps,
		Step{Kind: StepExit, Earliest: first, Latest: p.Budget, Text: "report, exit"},
		Step{Kind: StepPlatform, Earliest: never, Latest: p.Grace - p.GraceSpent, Text: fmt.Sprintf("the platform's SIGKILL: %s in hand", Duration(p.Margin))})
}

func (p *Plan) delayText() string {
	switch {
	case p.DelayByPerson:
		return "delay over: load balancers look away"
	case p.DelayAuto:
		return "delay: until everyone who asks for readiness has been told"
	}
	return "delay: load balancers look away; none where nothing listens"
}

func (p *Plan) drainText() string {
	switch p.Drain {
	case DrainClosed:
		return "drain: until no connection is left"
	case DrainAuto:
		if names := p.undrained(); names != nil {
			return "drain: none for " + strings.Join(names, ", ") + ", else until no connection is busy"
		}
	}
	return "drain: until no connection is busy"
}

// undrained has the programs that are stopped first, if all of them are such
// that `drain = "auto"` is off; else it is nil.
func (p *Plan) undrained() []string {
	var names []string
	for i := range p.Processes {
		if s := &p.Processes[i]; len(s.Before) == 0 {
			if AutoDrain(s.guess()) != DrainOff {
				return nil
			}
			names = append(names, s.guess().Name())
		}
	}
	return names
}

// guess is what the process will be if its command names it. Its identity at
// the stop decides: a script may have become something else.
func (s *Stopping) guess() Identity {
	if len(s.Command) == 0 {
		return Identity{}
	}
	return Identity{Exe: base(s.Command[0]), Title: s.Command}
}

// steps are the signals of one process.
func (s *Stopping) steps(first time.Duration, after string) []Step {
	chosen := First(s.guess(), 0)
	var steps []Step
	for r, sig := range s.Signals(chosen) {
		step := Step{Kind: StepSignal, Process: s.Name, Signal: signals.Name(sig), Earliest: never, Latest: s.Start}
		if r > 0 {
			step.Latest = s.begins(r)
		} else {
			step.Earliest, step.Text = first, after
		}
		if r < len(s.Rungs) && s.Rungs[r].Signal == 0 {
			step.Text = strings.TrimSpace(step.Text + " (" + chosen.reason() + ")")
		}
		steps = append(steps, step)
	}
	return append(steps, Step{Kind: StepKill, Process: s.Name, Signal: signals.Name(syscall.SIGKILL), Earliest: never, Latest: s.End})
}

// Words says which signals a default ladder has, as far as the command tells.
func (s *Stopping) Words() string {
	chosen := First(s.guess(), 0)
	switch auto := s.Rungs[0].Signal == 0; {
	case auto && chosen.ByTable:
		return "auto: " + signals.Name(chosen.Signal) + ", " + chosen.Program + "'s own"
	case auto:
		return "auto: as it came, or the program's own"
	}
	var names []string
	for _, sig := range s.Signals(chosen) {
		names = append(names, signals.Name(sig))
	}
	return strings.Join(names, ", then ")
}

// begins is the latest time of the signal of rung r, from 1.
func (s *Stopping) begins(r int) time.Duration {
	if r == len(s.Rungs) { // the SIGTERM that a default ladder ends with
		return s.End - s.Rungs[r-1].Width/2
	}
	return s.Rungs[r-1].Until
}

// reason says for the plan, before there is a process, why the signal.
func (c Chosen) reason() string {
	if c.ByTable {
		return c.Program + ": " + c.Why
	}
	return "or as it came, or the program's own"
}

// after says which processes must be gone before i is stopped.
func (p *Plan) after(i int) string {
	var names []string
	for _, j := range p.Processes[i].Before {
		names = append(names, p.Processes[j].Name)
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "once " + names[0] + " is gone"
	}
	return "once " + strings.Join(names, ", ") + " are gone"
}

// stopOrder has the indexes of the processes, each after those that must be
// gone before it.
func (p *Plan) stopOrder() []int {
	var order []int
	seen := make([]bool, len(p.Processes))
	var visit func(i int)
	visit = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		for _, j := range p.Processes[i].Before {
			visit(j)
		}
		order = append(order, i)
	}
	for i := range p.Processes {
		visit(i)
	}
	return order
}
