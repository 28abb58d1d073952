package plan

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"graced/signals"
)

// Plan is a shutdown that fits. Every time in it is an offset from the
// shutdown's start or a length.
type Plan struct {
	Platform   Platform
	Grace      time.Duration
	GraceFrom  Source
	GraceSpent time.Duration
	Margin     time.Duration
	Budget     time.Duration // Grace - GraceSpent - Margin: by then graced has exited
	Cleanup    time.Duration
	KillAt     time.Duration // Budget - Cleanup: whatever is left gets SIGKILL

	// Delay is the delay's ceiling. DelayAuto: it ends as soon as those who ask
	// have been told. DelayByPerson: it is waited in full, whoever asks.
	Delay         time.Duration
	DelayAuto     bool
	DelayByPerson bool

	// Drain is what is waited for, and DrainMax how long from the drain's
	// start where DrainFixed; else until DrainLatest.
	Drain         Drain
	DrainByPerson bool // somebody set what is waited for, or how long
	DrainMax      time.Duration
	DrainFixed    bool
	DrainLatest   time.Duration
	Quiet, Unsure time.Duration
	Ports         []uint16

	PreStop time.Duration // the sum of the pre_stop hooks' time-outs
	Front   time.Duration // the latest end of what comes before the first stop signal

	Stops     []syscall.Signal
	StopsSet  bool // somebody replaced the list: no program adds to it
	Repeat    Repeat
	Processes []Stopping // in the file's order
	Main      int        // index of the main process
	Hooks     []Hook
	ExitCodes []ExitCode

	// Warnings are what fits but is worth a second look.
	Warnings []Problem
}

// Stopping is a process and its place in the shutdown.
type Stopping struct {
	Process
	After  []int // indexes of the processes that must be ready before it starts
	Before []int // indexes of those that must be gone before it is stopped

	// Default: the ladder is the default one. It has one rung here; the second,
	// SIGTERM, is added when the first is known (see Rungs).
	Default bool
	Rungs   []PlannedRung
	Start   time.Duration // the latest time of the first signal
	End     time.Duration // the latest time of its SIGKILL
}

// PlannedRung is a rung with its times. Signal 0 is auto.
type PlannedRung struct {
	Signal syscall.Signal
	Width  time.Duration
	Open   bool          // its width is a share; it may last until Until
	Until  time.Duration // the latest end
	Source Source
}

// Assumed says that nobody gave the grace: it is the platform's default, or
// DefaultGrace.
func (p *Plan) Assumed() bool { return !p.GraceFrom.ByPerson() }

// Limits of what can be planned.
const (
	MinMargin = 100 * time.Millisecond
	MinLadder = time.Second
	// AssumedFront is the time by which a program gets its signal while the
	// grace is only assumed: most platforms give at least 10 s.
	AssumedFront  = 8 * time.Second
	DefaultQuiet  = 2 * time.Second
	DefaultUnsure = 5 * time.Second
	// spareCleanup is kept for the report and the last metrics where nobody
	// set the cleanup.
	spareCleanup = 500 * time.Millisecond
)

// New proves that spec fits and gives the plan, or every reason why it does
// not, as Problems.
func New(spec Spec) (*Plan, error) {
	p := &Plan{
		Platform:   spec.Platform,
		GraceSpent: spec.GraceSpent.V,
		Quiet:      spec.Quiet.Or(DefaultQuiet),
		Unsure:     spec.Unsure.Or(DefaultUnsure),
		Ports:      spec.Ports.V,
		Stops:      spec.Stops.Or(signals.Stops()),
		StopsSet:   spec.Stops.Set(),
		Repeat:     spec.Repeat.Or(RepeatIgnore),
		Hooks:      spec.Hooks,
		ExitCodes:  spec.ExitCodes.V,
	}
	var bad Problems
	p.grace(spec, &bad)
	p.order(spec, &bad)
	if len(bad) > 0 {
		return nil, bad
	}
	p.share(spec, &bad)
	if len(bad) > 0 {
		return nil, bad
	}
	p.warn(spec)
	return p, nil
}

// grace sets what follows from the grace alone.
func (p *Plan) grace(spec Spec, bad *Problems) {
	p.Grace, p.GraceFrom = spec.Grace.V, spec.Grace.From
	if !spec.Grace.Set() {
		p.Grace = DefaultGrace
		if spec.Platform.Grace > 0 {
			p.Grace, p.GraceFrom = spec.Platform.Grace, Source{Kind: ByPreset, Name: spec.Platform.Name}
		}
	}
	p.Margin = spec.Margin.Or(min(max(p.Grace/10, 500*time.Millisecond), 5*time.Second))
	if p.Margin < MinMargin {
		bad.add(spec.Margin.From, "the margin %v is under the least, %v: graced would race the platform's SIGKILL; leave it out or raise it", p.Margin, MinMargin)
	}
	var post time.Duration
	for _, h := range spec.Hooks {
		switch h.At {
		case PostStop:
			post += h.Timeout
		case PreStop:
			p.PreStop += h.Timeout
		}
	}
	p.Cleanup = spec.Cleanup.Or(post + spareCleanup)
	if p.Cleanup < post {
		bad.add(spec.Cleanup.From, "cleanup %v is less than the post_stop hooks' time-outs, %v in all; raise it by %v or shorten a hook", p.Cleanup, post, post-p.Cleanup)
	}
	p.Budget = p.Grace - p.GraceSpent - p.Margin
	p.KillAt = p.Budget - p.Cleanup
}

// order resolves names into indexes and refuses cycles.
func (p *Plan) order(spec Spec, bad *Problems) {
	if len(spec.Processes) == 0 {
		bad.add(Source{}, "there is no process to run")
		return
	}
	index := make(map[string]int, len(spec.Processes))
	main := -1
	for i, proc := range spec.Processes {
		if _, double := index[proc.Name]; double {
			bad.add(proc.Source, "process %q is there twice; give one another name", proc.Name)
		}
		index[proc.Name] = i
		if proc.Main {
			if main >= 0 {
				bad.add(proc.Source, "processes %q and %q are both main; exactly one can be", spec.Processes[main].Name, proc.Name)
			}
			main = i
		}
		p.Processes = append(p.Processes, Stopping{Process: proc})
	}
	if main < 0 {
		main = len(spec.Processes) - 1
	}
	p.Main = main
	p.Processes[main].Process.Main = true
	for i := range p.Processes {
		proc := &p.Processes[i]
		for _, name := range proc.Process.After {
			j, ok := index[name]
			if !ok {
				bad.add(proc.Source, "process %q starts after %q, which is not there", proc.Name, name)
				continue
			}
			if slices.Contains(proc.After, j) {
				continue
			}
			proc.After = append(proc.After, j)
			p.Processes[j].Before = append(p.Processes[j].Before, i)
		}
	}
	if names := p.cycle(); names != nil {
		bad.add(p.Processes[0].Source, "the processes wait for one another in a circle: %s; take one out of an `after`", join(names, " → "))
	}
}

// cycle gives the names along a circle of `after`, nil if there is none.
func (p *Plan) cycle() []string {
	const (
		unseen = iota
		open
		closed
	)
	state := make([]int, len(p.Processes))
	var path []int
	var visit func(i int) []string
	visit = func(i int) []string {
		if state[i] == closed {
			return nil
		}
		path = append(path, i)
		if state[i] == open {
			from := slices.Index(path, i)
			var names []string
			for _, j := range path[from:] {
				names = append(names, p.Processes[j].Name)
			}
			return names
		}
		state[i] = open
		for _, j := range p.Processes[i].After {
			if names := visit(j); names != nil {
				return names
			}
		}
		state[i], path = closed, path[:len(path)-1]
		return nil
	}
	for i := range p.Processes {
		if names := visit(i); names != nil {
			return names
		}
	}
	return nil
}

// warn notes what fits but is likely to surprise.
func (p *Plan) warn(spec Spec) {
	w := (*Problems)(&p.Warnings)
	if p.DelayByPerson && p.Delay > p.Grace/2 {
		w.add(spec.Delay.From, "the delay %v is more than half of the grace %v: the program has %v left for its own stop", p.Delay, p.Grace, p.KillAt-p.Front)
	}
	if limit := p.Platform.Max; limit > 0 && p.Grace > limit {
		w.add(p.GraceFrom, "%s gives at most %v, and caps a longer grace without a word; %v will not be kept", p.Platform.Name, limit, p.Grace)
	}
}

// Problem is one reason why a plan does not fit, and where it came from.
type Problem struct {
	Text   string
	Source Source
	// Terms are the parts of a sum that is too large, where it is about one.
	Terms []Term
}

// Term is one part of a sum.
type Term struct {
	Name   string
	Value  time.Duration
	Source Source
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
	return join(lines, "\n")
}

func (p Problem) String() string {
	if from := p.Source.String(); from != "" {
		return from + ": " + p.Text
	}
	return p.Text
}

// String says where a setting came from, for a person: --grace, GRACED_GRACE,
// graced.hcl:3, kubernetes; "" for a default.
func (s Source) String() string {
	switch {
	case s.Kind == ByFile && s.File != "":
		return fmt.Sprintf("%s:%d,%d", s.File, s.Line, s.Col)
	default:
		return s.Name
	}
}

func join(parts []string, sep string) string {
	var b []byte
	for i, part := range parts {
		if i > 0 {
			b = append(b, sep...)
		}
		b = append(b, part...)
	}
	return string(b)
}

// Sum lists the terms of a sum that is too large, one a line; "" if the problem
// is about no sum.
func (p Problem) Sum() string {
	var lines []string
	for _, t := range p.Terms {
		line := fmt.Sprintf("%s %s", Duration(t.Value), t.Name)
		if from := t.Source.String(); from != "" {
			line += " (" + from + ")"
		} else {
			line += " (default)"
		}
		lines = append(lines, line)
	}
	return join(lines, " + ")
}
