package config

import "slices"

// feature is something that settings ask for.
type feature string

const (
	probes    feature = "http, tcp, exec, grpc, file and notify probes are"
	sockets   feature = "a control socket with a path is"
	restarts  feature = "restarting a process is"
	announces feature = "announcing is"
	pushes    feature = "pushing metrics is"
	prefixes  feature = "output with a prefix is"
)

// notYet has what the file and the flags can say and this build cannot do.
// Such a setting is read and checked, and then refused: a shutdown must never
// silently be another than the one that was asked for. When a feature lands, its
// name goes.
var notYet = [...]feature{probes, sockets, restarts, announces, pushes, prefixes}

// missing is the mistake of asking for a feature that this build has not, and
// what can be had in its place.
func (l *loader) missing(f feature, instead string) []mistake {
	if l.in.complete || !slices.Contains(notYet[:], f) {
		return nil
	}
	return []mistake{{wrong: string(f) + " not in this build yet", right: instead, leave: instead == ""}}
}

// parsePush reads the URL of a Pushgateway, or nothing.
func (l *loader) parsePush(text string) (string, []mistake) {
	push, mistakes := parseOptionalURL(text)
	if push != "" && len(mistakes) == 0 {
		mistakes = l.missing(pushes, "")
	}
	return push, mistakes
}

// parseOutput reads where a process's output goes.
func (l *loader) parseOutput(text string) (string, []mistake) {
	output, mistakes := oneOf(outputs)(text)
	if output == "prefix" {
		mistakes = l.missing(prefixes, "inherit")
	}
	return output, mistakes
}
