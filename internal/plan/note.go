package plan

import (
	"slices"
	"time"
)

// Own is how long a program goes on after its stop signal by a time-out of its
// own, as its documents have the default. graced cannot read what it is set to.
type Own struct {
	For     time.Duration
	Whom    string // for whom or what it waits
	Setting string // what sets it
	// If is which of the programs of that name it is true of; "": of all.
	If string
	// Must: the default is not to wait at all, so that Setting has to be set.
	Must bool
}

// Known says whether anything is known of a time-out.
func (o Own) Known() bool { return o.Setting != "" }

// note finds where the plan is right and is still not what was meant: a
// program whose own time-out is longer than what it gets, or the other way
// round. These are told by those who ask for the plan, never at a start: whoever
// has set the program right would be told at each one.
func (p *Plan) note(spec Spec) {
	n := (*Problems)(&p.Notes)
	if p.GraceSpent > 0 && spec.GraceSpent.From.ByPerson() && p.Platform.PreStopOutside {
		n.add(pointed(spec.GraceSpent.From), "%s of the grace count as spent, and on %s what runs before the stop signal takes nothing from it; leave grace_spent out unless something else does", Duration(p.GraceSpent), p.Platform.Name)
	}
	for i := range p.Processes {
		s := &p.Processes[i]
		name, own := s.own()
		width := p.least(s)
		switch {
		case own.Must:
			n.add(pointed(s.Source), "%s waits for %s after its stop signal only if %s is set; set it to less than %s, when SIGKILL can come", name, own.Whom, own.Setting, Duration(width))
		case own.Known() && own.For >= width:
			n.add(pointed(s.Source), "%s gives %s %s by itself (%s), and SIGKILL can come %s after its stop signal; raise the grace, or lower %s", name, own.Whom, Duration(own.For), own.Setting, Duration(width), own.Setting)
		}
	}
}

// least is the shortest time from the process's stop signal to its SIGKILL: its
// ladder, and where that has a share, the drain that will not be.
func (p *Plan) least(s *Stopping) time.Duration {
	width := s.End - s.Start
	share := slices.ContainsFunc(s.Rungs, func(r PlannedRung) bool { return r.Open })
	if share && p.Drain == DrainAuto && p.undrained() != nil {
		width += p.Front - max(p.Delay, p.PreStop)
	}
	return width
}

// own is what is known of the process's own time-out, and what to call it.
func (s *Stopping) own() (name string, own Own) {
	program := called(s.Command)
	known, _ := byName(program)
	own = known.Own
	if name = program; name != s.Name {
		name = s.Name + " (" + program + ")"
	}
	if own.If != "" {
		name += ", if it is " + own.If + ","
	}
	return name, own
}

// called is the base name of the program that a command is about, which the
// usual launchers have as an argument.
func called(command []string) string {
	switch {
	case len(command) == 0:
		return ""
	case len(command) > 2 && command[0] == "bundle" && command[1] == "exec",
		len(command) > 2 && unversioned(base(command[0])) == "python" && command[1] == "-m":
		return base(command[2])
	}
	return base(command[0])
}

// pointed is a source that can be pointed at: what stands behind "--" is seen.
func pointed(from Source) Source {
	if from.Name == "--" {
		return Source{}
	}
	return from
}
