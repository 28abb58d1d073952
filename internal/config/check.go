package config

import (
	"maps"
	"slices"
	"syscall"

	"graced/internal/plan"
	"graced/signals"
)

// check finds what is wrong with settings that are right by themselves.
// Whether the times fit is plan.New's to say.
func (l *loader) check() {
	s := &l.cfg.Spec
	l.bothGiven("signal", "stop", "the first signal is the ladder's first rung", "for example: --stop SIGQUIT:20s,SIGTERM:5s")
	if s.Drain.V == plan.DrainOff && s.Drain.From.Kind == s.DrainMax.From.Kind && s.Drain.Set() {
		l.bothGiven("drain", "drain-max", "there is no drain that could take so long", "leave --drain-max out, or --drain off")
	}
	l.checkRewrites()
}

// bothGiven tells of two settings that contradict each other and come from
// the same kind of source. From different ones, the higher replaces the other.
func (l *loader) bothGiven(first, second, why, way string) {
	a, b := l.row(first), l.row(second)
	for _, pair := range [][2]*given{{a.flag, b.flag}, {a.env, b.env}} {
		if pair[0] != nil && pair[1] != nil {
			l.problems.Add(Problem{Summary: "cannot stand beside " + pair[0].from.Name + ": " + why, Detail: way, Source: pair[1].from, at: pair[1].at})
		}
	}
}

// row finds a row by its name.
func (l *loader) row(name string) *row {
	for i := range l.rows {
		if l.rows[i].name == name {
			return &l.rows[i]
		}
	}
	return &row{}
}

// checkRewrites tells of rewrites of signals that are not forwarded.
func (l *loader) checkRewrites() {
	for _, p := range l.each {
		for _, sig := range slices.Sorted(maps.Keys(p.rewrite.V)) {
			if err := signals.CheckRewrite(sig, l.stops()); err != nil {
				l.problems.Add(Problem{Summary: err.Error(), Detail: "take it out of the list", Source: p.rewrite.From})
			}
		}
	}
}

// stops are the stop signals in force, as far as the settings say; the
// programs' own are known when the plan is made.
func (l *loader) stops() []syscall.Signal { return l.cfg.Spec.Stops.Or(signals.Stops()) }
