// Package config is everything between what a user typed and a plan.Spec:
// flags, GRACED_ variables, the file and the platform's preset.
//
// A setting comes from the first of these that has it: flag, variable, file,
// preset, default; its plan.Source says which. What nobody set is left unset,
// so that plan.New gives it its default. All mistakes are found in one go and
// told together, each with an example of what is right.
//
// No value of the environment but that of a GRACED_ variable is ever part of a
// message, nor is what a file function read.
package config

import (
	"errors"
	"flag"
	"log/slog"
	"os"
	"syscall"

	"graced/internal/plan"
	"graced/signals"
)

// Input is the world that settings are read from, so that tests need none.
type Input struct {
	// Args are the words after the subcommand: flags, perhaps "--" and the command.
	Args []string
	// Environ is graced's own environment, NAME=VALUE. As for the C library, the
	// first of two equal names counts.
	Environ []string
	// ReadFile reads the configuration, what the function file names, and
	// /etc/passwd and /etc/group if a user or group is given by name. nil is
	// ReadRegular.
	ReadFile func(path string) ([]byte, error)
	// Exists says whether a path is there; nil asks the file system.
	Exists func(path string) bool
	// PID is graced's own; see plan.DetectPlatform.
	PID int
	// StderrTerminal: the log is read by a person, so its default format is text.
	StderrTerminal bool
	// CommandOptional is for the subcommands that start nothing (plan, check):
	// without a command and a file the Spec has one process named "app" that
	// has no Command.
	CommandOptional bool
	// Elsewhere: the settings are for another container, whose users and groups
	// are not those of this machine.
	Elsewhere bool

	// complete takes what this build has not, so that tests see it decoded.
	complete bool
}

// DefaultFile is read if it is there and no other is named.
const DefaultFile = "/etc/graced.hcl"

// DefaultListen is where the probes and metrics are served.
const DefaultListen = ":8990"

// Off turns the listener or the control socket off, in place of an address.
const Off = "off"

// Config is what was asked for. Settings that nobody set have the zero Source;
// those outside of Spec then have their default as V.
type Config struct {
	Spec plan.Spec

	// Listen is Off or an address; if it was Set and is taken, graced must not start.
	Listen                              plan.Setting[string]
	ReadyPaths, LivePaths, StartupPaths []string
	MetricsPath                         string // "": not served
	MetricsTextfile                     string // "": none
	MetricsPush                         string // a Pushgateway's URL; "": none

	Socket plan.Setting[string] // "auto", Off or a path
	Report plan.Setting[string] // "": none

	LogFormat plan.Setting[string] // "text" or "json"
	LogLevel  plan.Setting[slog.Level]

	File    string   // the file that was read; "": none
	Sources []Origin // each setting of the flag table, in its order

	text *text   // of File, for problems found later
	from *loader // what was read, for Values
}

// Problems returns an empty list for what is found wrong with the settings
// later, such as a plan that does not fit. It shows the lines of the file.
func (c *Config) Problems() *Problems { return &Problems{text: c.text} }

// Unfit are the problems of a plan that plan.New has refused with err, each with
// the lines of the file that make it up.
func (c *Config) Unfit(err error) *Problems {
	problems := c.Problems()
	var bad plan.Problems
	if !errors.As(err, &bad) {
		problems.Add(Problem{Summary: err.Error()})
	}
	for _, b := range bad {
		p := Problem{Summary: b.Text, Detail: b.Sum(), Source: b.Source}
		for _, t := range b.Places {
			if t.Source.Kind == plan.ByFile && t.Source != b.Source {
				p.Related = append(p.Related, Related{plan.Duration(t.Value) + " " + t.Name, t.Source})
			}
		}
		problems.Add(p)
	}
	return problems
}

// Load reads the settings. The functions in extra define the flags that only
// the subcommand has. If anything is wrong the Config is nil and every problem is
// told; if help was asked for, errors.Is(problems, flag.ErrHelp).
func Load(in Input, extra ...func(*flag.FlagSet)) (*Config, *Problems) {
	l := newLoader(in)
	l.readFlags(extra)
	if l.problems.help {
		return nil, l.problems
	}
	l.readEnviron()
	l.readFile()
	l.apply()
	l.preset()
	l.processes()
	l.check()
	if l.problems.Len() > 0 {
		return nil, l.problems
	}
	l.cfg.Sources, l.cfg.from = l.origins(), l
	return l.cfg, nil
}

// loader is a Load under way.
type loader struct {
	in       Input
	cfg      *Config
	problems *Problems

	rows    []row
	command []string
	dashes  bool // there was a "--"

	file     plan.Setting[string] // --config
	decoded  bool                 // the file was read to its end, rightly or not
	whole    content              // of the file
	platform plan.Setting[string] // a name or "auto"
	// each has the settings of the file's processes, one those of the only one
	// or of the command.
	each []processSettings
	one  processSettings
	// hidden has where the values begin in the file that env or file had a part in.
	hidden map[int]bool
}

// processSettings are those of a process that flags and variables can set
// too.
type processSettings struct {
	first   plan.Setting[syscall.Signal] // 0: auto
	ladder  plan.Setting[[]plan.Rung]
	target  plan.Setting[plan.Target]
	rewrite plan.Setting[signals.Rewrite]
	ready   plan.Setting[plan.Ready]
	user    plan.Setting[account]
}

func newLoader(in Input) *loader {
	if in.ReadFile == nil {
		in.ReadFile = ReadRegular
	}
	if in.Exists == nil {
		in.Exists = func(path string) bool { _, err := os.Stat(path); return err == nil }
	}
	c := &Config{
		Listen:       plan.Setting[string]{V: DefaultListen},
		ReadyPaths:   []string{"/readyz", "/healthz"},
		LivePaths:    []string{"/livez"},
		StartupPaths: []string{"/startupz"},
		MetricsPath:  "/metrics",
		Socket:       plan.Setting[string]{V: auto},
		LogFormat:    plan.Setting[string]{V: "json"},
		LogLevel:     plan.Setting[slog.Level]{V: slog.LevelInfo},
	}
	if in.StderrTerminal {
		c.LogFormat.V = "text"
	}
	l := &loader{in: in, cfg: c, problems: &Problems{}, hidden: map[int]bool{}}
	l.rows = l.table()
	return l
}
