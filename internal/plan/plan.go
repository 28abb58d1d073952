package plan

import (
	"slices"
	"strings"
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
	DrainByPerson bool // somebody set what is waited for, and not to auto
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
	// Notes are what whoever looks at the plan should know; see note.
	Notes []Problem

	hooks time.Duration // the sum of the post_stop hooks' time-outs
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

	shared bool // the open rungs have got their widths
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
	p.note(spec)
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
		bad.add(spec.Margin.From, "the margin %s is under the least, %s: graced would race the platform's SIGKILL; leave it out or raise it", Duration(p.Margin), Duration(MinMargin))
	}
	var post time.Duration
	for _, h := range spec.Hooks {
		switch h.At {
		case PostStop:
			post = sum(post, h.Timeout)
		case PreStop:
			p.PreStop = sum(p.PreStop, h.Timeout)
		}
	}
	p.Cleanup = spec.Cleanup.Or(post + spareCleanup)
	p.hooks = post
	if p.Cleanup < post {
		bad.add(spec.Cleanup.From, "cleanup %s is less than the post_stop hooks' time-outs, %s in all; raise it by %s or shorten a hook", Duration(p.Cleanup), Duration(post), Duration(post-p.Cleanup))
		(*bad)[len(*bad)-1].Places = hookPlaces(spec.Hooks, PostStop)
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
	if circle := p.cycle(); circle != nil {
		bad.add(p.Processes[circle[0]].Source, "the processes wait for one another in a circle: %s; take one out of an `after`", p.names(circle))
	}
}

// names joins the names of processes along a way.
func (p *Plan) names(way []int) string {
	var names []string
	for _, i := range way {
		names = append(names, p.Processes[i].Name)
	}
	return strings.Join(names, " → ")
}

// cycle gives the processes along a circle of `after`, nil if there is none.
func (p *Plan) cycle() []int {
	const (
		unseen = iota
		open
		closed
	)
	state := make([]int, len(p.Processes))
	var path []int
	var visit func(i int) []int
	visit = func(i int) []int {
		if state[i] == closed {
			return nil
		}
		path = append(path, i)
		if state[i] == open {
			return path[slices.Index(path, i):]
		}
		state[i] = open
		for _, j := range p.Processes[i].After {
			if circle := visit(j); circle != nil {
				return circle
			}
		}
		state[i], path = closed, path[:len(path)-1]
		return nil
	}
	for i := range p.Processes {
		if circle := visit(i); circle != nil {
			return circle
		}
	}
	return nil
}

// warn notes what fits but is likely to surprise.
func (p *Plan) warn(spec Spec) {
	w := (*Problems)(&p.Warnings)
	if p.DelayByPerson && p.Delay > p.Grace/2 {
		w.add(spec.Delay.From, "the delay %s is more than half of the grace %s: the program has %s left for its own stop", Duration(p.Delay), Duration(p.Grace), Duration(p.KillAt-p.Front))
	}
	if limit := p.Platform.Max; limit > 0 && p.Grace > limit {
		w.add(p.GraceFrom, "%s gives at most %s%s; a grace of %s will not be kept", p.Platform.Name, Duration(limit), p.Platform.MaxBy, Duration(p.Grace))
	}
}
