package config

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"graced/internal/plan"
	"graced/signals"
)

// Value is a value that is in force: what it is and where it came from.
type Value struct {
	Name  string // as messages have it: shutdown.drain.quiet, process.web.stop.SIGTERM.wait
	Text  string // of the environment names only, of what env or file read nothing
	From  plan.Source
	Block string // the block with a name that it is in, process.web; "": in none

	path string // the name without the labels of blocks: process.stop.wait
}

// Where says in a few words where the value came from; see the function.
func (v Value) Where() string {
	switch {
	case v.From.Kind == plan.ByPreset:
		return "preset " + v.From.Name
	case v.From.Name == dashes:
		return "behind " + dashes
	}
	return Where(v.From)
}

// Values lists every value that is in force with p, which was made of c.Spec. It
// walks the schema, so that no attribute can be forgotten: what is special about
// one is said in overlay and in standing.
func (c *Config) Values(p *plan.Plan) []Value {
	v := &values{l: c.from, p: p, at: map[string]int{}}
	v.config()
	schema := v.l.schema()
	v.walk(&schema, v.overlay(v.l.whole), "")
	return v.list
}

// values is a list of them under way.
type values struct {
	l     *loader
	p     *plan.Plan
	list  []Value
	block string
	at    map[string]int // of a kind of block, by its path: which one it is now
}

// config is the one setting that is in no file.
func (v *values) config() {
	r := v.l.row("config")
	one := Value{Name: r.name, Text: v.l.cfg.File, From: r.from(), path: r.name}
	if one.Text == "" {
		one.Text = none + "; " + DefaultFile + " is not there"
	}
	v.add(one)
}

func (v *values) add(one Value) {
	if one.Text == "" {
		one.Text = none
	}
	if strings.ContainsFunc(one.Text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		one.Text = strconv.Quote(one.Text)
	}
	one.Block = v.block
	v.list = append(v.list, one)
}

// walk lists a block. path is its name without labels.
func (v *values) walk(schema *block, c content, path string) {
	for i := range schema.attrs {
		v.attribute(&schema.attrs[i], c, dotted(path, schema.attrs[i].name))
	}
	for i := range schema.blocks {
		inner := &schema.blocks[i]
		blocks := c.all(inner.name)
		if len(blocks) == 0 && !inner.many {
			blocks = []content{{name: dotted(c.name, inner.name), kind: inner.name}}
		}
		for n, b := range blocks {
			if path == "" && inner.label != "" {
				v.block = b.name
			}
			v.at[dotted(path, inner.name)] = n
			v.walk(inner, b, dotted(path, inner.name))
		}
		if path == "" {
			v.block = ""
		}
	}
}

// attribute lists an attribute, if a value of it is in force.
func (v *values) attribute(a *attribute, c content, path string) {
	if path == "process.stop.wait" && v.stopping().Default {
		v.first(c.name)
	}
	one := Value{Name: dotted(c.name, a.name), path: path}
	without := a.without
	value, written := c.values[a.name]
	if written {
		one.From = c.from[a.name]
		one.Text = v.show(path, value, v.hidden(one.From))
	}
	if r := v.row(path); r != nil {
		without = r.without
		if from := r.from(); from.Kind > one.From.Kind && r.name != "user" {
			one.From, one.Text, written = from, r.show(), true
		}
	}
	if !written && without == "" && path != "process.stop.wait" {
		return // nothing is in force
	}
	v.standing(&one, written, without)
	if v.hidden(one.From) && !onlyNames[path] {
		one.Text = notShown
	}
	v.add(one)
}

// onlyNames are the attributes of which names are shown.
var onlyNames = map[string]bool{"process.env": true, "announce.headers": true}

// hidden says whether env or file had a part in what stands there.
func (v *values) hidden(from plan.Source) bool {
	return from.Kind == plan.ByFile && v.l.hidden[from.Start]
}

// row finds the row that sets an attribute, and binds it to the process that is
// listed. The user's is about two attributes; process takes it apart.
func (v *values) row(path string) *row {
	for i := range v.l.rows {
		r := &v.l.rows[i]
		if path != r.attr {
			continue
		}
		if r.ofProcess() {
			v.l.one = v.l.each[v.at["process"]]
		}
		return r
	}
	return nil
}

// stopping is the process that is listed.
func (v *values) stopping() *plan.Stopping { return &v.p.Processes[v.at["process"]] }

// standing says what stands in the place of what nobody set, where the plan
// knows better than the schema, and what is in force where it is not quite what
// was set.
func (v *values) standing(one *Value, written bool, without string) {
	const share = ", its share of the budget"
	p := v.p
	if !written {
		one.Text = without
	}
	switch one.path {
	case "platform":
		if one.Text == auto {
			one.Text = p.Platform.Name + ", found out by the environment"
		}
	case "grace":
		if !written {
			one.Text = short(p.Grace) + ", assumed"
		}
	case "margin":
		if !written {
			one.Text = short(p.Margin) + ": " + without
		}
	case "shutdown.cleanup":
		if !written {
			one.Text = short(p.Cleanup) + ": " + without
		}
	case "shutdown.signals":
		if !written {
			one.Text = showSignals(p.Stops) + ", programs' own"
		}
	case "shutdown.delay":
		switch set := v.l.cfg.Spec.Delay.V; {
		case p.DelayAuto:
			one.Text = auto + ", at most " + short(p.Delay) + share
		case p.Delay != set.For: // a preset's, where the grace is short
			one.Text = short(p.Delay) + share + "; " + short(set.For) + " would not fit"
		}
	case "shutdown.drain.max":
		switch {
		case p.Drain == plan.DrainOff && written:
			one.Text += ", not used: the drain is off"
		case p.Drain == plan.DrainOff:
			one.Text = none + ": the drain is off"
		case !written:
			one.Text = short(p.DrainMax) + share
		}
	case "process.command":
		if !written {
			one.Text = none + " is given"
		}
	case "process.main":
		switch is := v.at["process"] == p.Main; {
		case written: // and so it is
		case !is:
			one.Text = "false"
		case len(p.Processes) == 1:
			one.Text = "true: the only process"
		default:
			one.Text = "true: the last process"
		}
	case "process.stop.wait":
		if s := v.stopping(); !written {
			rung := s.Rungs[v.at["process.stop"]]
			one.Text = short(rung.Width) + share
			if !s.Default {
				one.From = rung.Source // of its signal, which was set without a wait
			}
		}
	case "report.path":
		if !written {
			one.Text = none
		}
	}
}

// first says of a default ladder with which signals it goes.
func (v *values) first(name string) {
	s := v.stopping()
	v.add(Value{Name: name, Text: s.Words(), From: v.l.each[v.at["process"]].first.From, path: "process.stop"})
}

// overlay puts over the file's content what flags and variables have replaced
// there as a whole: commands, ladders, probes, users. A process that is not in the
// file gets a content of its own.
func (v *values) overlay(whole content) content {
	kept := slices.DeleteFunc(slices.Clone(whole.blocks), func(b content) bool { return b.kind == "process" })
	processes := whole.all("process")
	for i := range v.p.Processes {
		s := &v.p.Processes[i]
		c := content{name: dotted("process", s.Name), kind: "process", label: s.Name}
		if i < len(processes) {
			c = processes[i]
		}
		kept = append(kept, v.process(c, s, v.l.each[i], i == v.p.Main))
	}
	whole.blocks = kept
	return whole
}

// process is the overlay of one process.
func (v *values) process(c content, s *plan.Stopping, set processSettings, main bool) content {
	c.values, c.from = maps.Clone(c.values), maps.Clone(c.from)
	if c.values == nil {
		c.values, c.from = map[string]any{}, map[string]plan.Source{}
	}
	put := func(name string, value any, from plan.Source) { c.values[name], c.from[name] = value, from }
	if len(v.l.command) > 0 {
		put("command", v.l.command, plan.Source{Kind: plan.ByFlag, Name: dashes})
	}
	if said, ok := c.values["main"].(bool); ok && said != main {
		delete(c.values, "main") // false of the only one
	}
	if set.user.From.Kind > plan.ByFile {
		delete(c.values, "group")
		put("user", set.user.V.user, set.user.From)
		if set.user.V.group != "" {
			put("group", set.user.V.group, set.user.From)
		}
	}

	var others []content
	ready := false
	for _, b := range c.blocks {
		overruled := b.kind == "stop" && (s.Default || s.Ladder.From.Kind > plan.ByFile) ||
			b.kind == "probe" && b.label == "ready" && set.ready.From.Kind > plan.ByFile
		if !overruled {
			others = append(others, b)
			ready = ready || b.kind == "probe" && b.label == "ready"
		}
	}
	c.blocks = nil
	inner := func(kind, label, attr string, value any, from plan.Source) {
		b := content{name: dotted(c.name, kind, label), kind: kind, label: label, values: map[string]any{}}
		if value != nil {
			b.values[attr], b.from = value, map[string]plan.Source{attr: from}
		}
		c.blocks = append(c.blocks, b)
	}
	switch {
	case s.Default:
		inner("stop", "", "wait", nil, plan.Source{})
	case s.Ladder.From.Kind > plan.ByFile:
		for _, r := range s.Ladder.V {
			var wait any = r.Wait
			if r.Open {
				wait = nil
			}
			inner("stop", signals.Name(r.Signal), "wait", wait, r.Source)
		}
	}
	if !ready {
		inner("probe", "ready", string(set.ready.Or(plan.ReadyListening)), true, set.ready.From)
	}
	c.blocks = append(c.blocks, others...)
	return c
}

// show writes the value of an attribute that the file has, as its flag would.
func (v *values) show(path string, value any, hidden bool) string {
	switch value := value.(type) {
	case time.Duration:
		return short(value)
	case plan.Delay:
		return showDelay(value)
	case slog.Level:
		return showLevel(value)
	case []syscall.Signal:
		return showSignals(value)
	case signals.Rewrite:
		return showRewrite(value)
	case []plan.ExitCode:
		return showExitCodes(value)
	case []uint16:
		return joined(value, func(port uint16) string { return strconv.Itoa(int(port)) })
	case []string:
		switch path {
		case "process.command", "process.probe.exec", "hook.command":
			return showCommand(value)
		case "process.env":
			return v.names(value, "=", hidden)
		case "announce.headers":
			return v.names(value, ":", hidden)
		}
		return strings.Join(value, ", ")
	}
	if v := reflect.ValueOf(value); v.Kind() == reflect.String { // plan.Drain, plan.Target, …
		return v.String()
	}
	return fmt.Sprint(value)
}

// names are the names in a list of NAME=VALUE: a value may be a secret even where
// it stands in the file. Where env or file had a part in the list, a name that
// does not stand there may be one too.
func (v *values) names(list []string, sep string, hidden bool) string {
	var names []string
	more := 0
	for _, pair := range list {
		name, _, _ := strings.Cut(pair, sep)
		if hidden && !bytes.Contains(v.l.cfg.text.file.Bytes, []byte(name)) {
			more++
		} else {
			names = append(names, name)
		}
	}
	if more > 0 {
		names = append(names, strconv.Itoa(more)+" "+notShown)
	}
	return strings.Join(names, ", ")
}

// showCommand shows a command as a shell takes it, up to a length that still is
// a line of a list.
func showCommand(command []string) string {
	const most = 120
	text := []rune(shellWords(command))
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}
