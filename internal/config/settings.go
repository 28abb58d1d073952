package config

import (
	"cmp"
	"log/slog"
	"slices"
	"syscall"
	"time"

	"graced/internal/plan"
)

// settings puts what the file says into the settings.
func (d *decoder) settings(whole content) {
	l, c, s := d.l, d.l.cfg, &d.l.cfg.Spec

	l.platform = take[string](whole, "platform")
	s.Grace = take[time.Duration](whole, "grace")
	s.Margin = take[time.Duration](whole, "margin")
	s.GraceSpent = take[time.Duration](whole, "grace_spent")

	shutdown := whole.the("shutdown")
	s.Stops = take[[]syscall.Signal](shutdown, "signals")
	s.Repeat = take[plan.Repeat](shutdown, "repeat")
	s.Delay = take[plan.Delay](shutdown, "delay")
	s.Cleanup = take[time.Duration](shutdown, "cleanup")

	drain := shutdown.the("drain")
	s.Drain = take[plan.Drain](drain, "until")
	s.DrainMax = take[time.Duration](drain, "max")
	s.Quiet = take[time.Duration](drain, "quiet")
	s.Unsure = take[time.Duration](drain, "unsure")
	s.Ports = take[[]uint16](drain, "ports")

	d.processes(whole.all("process"))
	for _, hook := range whole.all("hook") {
		timeout := take[time.Duration](hook, "timeout")
		s.Hooks = append(s.Hooks, plan.Hook{
			Name:        hook.label,
			At:          take[plan.Point](hook, "at").V,
			Command:     take[[]string](hook, "command").V,
			Timeout:     timeout.V,
			TimeoutFrom: timeout.From,
			Source:      hook.source(),
		})
	}
	d.announces(whole.all("announce"))

	http := whole.the("http")
	override(&c.Listen, take[string](http, "listen"))
	c.ReadyPaths = take[[]string](http, "ready").Or(c.ReadyPaths)
	c.LivePaths = take[[]string](http, "live").Or(c.LivePaths)
	c.StartupPaths = take[[]string](http, "startup").Or(c.StartupPaths)

	metrics := whole.the("metrics")
	c.MetricsPath = take[string](metrics, "path").Or(c.MetricsPath)
	c.MetricsTextfile = take[string](metrics, "textfile").V
	c.MetricsPush = take[string](metrics, "push").V
	d.paths(http, metrics)

	override(&c.Socket, take[string](whole.the("control"), "socket"))
	override(&c.Report, take[string](whole.the("report"), "path"))
	override(&c.LogFormat, take[string](whole.the("log"), "format"))
	override(&c.LogLevel, take[slog.Level](whole.the("log"), "level"))
	s.ExitCodes = take[[]plan.ExitCode](whole.the("exit"), "codes")
}

// override replaces a setting whose default stands in it, if there is another.
func override[T any](to *plan.Setting[T], by plan.Setting[T]) {
	if by.Set() {
		*to = by
	}
}

// servedPath is a path of the HTTP server and the setting that it comes from.
type servedPath struct {
	path, setting string
	from          plan.Source
}

// paths tells of a path that is served twice: only one of the two could
// answer. It is told where the file says it, also against a default.
func (d *decoder) paths(http, metrics content) {
	c := d.l.cfg
	list := []servedPath{{path: "/statusz", setting: "the status"}}
	add := func(b content, setting, attr string, paths ...string) {
		for _, path := range paths {
			list = append(list, servedPath{path, setting, b.from[attr]})
		}
	}
	if c.MetricsPath != "" {
		add(metrics, "metrics.path", "path", c.MetricsPath)
	}
	add(http, "http.live", "live", c.LivePaths...)
	add(http, "http.startup", "startup", c.StartupPaths...)
	add(http, "http.ready", "ready", c.ReadyPaths...)
	slices.SortStableFunc(list, func(a, b servedPath) int { return cmp.Compare(a.from.Kind, b.from.Kind) })
	first := map[string]string{}
	for _, s := range list {
		if other, twice := first[s.path]; !twice {
			first[s.path] = s.setting
		} else if s.from.Kind == plan.ByFile {
			d.l.problems.Add(Problem{Summary: "has " + d.shown(s.from, s.path) + ", which is served for " + other, Detail: "Each path answers one question.", Source: s.from})
		}
	}
}

// announces checks the announcements, which this build has not.
func (d *decoder) announces(list []content) {
	for _, a := range list {
		kinds := present(a, "http", "file", "agent")
		d.exactlyOne(a, kinds, `http, file and agent`, `file = "/var/run/draining"`)
		if len(kinds) == 1 && kinds[0] != "http" {
			for _, attr := range []string{"method", "headers", "body", "retries"} {
				if from, ok := a.from[attr]; ok {
					d.l.problems.Add(Problem{Summary: "is only for an announcement by http", Detail: "Leave it out.", Source: from})
				}
			}
		}
		for _, m := range d.l.missing(announces, "") {
			d.l.problems.Add(Problem{Summary: m.wrong, Detail: "Leave the block out.", Source: a.source()})
		}
	}
}

// present lists which of some attributes are there.
func present(c content, names ...string) []string {
	var list []string
	for _, name := range names {
		if _, ok := c.from[name]; ok {
			list = append(list, name)
		}
	}
	return list
}

// exactlyOne tells of a block that has none or several of some attributes.
func (d *decoder) exactlyOne(c content, has []string, of, example string) {
	if len(has) == 0 {
		d.l.problems.Add(Problem{Summary: "needs exactly one of " + of, Detail: "For example: " + example, Source: c.source()})
	}
	for i := 1; i < len(has); i++ {
		d.l.problems.Add(Problem{Summary: "stands beside " + has[0] + "; a block has exactly one of " + of, Detail: "Leave one of the two out.", Source: c.from[has[i]]})
	}
}
