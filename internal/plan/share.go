package plan

import (
	"fmt"
	"slices"
	"time"
)

// The parts in which the terms that nobody set share what the others leave.
const (
	delayParts  = 4
	drainParts  = 3
	ladderParts = 3
)

// share divides the time before the kill among delay, drain and ladders, and
// proves that max(delay + drain, pre_stop hooks) + the longest chain of
// ladders + cleanup is at most the budget.
func (p *Plan) share(spec Spec, bad *Problems) {
	p.ladders(spec, bad)
	if len(*bad) > 0 {
		return
	}
	explicit := p.longest(0)  // the chain's waits that were set
	least := p.longest(-1)    // with every open ladder at its least
	open := least != explicit // or some ladder off the longest chain is open
	for i := range p.Processes {
		open = open || openRungs(p.Processes[i].Rungs) > 0
	}

	p.Drain = spec.Drain.Or(DrainAuto)
	p.DrainByPerson = spec.Drain.From.ByPerson() || spec.DrainMax.From.ByPerson()
	p.DrainFixed = spec.DrainMax.Set()
	drain, drainOpen := spec.DrainMax.V, !p.DrainFixed
	if p.Drain == DrainOff {
		drain, drainOpen = 0, false
	}
	delay, delayOpen := spec.Delay.V.For, !spec.Delay.Set() || spec.Delay.V.Auto
	p.DelayByPerson = spec.Delay.From.ByPerson() && !spec.Delay.V.Auto
	if delayOpen {
		delay = 0
		p.DelayAuto = true
	}
	rest := p.KillAt - delay - drain - explicit
	if !delayOpen && !p.DelayByPerson && p.KillAt-delay-drain < least {
		// a preset's delay must not be what does not fit: a person who sets a short
		// grace gets a short delay
		delayOpen, rest, delay = true, rest+delay, 0
	}

	parts := time.Duration(0)
	for _, term := range []struct {
		open  bool
		parts time.Duration
	}{{delayOpen, delayParts}, {drainOpen, drainParts}, {open, ladderParts}} {
		if term.open {
			parts += term.parts
		}
	}
	ladder := explicit
	if parts > 0 {
		unit := (max(0, rest) / parts).Truncate(time.Millisecond)
		if open {
			ladder += max(unit*ladderParts, least-explicit)
			// the least that a ladder needs comes before what delay and drain would like
			front := max(0, p.KillAt-delay-drain-ladder)
			if parts > ladderParts {
				unit = min(unit, (front / (parts - ladderParts)).Truncate(time.Millisecond))
			}
		}
		if delayOpen {
			delay = unit * delayParts
		}
		if drainOpen {
			drain = unit * drainParts
		}
	}
	if p.Assumed() {
		delay, drain = capFront(delay, delayOpen, drain, drainOpen)
	}
	p.Front = max(delay+drain, p.PreStop)
	if open {
		ladder = max(least, p.KillAt-p.Front)
	}
	p.Delay, p.DrainMax, p.DrainLatest = delay, drain, delay+drain

	if over := p.Front + ladder - p.KillAt; over > 0 {
		p.misfit(spec, ladder, over, bad)
		return
	}
	p.widths(ladder)
	p.times()
	for i := range p.Processes {
		proc := &p.Processes[i]
		if width := proc.End - proc.Start; width < MinLadder {
			from := proc.Source
			if proc.Ladder.Set() {
				from = proc.Ladder.From
			}
			bad.add(from, "the ladder of process %q has %v in all, under the least, %v: a program could not act on its signal; raise a wait by %v", proc.Name, width, MinLadder, MinLadder-width)
		}
	}
}

// capFront keeps the open ones of delay and drain within AssumedFront.
func capFront(delay time.Duration, delayOpen bool, drain time.Duration, drainOpen bool) (time.Duration, time.Duration) {
	over := delay + drain - AssumedFront
	if over <= 0 {
		return delay, drain
	}
	switch {
	case delayOpen && drainOpen:
		delay = AssumedFront * delayParts / (delayParts + drainParts)
		drain = AssumedFront - delay
	case delayOpen:
		delay = max(0, delay-over)
	case drainOpen:
		drain = max(0, drain-over)
	}
	return delay, drain
}

// ladders gives each process its rungs, the open ones still without a width.
func (p *Plan) ladders(spec Spec, bad *Problems) {
	for i := range p.Processes {
		proc := &p.Processes[i]
		if !proc.Ladder.Set() {
			proc.Default = true
			proc.Rungs = []PlannedRung{{Signal: proc.First.V, Open: true, Source: proc.First.From}}
			continue
		}
		for _, rung := range proc.Ladder.V {
			proc.Rungs = append(proc.Rungs, PlannedRung{Signal: rung.Signal, Width: rung.Wait, Open: rung.Open, Source: rung.Source})
		}
		if len(proc.Rungs) == 0 {
			bad.add(proc.Ladder.From, "the ladder of process %q has no rung; write one such as SIGTERM:10s", proc.Name)
		}
	}
}

// longest is the length of the longest chain of ladders with each open rung
// at x; with x < 0 each ladder that has open rungs is at its least.
func (p *Plan) longest(x time.Duration) time.Duration {
	end := p.chain(x)
	return slices.Max(end)
}

// chain gives, for each process, the time from the first stop signal of all
// until its own ladder has ended.
func (p *Plan) chain(x time.Duration) []time.Duration {
	end := make([]time.Duration, len(p.Processes))
	done := make([]bool, len(p.Processes))
	var visit func(i int) time.Duration
	visit = func(i int) time.Duration {
		if done[i] {
			return end[i]
		}
		done[i] = true
		var start time.Duration
		for _, j := range p.Processes[i].Before {
			start = max(start, visit(j))
		}
		end[i] = start + width(p.Processes[i].Rungs, x)
		return end[i]
	}
	for i := range p.Processes {
		visit(i)
	}
	return end
}

// width is that of a ladder with each open rung at x; see longest.
func width(rungs []PlannedRung, x time.Duration) time.Duration {
	var sum time.Duration
	for _, r := range rungs {
		if !r.Open || r.Width > 0 {
			sum += r.Width
		} else if x > 0 {
			sum += x
		}
	}
	if x < 0 && openRungs(rungs) > 0 {
		return max(sum, MinLadder)
	}
	return sum
}

// openRungs counts the rungs that have no width yet.
func openRungs(rungs []PlannedRung) int {
	n := 0
	for _, r := range rungs {
		if r.Open && r.Width == 0 {
			n++
		}
	}
	return n
}

// widths gives the open rungs their widths so that no chain is longer than
// total: all alike first, as much as the tightest chain allows; the rungs of
// that chain are then fixed, and the others share what their chains have left.
func (p *Plan) widths(total time.Duration) {
	for range p.Processes { // each round fixes the rungs of at least one process
		x, path := p.tightest(total)
		if x < 0 {
			return
		}
		for _, i := range path {
			for r := range p.Processes[i].Rungs {
				if rung := &p.Processes[i].Rungs[r]; rung.Open && rung.Width == 0 {
					rung.Width = max(x, 1)
				}
			}
		}
	}
}

// tightest is the largest common width of all open rungs with which every
// chain fits into total, and the chain that sets it; -1 if none is open.
//
// The longest chain as a function of the width is convex and piecewise linear,
// so Newton's method from above ends after at most one step a chain.
func (p *Plan) tightest(total time.Duration) (time.Duration, []int) {
	x := total + 1
	var path []int
	for {
		longest := p.longestPath(x, total)
		if longest == nil {
			return x, path
		}
		var explicit time.Duration
		n := 0
		for _, i := range longest {
			explicit += width(p.Processes[i].Rungs, 0)
			n += openRungs(p.Processes[i].Rungs)
		}
		if n == 0 {
			if path == nil {
				return -1, nil
			}
			return x, path
		}
		x, path = max(0, total-explicit)/time.Duration(n), longest
		if x == 0 {
			return x, path
		}
	}
}

// longestPath gives the processes of the longest chain that has open rungs and
// is longer than total with each at x; nil if none is.
func (p *Plan) longestPath(x, total time.Duration) []int {
	type state struct {
		length time.Duration
		open   int
		from   int
	}
	best := make([]state, len(p.Processes))
	done := make([]bool, len(p.Processes))
	var visit func(i int) state
	visit = func(i int) state {
		if done[i] {
			return best[i]
		}
		done[i] = true
		s := state{from: -1}
		for _, j := range p.Processes[i].Before {
			if b := visit(j); b.length > s.length || b.length == s.length && b.open > s.open {
				s = state{b.length, b.open, j}
			}
		}
		s.length += width(p.Processes[i].Rungs, x)
		s.open += openRungs(p.Processes[i].Rungs)
		best[i] = s
		return s
	}
	last := -1
	for i := range p.Processes {
		if s := visit(i); s.length > total && s.open > 0 && (last < 0 || s.length > best[last].length) {
			last = i
		}
	}
	var path []int
	for i := last; i >= 0; i = best[i].from {
		path = append(path, i)
	}
	return path
}

// times computes the latest times, in the order of the stop.
func (p *Plan) times() {
	end := p.chain(0)
	for i := range p.Processes {
		proc := &p.Processes[i]
		proc.End = p.Front + end[i]
		proc.Start = proc.End - width(proc.Rungs, 0)
		at := proc.Start
		for r := range proc.Rungs {
			at += proc.Rungs[r].Width
			proc.Rungs[r].Until = at
		}
	}
}

// misfit says term by term why the sum is over, and what to lower.
func (p *Plan) misfit(spec Spec, ladder, over time.Duration, bad *Problems) {
	var terms []Term
	if p.PreStop > p.Delay+p.DrainMax {
		terms = append(terms, Term{"pre_stop hooks", p.PreStop, hookSource(spec.Hooks, PreStop)})
	} else {
		if p.Delay > 0 {
			terms = append(terms, Term{"delay", p.Delay, spec.Delay.From})
		}
		if p.DrainMax > 0 {
			terms = append(terms, Term{"drain", p.DrainMax, spec.DrainMax.From})
		}
	}
	names, from := p.criticalChain()
	terms = append(terms, Term{"ladder of " + join(names, " → "), ladder, from})
	terms = append(terms, Term{"cleanup", p.Cleanup, spec.Cleanup.From})
	largest := Term{}
	for _, t := range terms {
		if t.Source.ByPerson() && t.Value > largest.Value {
			largest = t
		}
	}
	advice := fmt.Sprintf("raise the grace by %v (--grace)", over)
	if largest.Name != "" {
		advice = fmt.Sprintf("lower the %s by %v to %v, or raise the grace", largest.Name, over, largest.Value-over)
		if largest.Value < over {
			advice = fmt.Sprintf("lower the %s and others by %v in all, or raise the grace", largest.Name, over)
		}
	}
	var sum time.Duration
	for _, t := range terms {
		sum += t.Value
	}
	*bad = append(*bad, Problem{
		Text: fmt.Sprintf("the shutdown does not fit: it needs %v, the budget is %v (grace %v%s − margin %v%s); %s",
			sum, p.Budget, p.Grace, suffix(p.GraceFrom), p.Margin, spent(p.GraceSpent), advice),
		Source: largest.Source,
		Terms:  terms,
	})
}

// criticalChain names the processes of the longest chain, in the order of
// their stop, and the source of the first ladder on it that was set.
func (p *Plan) criticalChain() (names []string, from Source) {
	end := p.chain(-1)
	at := 0
	for i := range end {
		if end[i] > end[at] {
			at = i
		}
	}
	for at >= 0 {
		names = append([]string{p.Processes[at].Name}, names...)
		if p.Processes[at].Ladder.Set() {
			from = p.Processes[at].Ladder.From
		}
		next := -1
		for _, j := range p.Processes[at].Before {
			if next < 0 || end[j] > end[next] {
				next = j
			}
		}
		at = next
	}
	return names, from
}

func hookSource(hooks []Hook, at Point) Source {
	for _, h := range hooks {
		if h.At == at {
			return h.Source
		}
	}
	return Source{}
}

func suffix(from Source) string {
	if !from.ByPerson() {
		return " assumed"
	}
	return ""
}

func spent(d time.Duration) string {
	if d > 0 {
		return fmt.Sprintf(" − %v spent before the signal", d)
	}
	return ""
}
