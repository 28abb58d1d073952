package plan

import (
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
	explicit := slices.Max(p.chain(bare)) // the waits that were set
	least := slices.Max(p.chain(0))       // with every open ladder at its least
	open := false
	for i := range p.Processes {
		open = open || p.Processes[i].open() > 0
	}

	p.Drain = spec.Drain.Or(DrainAuto)
	p.DrainByPerson = spec.Drain.From.ByPerson() && p.Drain != DrainAuto
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
	p.leastLadders(bad)
}

// leastLadders refuses a ladder that was set to less than MinLadder; an open one
// never is.
func (p *Plan) leastLadders(bad *Problems) {
	for i := range p.Processes {
		proc := &p.Processes[i]
		if width := proc.End - proc.Start; width < MinLadder {
			from := proc.Source
			if proc.Ladder.Set() {
				from = proc.Ladder.From
			}
			bad.add(from, "the ladder of process %q has %s in all, under the least, %s: a program could not act on its signal; raise a wait by %s", proc.Name, Duration(width), Duration(MinLadder), Duration(MinLadder-width))
			(*bad)[len(*bad)-1].Places = proc.places()
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
