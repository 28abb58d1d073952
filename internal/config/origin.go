package config

import "graced/internal/plan"

// Origin is a setting of the table of flags, what it is set to and where that came
// from. Value is the same of every value that is in force.
type Origin struct {
	Setting string // as in the table of flags: grace, stop-signals
	Value   string // as text; where nobody set it, what happens then
	From    plan.Source
}

// Variable is the name of the setting's variable.
func (o Origin) Variable() string { return variable(o.Setting) }

// Where says in a few words where a setting came from: --grace,
// GRACED_GRACE, graced.hcl:3,11, kubernetes, default.
func Where(from plan.Source) string {
	if from.Kind == plan.ByDefault {
		return "default"
	}
	return from.String()
}

// notShown stands for a value that env or file had a part in.
const notShown = "(read by env or file, not shown)"

// origins lists the settings of the table.
func (l *loader) origins() []Origin {
	list := make([]Origin, len(l.rows))
	for i := range l.rows {
		list[i] = l.origin(&l.rows[i])
	}
	return list
}

// origin says of one setting what is in force.
func (l *loader) origin(r *row) Origin {
	o := Origin{Setting: r.name, From: r.from()}
	switch {
	case o.From.Kind == plan.ByDefault:
		o.Value = r.without
	case o.From.Kind == plan.ByFile && l.hidden[o.From.Start]:
		o.Value = notShown
	default:
		o.Value = r.show()
	}
	return o
}
