package plan

import (
	"slices"
	"strings"
)

// shells are the programs that a person types into. A shell that reads
// commands from the terminal ignores SIGTERM; SIGHUP ends it, and it passes
// that on to its jobs.
//
// busybox is all of them, and much else: see applet.
var shells = []string{"bash", "sh", "dash", "zsh", "ash", "fish", "ksh", "mksh", "busybox"}

// shell says whether a program of that name is a shell: bash, -bash, zsh-5.9.
func shell(name string) bool {
	name = strings.TrimPrefix(name, "-")
	return slices.Contains(shells, name) || slices.Contains(shells, unversioned(name))
}

// applet is what busybox runs as, and the rest of its command line: it is
// called by another name, or its first argument says which.
func applet(id Identity) (name string, words []string) {
	words = id.Title
	if len(words) > 1 && base(words[0]) == "busybox" {
		words = words[1:]
	}
	if len(words) == 0 {
		return id.Comm, nil
	}
	return base(words[0]), words
}

// InteractiveShell says whether id is a shell that a person types into: it
// holds the terminal and was given neither a script nor -c.
func InteractiveShell(id Identity) bool {
	name, words := id.Name(), id.Title
	if name == "busybox" {
		if name, words = applet(id); name == "busybox" {
			return false
		}
	}
	if !id.Terminal || !shell(name) {
		return false
	}
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case word == "--" || word == "-": // the end of the options
			return i == len(words)-1
		case word == "--rcfile" || word == "--init-file":
			i++ // takes an argument
		case strings.HasPrefix(word, "--command"):
			return false
		case strings.HasPrefix(word, "--"):
		case strings.HasPrefix(word, "-") || strings.HasPrefix(word, "+"):
			switch {
			case strings.ContainsAny(word, "is") && word[0] == '-':
				return true // by order, or commands come from standard input
			case strings.Contains(word, "c") && word[0] == '-':
				return false
			case strings.HasSuffix(word, "o") || strings.HasSuffix(word, "O"):
				i++ // takes an argument: -o vi, -eo pipefail
			}
		default:
			return false // a script
		}
	}
	return true
}
