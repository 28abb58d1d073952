package config

import (
	"path"
	"strconv"
	"strings"

	"graced/internal/plan"
	"syscall"
)

// standIn is the process of a plan that was asked for without a command.
const standIn = "app"

// processes brings the command, the file's processes and what flags and
// variables say of the one process together.
func (l *loader) processes() {
	s := &l.cfg.Spec
	switch {
	case len(l.command) > 0:
		l.addCommand()
	case len(s.Processes) > 0: // an image's ENTRYPOINT may end in -- and its CMD be empty
	case l.in.CommandOptional:
		s.Processes = []plan.Process{{Name: standIn, Main: true}}
	default:
		l.nothingToRun()
	}
	switch {
	case len(s.Processes) == 1:
		l.each = []processSettings{l.one}
	case len(s.Processes) > 1:
		l.ambiguous()
	}
	for i := range l.each {
		l.each[i].write(&s.Processes[i])
	}
}

// addCommand makes the words behind "--" the one process, or the command of
// the file's one.
func (l *loader) addCommand() {
	s := &l.cfg.Spec
	at := len(l.in.Args)
	switch {
	case l.command[0] == "":
		l.typed(dashes, at, "the command is an empty word; a variable of the shell may be unset", exampleCommand)
	case len(s.Processes) > 1:
		l.typed(dashes, at, "a command replaces that of the file's one process, but "+l.cfg.File+" has "+l.processNames(), "leave the command out, or one process in the file")
	case len(s.Processes) == 1:
		s.Processes[0].Command = l.command
	default:
		from := plan.Source{Kind: plan.ByFlag, Name: dashes}
		s.Processes = []plan.Process{{Name: baseName(l.command[0]), Command: l.command, Main: true, Source: from}}
	}
}

// dashes stand before the command.
const dashes = "--"

const exampleCommand = "for example: graced -- nginx -g 'daemon off;'"

// baseName names a process after its program.
func baseName(program string) string {
	if name := path.Base(program); name != "." && name != "/" {
		return name
	}
	return standIn
}

// nothingToRun tells of a start without a command and without a process.
func (l *loader) nothingToRun() {
	config := l.row("config")
	at := len(l.in.Args)
	switch {
	case !l.decoded && (config.flag != nil || config.env != nil || l.cfg.File != ""), l.problems.any(plan.ByFile):
		// The file could not be read, or not all of it. Whether it has a process
		// is not known.
	case l.decoded:
		l.typed("", at, l.cfg.File+" has no process, and there is no command", "for example: graced --config "+l.cfg.File+" -- nginx -g 'daemon off;'")
	case l.dashes:
		l.typed(dashes, at, "no command behind it", exampleCommand)
	default:
		l.typed("", at, "nothing to run: there is no command and no file", exampleCommand)
	}
}

// write puts the settings into the process. A first signal and a ladder are
// one setting, process.stop: whichever comes from the higher source counts.
func (o *processSettings) write(p *plan.Process) {
	if o.first.From.Kind > o.ladder.From.Kind {
		o.ladder = plan.Setting[[]plan.Rung]{}
	} else {
		o.first = plan.Setting[syscall.Signal]{}
	}
	if o.first.V != 0 {
		p.First = o.first
	}
	p.Ladder, p.Target, p.Ready = o.ladder, o.target, o.ready
	p.Rewrite = o.rewrite.V
	p.User, p.Group = o.user.V.user, o.user.V.group
}

// ambiguous tells of flags and variables that are about the one process
// where the file has several.
func (l *loader) ambiguous() {
	for i := range l.rows {
		r := &l.rows[i]
		if !r.ofProcess() {
			continue
		}
		for _, g := range []*given{r.flag, r.env} {
			if g != nil {
				l.problems.Add(Problem{
					Summary: "is about one process, but " + l.cfg.File + " has " + l.processNames(),
					Detail:  "say it in the file, as " + r.attr,
					Source:  g.from, at: g.at,
				})
			}
		}
	}
}

// processNames lists the file's processes.
func (l *loader) processNames() string {
	var names []string
	for _, p := range l.cfg.Spec.Processes {
		names = append(names, p.Name)
	}
	if n := len(names); n > 10 {
		return strconv.Itoa(n) + " processes"
	}
	return strings.Join(names, ", ")
}
