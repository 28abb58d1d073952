package config

import (
	"slices"
	"strings"
	"time"

	"graced/internal/plan"
	"graced/signals"
)

// processes reads the processes of the file.
func (d *decoder) processes(list []content) {
	s := &d.l.cfg.Spec
	var first content // the one that is main
	for _, c := range list {
		main := take[bool](c, "main")
		if main.V && first.name != "" {
			d.l.problems.Add(Problem{Summary: "is true, but " + first.label + " is main already", Detail: "Leave it out here, or there.", Source: main.From})
		} else if main.V {
			first = c
		}
		s.Processes = append(s.Processes, plan.Process{
			Name:    c.label,
			Command: take[[]string](c, "command").V,
			After:   take[[]string](c, "after").V,
			Main:    main.V,
			Env:     take[[]string](c, "env").V,
			Dir:     take[string](c, "dir").V,
			Source:  c.source(),
		})
		d.l.each = append(d.l.each, d.process(c))
	}
	if len(list) == 1 {
		d.l.one = d.l.each[0]
	}
	d.after(list)
	d.commands(list)
}

// commands tells of a process without a command. The one process may get it
// from the command line.
func (d *decoder) commands(list []content) {
	for _, c := range list {
		if _, ok := c.from["command"]; !ok && !c.meant["command"] && !(len(list) == 1 && len(d.l.command) > 0) {
			d.l.problems.Add(Problem{Summary: "has no command", Detail: `For example: command = ["nginx", "-g", "daemon off;"]`, Source: c.source()})
		}
	}
}

// process reads the settings of a process that flags can set too.
func (d *decoder) process(c content) processSettings {
	p := processSettings{
		target:  take[plan.Target](c, "target"),
		rewrite: take[signals.Rewrite](c, "rewrite"),
		ladder:  ladder(c),
		user:    d.account(c),
	}
	d.restart(c)
	for _, probe := range c.all("probe") {
		if ready := d.probe(probe); ready.Set() {
			p.ready = ready
		}
	}
	return p
}

// ladder is the stop blocks of a process.
func ladder(c content) plan.Setting[[]plan.Rung] {
	var rungs []plan.Rung
	for _, b := range c.all("stop") {
		sig, mistakes := parseRungSignal(b.label)
		if len(mistakes) > 0 {
			continue // told when the label was read
		}
		wait := take[time.Duration](b, "wait")
		rung := plan.Rung{Signal: sig, Wait: wait.V, Open: !wait.Set(), Source: b.source()}
		if wait.Set() {
			rung.Source = wait.From
		}
		rungs = append(rungs, rung)
	}
	if len(rungs) == 0 {
		return plan.Setting[[]plan.Rung]{}
	}
	return plan.Given(rungs, c.all("stop")[0].source())
}

// account is who a process runs as.
func (d *decoder) account(c content) plan.Setting[account] {
	user, group := take[string](c, "user"), take[string](c, "group")
	switch {
	case user.Set():
		return plan.Given(account{user.V, group.V}, user.From)
	case group.Set():
		return plan.Given(account{"", group.V}, group.From)
	}
	return plan.Setting[account]{}
}

// restart checks the restart block, of which this build has when = "never".
func (d *decoder) restart(c content) {
	b := c.the("restart")
	if b.name == "" {
		return
	}
	when := take[string](b, "when")
	if _, written := b.from["when"]; written && !when.Set() {
		return // told
	}
	if !when.Set() || when.V == "never" {
		for _, attr := range present(b, "backoff", "max", "limit", "within") {
			d.l.problems.Add(Problem{Summary: `does nothing where when is "never", the default`, Detail: `For example: when = "failure"`, Source: b.from[attr]})
		}
		return
	}
	if backoff, most := take[time.Duration](b, "backoff"), take[time.Duration](b, "max"); backoff.Set() && most.Set() && backoff.V > most.V {
		d.l.problems.Add(Problem{Summary: short(most.V) + " is less than backoff, " + short(backoff.V), Detail: `For example: max = "30s"`, Source: most.From})
	}
	for _, m := range d.l.missing(restarts, "") {
		d.l.problems.Add(Problem{Summary: m.wrong, Detail: "Leave the block out: the end of the process is not answered then.", Source: b.source()})
	}
}

// probe checks a probe and says how the process becomes ready, if it is
// about that.
func (d *decoder) probe(c content) plan.Setting[plan.Ready] {
	const every = "http, tcp, exec, grpc, file, notify, listening and started"
	kinds := present(c, "http", "tcp", "exec", "grpc", "file", "notify", "listening", "started")
	d.exactlyOne(c, kinds, every, "listening = true")
	if len(kinds) != 1 {
		return plan.Setting[plan.Ready]{}
	}
	kind, from := kinds[0], c.from[kinds[0]]
	if on := take[bool](c, kind); on.Set() && !on.V {
		d.l.problems.Add(Problem{Summary: "is false; a probe is there or it is not", Detail: "For example: " + kind + " = true", Source: from})
	}
	if kind != string(plan.ReadyListening) && kind != string(plan.ReadyStarted) {
		for _, m := range d.l.missing(probes, "") {
			d.l.problems.Add(Problem{Summary: m.wrong, Detail: "For example: listening = true", Source: from})
		}
		return plan.Setting[plan.Ready]{}
	}
	if c.label != "ready" {
		d.l.problems.Add(Problem{Summary: "is only for the probe \"ready\"", Detail: `For example: tcp = "127.0.0.1:80"`, Source: from})
	}
	for _, attr := range present(c, "every", "timeout", "rise", "fall") {
		d.l.problems.Add(Problem{Summary: "does nothing here: " + kind + " is looked up only when somebody asks", Detail: "Leave it out.", Source: c.from[attr]})
	}
	return plan.Given(plan.Ready(kind), from)
}

// after checks that what a process comes after is there and does not come
// after it.
func (d *decoder) after(list []content) {
	names := make([]string, len(list))
	edges := map[string][]string{}
	for i, c := range list {
		names[i] = c.label
		edges[c.label] = take[[]string](c, "after").V
	}
	for _, c := range list {
		after := take[[]string](c, "after")
		for i, name := range after.V {
			p := Problem{Source: after.From}
			switch {
			case name == c.label:
				p.Summary, p.Detail = d.shown(after.From, name)+" is the process itself", "Leave it out."
			case slices.Contains(after.V[:i], name):
				p.Summary, p.Detail = "has "+d.shown(after.From, name)+" twice", "Leave one out."
			case !slices.Contains(names, name):
				p.Summary, p.Detail = "there is no process "+d.shown(after.From, name), "There "+isAre(names)+"."
				if near := nearest(name, names); near != "" {
					p.Detail = "Did you mean " + quote(near) + "?"
				}
			default:
				continue
			}
			d.l.problems.Add(p)
		}
	}
	if cycle := findCycle(names, edges); cycle != nil {
		for _, c := range list {
			if c.label == cycle[0] {
				d.l.problems.Add(Problem{
					Summary: "is a circle: " + strings.Join(cycle, " → "),
					Detail:  "None of them could start first. Leave one step out.",
					Source:  c.from["after"],
				})
			}
		}
	}
}

// shown quotes a part of a value, unless env or file had a part in it.
func (d *decoder) shown(from plan.Source, text string) string {
	if d.l.hidden[from.Start] {
		return "(not shown)"
	}
	return quote(text)
}

// findCycle finds a way from a process over those that it comes after back to
// itself, and names its stations.
func findCycle(names []string, edges map[string][]string) []string {
	const open, done = 1, 2
	state := map[string]int{}
	var path []string
	var visit func(name string) []string
	visit = func(name string) []string {
		state[name] = open
		path = append(path, name)
		for _, next := range edges[name] {
			if next == name {
				continue // told by itself
			}
			if state[next] == open {
				return append(slices.Clone(path[slices.Index(path, next):]), next)
			}
			if state[next] == 0 {
				if cycle := visit(next); cycle != nil {
					return cycle
				}
			}
		}
		path = path[:len(path)-1]
		state[name] = done
		return nil
	}
	for _, name := range names {
		if state[name] == 0 {
			if cycle := visit(name); cycle != nil {
				return cycle
			}
		}
	}
	return nil
}
