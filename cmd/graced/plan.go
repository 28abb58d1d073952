package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"graced/internal/boot"
	"graced/internal/config"
	"graced/internal/manifest"
	"graced/internal/plan"
)

// planFlags are those that only `graced plan` has.
type planFlags struct {
	verbose, json bool
	svg           string
	against       string
	emit          string
}

func (f *planFlags) define(set *flag.FlagSet) {
	set.BoolVar(&f.verbose, "verbose", false, "also say of each value where it came from")
	set.BoolVar(&f.json, "json", false, "print JSON")
	set.StringVar(&f.svg, "svg", "", "draw the timeline into this file; - is standard output")
	set.StringVar(&f.against, "against", "", "check a Kubernetes manifest, a Compose file or an ECS task definition")
	set.StringVar(&f.emit, "emit", "", "write the fragment that fits: kubernetes, compose or ecs")
}

// exclusive names the flags that each print something else in the place of the
// timeline, if there is more than one of them.
func (f *planFlags) exclusive() []string {
	var names []string
	for name, given := range map[string]bool{"--verbose": f.verbose, "--json": f.json, "--svg": f.svg != "", "--against": f.against != "", "--emit": f.emit != ""} {
		if given {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) < 2 {
		return nil
	}
	return names
}

// planUsage stands below that of run, whose flags plan has too.
const planUsage = `
graced plan [flags] prints the shutdown of these settings, or by one of

  --verbose        also every value that is in force, and where it came from
  --json           the same for programs
  --svg FILE       draws it; - is standard output
  --against FILE   checks a Kubernetes manifest, a Compose file or an ECS task
                   definition against it; - is standard input
  --emit PLATFORM  writes the fragment that fits: kubernetes, compose or ecs

Its exit code: 1 if it does not fit, 2 if FILE cannot be read, 125 if the
settings are wrong.
`

// showPlan is `graced plan`: the timeline of the shutdown, for settings that
// are given as to run. 1 if it does not fit, or if the platform's description
// does not fit it; 2 if that cannot be read.
func showPlan(args []string, stdout, stderr io.Writer) int {
	var flags planFlags
	cfg, code := settle(args, boot.Environ(), stdout, stderr, loadPlan, flags.define)
	if cfg == nil {
		if code == 0 { // help was asked for
			fmt.Fprint(stdout, planUsage)
		}
		return code
	}
	if names := flags.exclusive(); names != nil {
		fmt.Fprintf(stderr, "graced: %s: only one of these at a time\n", strings.Join(names, ", "))
		return codeFailed
	}
	if flags.against != "" {
		// Whether it fits is a question of each container's own settings, under these.
		return against(flags.against, args, stdout, stderr)
	}
	p, err := plan.New(cfg.Spec)
	switch {
	case err != nil:
		tell(cfg.Unfit(err), stderr)
		return 1 // it was understood, and does not fit
	case flags.emit != "":
		text, err := manifest.Emit(flags.emit, settings(cfg, p))
		if err != nil {
			fmt.Fprintf(stderr, "graced: --emit: %v\n", err)
			return codeFailed
		}
		fmt.Fprint(stdout, text)
	case flags.svg != "":
		return draw(flags.svg, p, stdout, stderr)
	case flags.json:
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(p); err != nil {
			fmt.Fprintf(stderr, "graced: %v\n", err)
			return codeFailed
		}
	default:
		fmt.Fprint(stdout, p.Text())
		if flags.verbose {
			tellValues(cfg.Values(p), stdout)
		}
	}
	return 0
}

func loadPlan(in *config.Input) { in.CommandOptional = true }

// tellValues says of each value what it is and where it came from. A process, a
// hook and an announcement are a paragraph each.
func tellValues(values []config.Value, stdout io.Writer) {
	const widest = 50 // a value that is longer takes the room that it needs
	names, texts := 0, 0
	for _, v := range values {
		names, texts = max(names, utf8.RuneCountInString(v.Name)), max(texts, utf8.RuneCountInString(v.Text))
	}
	for i, v := range values {
		if i == 0 || v.Block != values[i-1].Block {
			fmt.Fprintln(stdout)
		}
		fmt.Fprintf(stdout, " %-*s  %-*s  %s\n", names, v.Name, min(texts, widest), v.Text, v.Where())
	}
}

// draw writes the picture.
func draw(path string, p *plan.Plan, stdout, stderr io.Writer) int {
	if path == "-" {
		fmt.Fprint(stdout, p.SVG())
		return 0
	}
	if err := os.WriteFile(path, []byte(p.SVG()), 0o644); err != nil {
		fmt.Fprintf(stderr, "graced: --svg: %v\n", err)
		return codeFailed
	}
	return 0
}

// checkUsage stands below that of run, whose flags check has too.
const checkUsage = `
graced check [flags] starts nothing and tells every mistake in these settings at
once; without one it says that they are good.

Its exit code: 0 if they are good, 1 if the shutdown does not fit into the
grace, 125 if the settings are wrong.
`

// check is `graced check`: it validates the settings, and says that they are
// good. 125 if they are not, 1 if the plan does not fit.
func check(args []string, stdout, stderr io.Writer) int {
	cfg, p, code := load(args, boot.Environ(), stdout, stderr, loadPlan)
	switch {
	case p == nil && cfg != nil:
		return 1
	case p == nil:
		if code == 0 { // help was asked for
			fmt.Fprint(stdout, checkUsage)
		}
		return code
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(stdout, "warning: %s\n", w)
	}
	for _, n := range p.Notes {
		fmt.Fprintf(stdout, "note: %s\n", n)
	}
	what := "flags and variables"
	if cfg.File != "" {
		what = cfg.File
	}
	fmt.Fprintf(stdout, "%s: good; the shutdown fits: budget %s of grace %s\n", what, plan.Duration(p.Budget), plan.Duration(p.Grace))
	return 0
}
