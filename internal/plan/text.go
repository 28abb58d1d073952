package plan

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Duration writes d as people do: 30s, 1.5s, 2m.
func Duration(d time.Duration) string {
	s := d.Round(time.Millisecond).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// line is a line of the plan's text.
type line struct{ from, to, process, text string }

// Text is the timeline for a person, as `graced plan` prints it. Each line has
// the earliest time of its step, the latest, and what happens.
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
	lines := p.lines()
	var width line
	for _, l := range lines {
		width.from = longer(width.from, l.from)
		width.to = longer(width.to, l.to)
		width.process = longer(width.process, l.process)
	}
	for _, l := range lines {
		process := ""
		if l.process != "" {
			process = pad(l.process, width.process) + "  "
		}
		text := fmt.Sprintf(" %s %s  %s%s", pad(l.from, width.from), pad(l.to, width.to), process, l.text)
		fmt.Fprintln(&b, strings.TrimRight(text, " "))
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

// lines has a line for each step; what happens at one time is joined.
func (p *Plan) lines() []line {
	var lines []line
	var last Step
	for _, s := range p.Timeline() {
		l := line{from: "T+" + Duration(s.Earliest), to: "– " + Duration(s.Latest), process: s.Process, text: s.words()}
		switch {
		case s.Kind == StepPlatform:
			l.from, l.to = "T+"+Duration(s.Latest), ""
		case s.Earliest == never:
			l.from = ""
		case s.Earliest == s.Latest:
			l.to = ""
		}
		sep := ""
		switch {
		case s.Process != "" || s.Latest != last.Latest || s.Earliest != last.Earliest:
		case s.Kind == StepKill && last.Kind == StepKill:
			sep = "; "
		case s.Kind == StepExit && last.Kind == StepHook, s.Kind == StepHook && last.Kind == StepHook:
			sep = ", "
		}
		if last = s; sep != "" {
			lines[len(lines)-1].text += sep + l.text
			continue
		}
		lines = append(lines, l)
	}
	return lines
}

// words are what a step does.
func (s Step) words() string {
	switch {
	case s.Signal == "":
		return s.Text
	case s.Text == "":
		return s.Signal
	case s.Text[0] == '(':
		return s.Signal + " " + s.Text
	}
	return s.Signal + ", " + s.Text
}

func longer(a, b string) string {
	if utf8.RuneCountInString(b) > utf8.RuneCountInString(a) {
		return b
	}
	return a
}

// pad fills s to the width of longest.
func pad(s, longest string) string {
	return s + strings.Repeat(" ", utf8.RuneCountInString(longest)-utf8.RuneCountInString(s))
}
