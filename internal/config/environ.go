package config

import (
	"strings"

	"graced/internal/plan"
)

// ours begins the name of every variable that graced reads as a setting.
const ours = "GRACED_"

// readEnviron notes the variables of the table. Others that begin with
// GRACED_ are nobody's business: Kubernetes makes some for a Service that is
// named graced.
func (l *loader) readEnviron() {
	for _, entry := range l.in.Environ {
		name, text, ok := strings.Cut(entry, "=")
		if !ok || !strings.HasPrefix(name, ours) {
			continue
		}
		for i := range l.rows {
			if r := &l.rows[i]; r.env == nil && name == variable(r.name) {
				r.env = &given{text: text, from: plan.Source{Kind: plan.ByEnv, Name: name}, at: i}
			}
		}
	}
}

// lookup finds a variable of graced's own environment.
func (l *loader) lookup(name string) (string, bool) {
	for _, entry := range l.in.Environ {
		if rest, ok := strings.CutPrefix(entry, name); ok && strings.HasPrefix(rest, "=") {
			return rest[1:], true
		}
	}
	return "", false
}

// getenv is lookup for those who take an unset variable for an empty one.
func (l *loader) getenv(name string) string {
	text, _ := l.lookup(name)
	return text
}

// apply reads the variables and then, over them, the flags. A variable that
// a flag replaces has to be right all the same: it is the next start's trap.
func (l *loader) apply() {
	for i := range l.rows {
		r := &l.rows[i]
		for _, g := range []*given{r.env, r.flag} {
			if g != nil {
				l.set(r, g)
			}
		}
	}
}

// set reads one text into its setting.
func (l *loader) set(r *row, g *given) {
	for _, m := range r.set(g.text, g.from) {
		l.tell(r, m, g)
	}
}

// tell records a mistake in a row's setting, with what would be right in the
// words of where it was found.
func (l *loader) tell(r *row, m mistake, g *given) {
	p := Problem{Summary: m.wrong, Source: g.from, at: g.at}
	switch {
	case m.leave:
		p.Detail = "leave it out"
	case g.from.Kind == plan.ByFlag:
		p.Detail = r.asFlag(m.right)
	case g.from.Kind == plan.ByEnv:
		p.Detail = r.asVariable(m.right)
	}
	l.problems.Add(p)
}
