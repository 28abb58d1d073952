package plan

import (
	"fmt"
	"strings"
	"time"

	"graced/signals"
)

// Problem is one reason why a plan does not fit, and where it came from.
type Problem struct {
	Text   string
	Source Source
	// Terms are the parts of a sum that is too large, where it is about one.
	Terms []Term
	// Places are the settings behind the terms one by one, and behind the budget:
	// each rung's wait, each hook's time-out.
	Places []Term
}

// Term is one part of a sum.
type Term struct {
	Name   string
	Value  time.Duration
	Source Source

	least time.Duration // lowering it further does not help
}

// Problems are all the reasons why a plan does not fit.
type Problems []Problem

func (p *Problems) add(from Source, format string, args ...any) {
	*p = append(*p, Problem{Text: fmt.Sprintf(format, args...), Source: from})
}

// Error has a line for each problem.
func (p Problems) Error() string {
	var lines []string
	for _, one := range p {
		lines = append(lines, one.String())
	}
	return strings.Join(lines, "\n")
}

func (p Problem) String() string {
	if from := p.Source.String(); from != "" {
		return from + ": " + p.Text
	}
	return p.Text
}

// Sum writes the terms of a sum that is too large, each with where it came
// from; "" if the problem is about no sum.
func (p Problem) Sum() string {
	var parts []string
	for _, t := range p.Terms {
		from := t.Source.String()
		if from == "" {
			from = "default"
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s)", Duration(t.Value), t.Name, from))
	}
	return strings.Join(parts, " + ")
}

// String says where a setting came from, for a person: --grace, GRACED_GRACE,
// graced.hcl:3,9, kubernetes; "" for a default.
func (s Source) String() string {
	switch {
	case s.Kind == ByFile && s.File != "":
		return fmt.Sprintf("%s:%d,%d", s.File, s.Line, s.Col)
	default:
		return s.Name
	}
}

// misfit says term by term why the sum is over, and what to lower.
func (p *Plan) misfit(spec Spec, ladder, over time.Duration, bad *Problems) {
	var terms []Term
	if front := p.Delay + p.DrainMax; p.PreStop > front {
		terms = append(terms, Term{Name: termPreStop, Value: p.PreStop, Source: hookSource(spec.Hooks, PreStop), least: front})
	} else {
		if p.Delay > 0 {
			terms = append(terms, Term{"delay", p.Delay, spec.Delay.From, max(0, p.PreStop-p.DrainMax)})
		}
		if p.DrainMax > 0 {
			terms = append(terms, Term{"drain", p.DrainMax, spec.DrainMax.From, max(0, p.PreStop-p.Delay)})
		}
	}
	way := p.longest(0)
	var from Source
	for _, i := range way {
		if setting := p.Processes[i].Ladder; setting.From.ByPerson() && !from.ByPerson() {
			from = setting.From
		}
	}
	terms = append(terms,
		Term{termLadder + p.names(way), ladder, from, time.Duration(len(way)) * MinLadder},
		Term{termCleanup, p.Cleanup, spec.Cleanup.From, p.hooks})
	*bad = append(*bad, Problem{
		Text: fmt.Sprintf("the shutdown does not fit: it needs %s, the budget is %s (grace %s%s − margin %s%s); %s",
			Duration(p.Front+ladder+p.Cleanup), Duration(p.Budget), Duration(p.Grace), suffix(p.GraceFrom),
			Duration(p.Margin), spent(p.GraceSpent), advice(terms, over)),
		Source: largest(terms).Source,
		Terms:  terms,
		Places: p.places(spec, terms, way),
	})
}

// places takes the terms of a sum apart. way is its chain of ladders.
func (p *Plan) places(spec Spec, terms []Term, way []int) []Term {
	places := []Term{
		{Name: "grace", Value: p.Grace, Source: p.GraceFrom},
		{Name: "spent before the signal", Value: p.GraceSpent, Source: spec.GraceSpent.From},
		{Name: "margin", Value: p.Margin, Source: spec.Margin.From},
	}
	for _, t := range terms {
		switch {
		case t.Name == termPreStop:
			places = append(places, hookPlaces(spec.Hooks, PreStop)...)
		case t.Name == termCleanup && !t.Source.ByPerson():
			places = append(places, hookPlaces(spec.Hooks, PostStop)...)
		case strings.HasPrefix(t.Name, termLadder):
			for _, i := range way {
				places = append(places, p.Processes[i].places()...)
			}
		default:
			places = append(places, t)
		}
	}
	return places
}

// places are the waits of a ladder that were set.
func (s *Stopping) places() []Term {
	var places []Term
	for _, r := range s.Rungs {
		if !r.Open {
			places = append(places, Term{Name: signals.Name(r.Signal) + " of " + s.Name, Value: r.Width, Source: r.Source})
		}
	}
	return places
}

func hookPlaces(hooks []Hook, at Point) []Term {
	var places []Term
	for _, h := range hooks {
		if h.At == at {
			places = append(places, Term{Name: "hook " + h.Name, Value: h.Timeout, Source: h.TimeoutFrom})
		}
	}
	return places
}

// The names of terms that places takes apart.
const (
	termPreStop = "pre_stop hooks"
	termLadder  = "ladder of "
	termCleanup = "cleanup"
)

// largest is the term that has most to give of those that a person set.
func largest(terms []Term) Term {
	var found Term
	for _, t := range terms {
		if t.Source.ByPerson() && (found.Name == "" || t.Value-t.least > found.Value-found.least) {
			found = t
		}
	}
	return found
}

// advice says what to lower by how much.
func advice(terms []Term, over time.Duration) string {
	switch t := largest(terms); {
	case t.Name == "" || t.Value <= t.least: // nothing that was set can be less
		return fmt.Sprintf("raise the grace by %s (--grace)", Duration(over))
	case t.Value-t.least < over:
		return fmt.Sprintf("lower the %s and others by %s in all, or raise the grace", t.Name, Duration(over))
	default:
		return fmt.Sprintf("lower the %s by %s to %s, or raise the grace", t.Name, Duration(over), Duration(t.Value-over))
	}
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
		return fmt.Sprintf(" − %s spent before the signal", Duration(d))
	}
	return ""
}
