// Graced is a container's first process: it wraps a program and makes its
// shutdown graceful. See README.md.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"graced/internal/boot"
	"graced/internal/config"
	"graced/signals/takeover"
)

// codeFailed is graced's own failure: bad settings, a port that is taken.
const codeFailed = 125

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// commands are the subcommands. What is none of them belongs to run.
var commands = map[string]func(args []string, stdout, stderr io.Writer) int{
	"run":     supervise,
	"plan":    showPlan,
	"check":   check,
	"health":  health,
	"version": showVersion,
}

// later are subcommands of which this build says so.
var later = []string{"drain", "resume", "stop", "status"}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		if config.HasFile(boot.Environ()) { // ENTRYPOINT ["/graced"], and the file in the image
			return supervise(nil, stdout, stderr)
		}
		fmt.Fprint(stderr, config.Usage())
		return codeFailed
	}
	name, rest := args[0], args[1:]
	switch name {
	case "help", "-h", "--help", "-help":
		fmt.Fprint(stdout, config.Usage())
		return 0
	case "--version", "-version":
		return showVersion(nil, stdout, stderr)
	}
	if command, ok := commands[name]; ok {
		if name != "run" {
			takeover.Release() // an ordinary short program: Ctrl-C ends it
		}
		return command(rest, stdout, stderr)
	}
	for _, l := range later {
		if name == l {
			fmt.Fprintf(stderr, "graced: %s is not in this build yet\n", name)
			return codeFailed
		}
	}
	if !strings.HasPrefix(name, "-") {
		return unknownCommand(name, args, stderr)
	}
	return supervise(args, stdout, stderr)
}

// helpAsked says whether help is among a subcommand's words, for those that read
// their flags late or have none.
func helpAsked(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" })
}

// unknownCommand is for a word that is no subcommand: mostly a program that
// was written without the -- before it.
func unknownCommand(name string, args []string, stderr io.Writer) int {
	for _, a := range args {
		if a == "--" {
			fmt.Fprintf(stderr, "graced: unknown subcommand %q; the subcommands are run, plan, check, health, version; a program comes after --\n", name)
			return codeFailed
		}
	}
	fmt.Fprintf(stderr, "graced: unknown subcommand %q; if it is the program to run, write: graced -- %s\n", name, strings.Join(args, " "))
	return codeFailed
}
