package config

import (
	"strings"
	"time"

	"graced/internal/plan"
)

// row is one row of the table of flags. Everything that is said of a setting
// outside of the file comes from here.
type row struct {
	name    string // --name, and GRACED_NAME
	short   string // -c
	attr    string // where it stands in the file; "": nowhere
	example string // a right value
	without string // what happens where nobody sets it
	many    bool   // it may be given more than once
	binding

	flag, env *given
}

// given is a row's text and where it was found.
type given struct {
	text string
	from plan.Source
	at   int // the word or the row
}

// ofProcess says whether the setting belongs to a process.
func (r *row) ofProcess() bool { return strings.HasPrefix(r.attr, "process.") }

// variable is the environment variable of a flag.
func variable(flag string) string {
	return ours + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// The least of the durations that cannot be 0s. A margin under 100ms would
// be eaten by the scheduler of a throttled container; without a cleanup the last
// SIGKILL and graced's exit would be due at the same instant.
const (
	leastGrace   = time.Second
	leastMargin  = 100 * time.Millisecond
	leastCleanup = 100 * time.Millisecond
	leastDrain   = time.Millisecond
)

// table is the contract's table of flags, in its order, bound to l.
func (l *loader) table() []row {
	c, s, one := l.cfg, &l.cfg.Spec, &l.one
	return []row{
		{name: "config", short: "c", example: DefaultFile, without: DefaultFile + ", if it is there",
			binding: into(&l.file, parsePath, showText[string])},
		{name: "platform", attr: "platform", example: "kubernetes", without: "found out by the environment",
			binding: into(&l.platform, oneOf(platformNames()), showText[string])},
		{name: "grace", attr: "grace", example: "30s", without: "the platform's, else 10s, assumed",
			binding: into(&s.Grace, duration(leastGrace), short)},
		{name: "grace-spent", attr: "grace_spent", example: "5s", without: "0s",
			binding: into(&s.GraceSpent, duration(0), short)},
		{name: "margin", attr: "margin", example: "2s", without: "a tenth of grace, 0.5s to 5s",
			binding: into(&s.Margin, duration(leastMargin), short)},
		{name: "cleanup", attr: "shutdown.cleanup", example: "2s", without: "the post_stop hooks' time-outs + 0.5s",
			binding: into(&s.Cleanup, duration(leastCleanup), short)},
		{name: "delay", attr: "shutdown.delay", example: "5s", without: "auto; kubernetes, ecs 5s",
			binding: into(&s.Delay, parseDelay, showDelay)},
		{name: "drain", attr: "shutdown.drain.until", example: "idle", without: "auto",
			binding: into(&s.Drain, oneOf(plan.Drains), showText[plan.Drain])},
		{name: "drain-max", attr: "shutdown.drain.max", example: "10s", without: "its share of the budget",
			binding: into(&s.DrainMax, duration(leastDrain), short)},
		{name: "signal", attr: "process.stop", example: "SIGQUIT", without: "auto: by the program",
			binding: into(&one.first, parseFirst, showFirst)},
		{name: "stop", attr: "process.stop", example: "SIGQUIT:20s,SIGTERM:5s", without: "the first signal, then SIGTERM",
			binding: bind(&one.ladder, showLadder, l.setLadder)},
		{name: "stop-signals", attr: "shutdown.signals", example: "SIGTERM,SIGINT", without: "SIGTERM, SIGINT, SIGQUIT, SIGRTMIN+3 and the program's own",
			binding: into(&s.Stops, parseStops, showSignals)},
		{name: "repeat", attr: "shutdown.repeat", example: "escalate", without: "ignore",
			binding: into(&s.Repeat, oneOf(plan.Repeats), showText[plan.Repeat])},
		{name: "target", attr: "process.target", example: "group", without: "process",
			binding: into(&one.target, oneOf(plan.Targets), showText[plan.Target])},
		{name: "rewrite", attr: "process.rewrite", example: "USR1=HUP", without: "none", many: true,
			binding: into(&one.rewrite, parseRewrite, showRewrite)},
		{name: "exit-code", attr: "exit.codes", example: "143=0", without: "none", many: true,
			binding: into(&s.ExitCodes, parseExitCodes, showExitCodes)},
		{name: "ready", attr: "process.probe", example: "started", without: "listening",
			binding: into(&one.ready, l.parseReady, showText[plan.Ready])},
		{name: "listen", attr: "http.listen", example: DefaultListen, without: DefaultListen,
			binding: into(&c.Listen, parseListen, showText[string])},
		{name: "socket", attr: "control.socket", example: auto, without: auto,
			binding: into(&c.Socket, l.parseSocket, showText[string])},
		{name: "user", attr: "process.user", example: "65532:65532", without: "graced's own",
			binding: into(&one.user, l.parseAccount, showAccount)},
		{name: "report", attr: "report.path", example: "/var/log/graced.json", without: "none; kubernetes /dev/termination-log",
			binding: into(&c.Report, parseOptionalPath, showText[string])},
		{name: "log-format", attr: "log.format", example: "json", without: "text on a terminal, else json",
			binding: into(&c.LogFormat, oneOf(logFormats), showText[string])},
		{name: "log-level", attr: "log.level", example: "debug", without: "info",
			binding: into(&c.LogLevel, parseLevel, showLevel)},
	}
}

// setLadder writes the ladder and, into each rung, where it came from.
func (l *loader) setLadder(text string, from plan.Source) []mistake {
	rungs, mistakes := parseLadder(text)
	for i := range rungs {
		rungs[i].Source = from
	}
	if len(mistakes) == 0 {
		l.one.ladder = plan.Given(rungs, from)
	}
	return mistakes
}

// parseReady reads how the one process becomes ready.
func (l *loader) parseReady(text string) (plan.Ready, []mistake) {
	switch {
	case text == string(plan.ReadyListening), text == string(plan.ReadyStarted):
		return plan.Ready(text), nil
	case strings.HasPrefix(text, "http://"), strings.HasPrefix(text, "https://"):
		if _, mistakes := parseURL(text); mistakes != nil {
			return "", mistakes
		}
		return "", l.missing(probes, "listening")
	case strings.HasPrefix(text, "tcp://"):
		if _, mistakes := parseDial(strings.TrimPrefix(text, "tcp://")); mistakes != nil {
			for i, m := range mistakes {
				if m.right != "" {
					mistakes[i].right = "tcp://" + m.right
				}
			}
			return "", mistakes
		}
		return "", l.missing(probes, "listening")
	}
	return "", []mistake{unknown(text, []string{"listening", "started", "http://…", "tcp://…"})}
}

// parseSocket reads where the control socket is.
func (l *loader) parseSocket(text string) (string, []mistake) {
	if text == auto || text == Off {
		return text, nil
	}
	path, mistakes := parsePath(text)
	switch {
	case mistakes != nil:
		return "", mistakes
	case !strings.Contains(path, "/"):
		return "", []mistake{unknown(text, []string{auto, Off, "/run/graced.sock"})}
	case len(path) > maxSocketPath:
		return "", wrong(quote(text) + " is longer than the kernel takes for a socket (107 bytes)")
	}
	return path, l.missing(sockets, auto)
}

// maxSocketPath is sizeof(sun_path) less its final zero; unix(7).
const maxSocketPath = 107
