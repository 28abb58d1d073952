package plan

import (
	"fmt"
	"strings"
	"time"

	"graced/signals"
)

// Step is one step of the timeline. Earliest is when it happens if everything
// ahead of it ends at once, Latest when it happens whatever else goes on.
type Step struct {
	Kind     StepKind
	Process  string        // of a signal
	Signal   string        // its name; "" where it is chosen when it is due
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
	first := p.Delay
	if !p.DelayByPerson {
		first = 0
	}
	for _, h := range p.Hooks {
		if h.At == PreStop {
			steps = append(steps, Step{Kind: StepPreStop, Latest: h.Timeout, Text: fmt.Sprintf("hook %s ≤ %v, beside the delay and the drain", h.Name, h.Timeout)})
		}
	}
	if p.Delay > 0 {
		text := "delay over: load balancers look away"
		if p.DelayAuto {
			text = "delay: until everyone who asks for readiness has been told"
		}
		steps = append(steps, Step{Kind: StepDelay, Earliest: first, Latest: p.Delay, Text: text})
	}
	if p.Drain != DrainOff && p.DrainMax > 0 {
		text := "drain: until no connection is busy"
		switch p.Drain {
		case DrainClosed:
			text = "drain: until no connection is left"
		case DrainAuto:
			text = "drain: until no connection is busy (off for programs that drain by themselves)"
		}
		steps = append(steps, Step{Kind: StepDrain, Earliest: first, Latest: p.DrainLatest, Text: text})
	}
	for _, i := range p.stopOrder() {
		steps = append(steps, p.Processes[i].steps(first, p.after(i))...)
	}
	steps = append(steps, Step{Kind: StepKill, Earliest: never, Latest: p.KillAt, Text: "everything left: SIGKILL"})
	at := p.KillAt
	for _, h := range p.Hooks {
		if h.At == PostStop {
			at += h.Timeout
			steps = append(steps, Step{Kind: StepHook, Earliest: first, Latest: at, Text: fmt.Sprintf("hook %s ≤ %v", h.Name, h.Timeout)})
		}
	}
	return append(steps,
		Step{Kind: StepExit, Earliest: first, Latest: p.Budget, Text: "report, exit"},
		Step{Kind: StepPlatform, Earliest: never, Latest: p.Grace - p.GraceSpent, Text: fmt.Sprintf("the platform's SIGKILL: %s in hand", Duration(p.Margin))})
}

// steps are the signals of one process.
func (s *Stopping) steps(first time.Duration, after string) []Step {
	var steps []Step
	at := s.Start
	for r, rung := range s.Rungs {
		step := Step{Kind: StepSignal, Process: s.Name, Earliest: never, Latest: at}
		if rung.Signal != 0 {
			step.Signal = signals.Name(rung.Signal)
		} else {
			step.Text = "its stop signal, by what it is then: SIGTERM where nothing else is known"
		}
		if r == 0 {
			step.Earliest = first
			if after != "" {
				step.Text = strings.TrimPrefix(step.Text+", once "+after+" gone", ", ")
			}
		}
		steps = append(steps, step)
		at = rung.Until
		if s.Default && rung.Signal != 0 && signals.Name(rung.Signal) != "SIGTERM" {
			steps = append(steps, Step{Kind: StepSignal, Process: s.Name, Signal: "SIGTERM", Earliest: never, Latest: at - rung.Width/2})
		}
	}
	return append(steps, Step{Kind: StepKill, Process: s.Name, Signal: "SIGKILL", Earliest: never, Latest: s.End})
}

// after names the processes that must be gone before i is stopped.
func (p *Plan) after(i int) string {
	var names []string
	for _, j := range p.Processes[i].Before {
		names = append(names, p.Processes[j].Name)
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
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

// Duration writes d as people do: 30s, 1.5s, 2m.
func Duration(d time.Duration) string {
	d = d.Round(time.Millisecond)
	if d >= time.Minute && d%time.Second == 0 {
		s := d.String()
		s = strings.TrimSuffix(s, "0s")
		if strings.HasSuffix(s, "h0m") {
			s = strings.TrimSuffix(s, "0m")
		}
		return s
	}
	return d.String()
}

// Text is the timeline for a person, as `graced plan` prints it.
func (p *Plan) Text() string {
	var b strings.Builder
	from := "assumed; --grace sets it"
	if !p.Assumed() {
		from = p.GraceFrom.String()
	} else if p.GraceFrom.Name != "" {
		from = p.GraceFrom.Name + ", " + from
	}
	fmt.Fprintf(&b, "grace %s (%s)", Duration(p.Grace), from)
	if p.GraceSpent > 0 {
		fmt.Fprintf(&b, " · spent %s", Duration(p.GraceSpent))
	}
	fmt.Fprintf(&b, " · budget %s · margin %s\n", Duration(p.Budget), Duration(p.Margin))
	steps := p.Timeline()
	names := 0
	for _, s := range steps {
		names = max(names, len(s.Process))
	}
	for _, s := range steps {
		var text string
		switch {
		case s.Process != "":
			text = fmt.Sprintf("%-*s %s", names, s.Process, strings.TrimSpace(s.Signal+" "+parens(s.Signal, s.Text)))
		default:
			text = s.Text
		}
		fmt.Fprintf(&b, " %-8s %-9s %s\n", s.earliest(), s.latest(), strings.TrimRight(text, " "))
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

func parens(signal, text string) string {
	if signal == "" || text == "" {
		return text
	}
	return "(" + text + ")"
}

func (s Step) earliest() string {
	if s.Earliest == never && s.Kind != StepPlatform {
		return ""
	}
	if s.Kind == StepPlatform {
		return "T+" + Duration(s.Latest)
	}
	return "T+" + Duration(s.Earliest)
}

func (s Step) latest() string {
	if s.Kind == StepPlatform || s.Latest == s.Earliest {
		return ""
	}
	return "– " + Duration(s.Latest)
}
