package config

import (
	"log/slog"
	"strconv"
	"strings"

	"graced/internal/plan"
)

// parser reads a setting's value from text. If there are mistakes the value
// is not to be used.
type parser[T any] func(text string) (T, []mistake)

// binding is how a row writes and shows its setting.
type binding struct {
	// set writes the setting from text that came from somewhere.
	set func(text string, from plan.Source) []mistake
	// from is where what is in force came from, and show what it is, as text.
	from func() plan.Source
	show func() string
}

// into binds a row to a Setting.
func into[T any](to *plan.Setting[T], parse parser[T], show func(T) string) binding {
	return bind(to, show, func(text string, from plan.Source) []mistake {
		v, mistakes := parse(text)
		if len(mistakes) == 0 {
			*to = plan.Given(v, from)
		}
		return mistakes
	})
}

// bind binds a row to a Setting that set writes.
func bind[T any](to *plan.Setting[T], show func(T) string, set func(string, plan.Source) []mistake) binding {
	return binding{set, func() plan.Source { return to.From }, func() string { return show(to.V) }}
}

const auto = "auto"

// parseDelay reads "auto" or a duration.
func parseDelay(text string) (plan.Delay, []mistake) {
	if text == auto {
		return plan.Delay{Auto: true}, nil
	}
	d, mistakes := duration(0)(text)
	return plan.Delay{For: d}, mistakes
}

// parsePath reads the path of a file.
func parsePath(text string) (string, []mistake) {
	if text == "" {
		return "", wrong("is empty; it is the path of a file")
	}
	return parseOptionalPath(text)
}

// parseOptionalPath reads a path or nothing.
func parseOptionalPath(text string) (string, []mistake) {
	if strings.IndexByte(text, 0) >= 0 {
		return "", wrong(quote(text) + " has a zero byte, which no path can have")
	}
	if strings.HasSuffix(text, "/") {
		return "", []mistake{{wrong: quote(text) + " is a folder, not a file", right: strings.TrimRight(text, "/")}}
	}
	return text, nil
}

// parseWord reads any text that can be given to a program.
func parseWord(text string) (string, []mistake) {
	if strings.IndexByte(text, 0) >= 0 {
		return "", wrong(quote(text) + " has a zero byte, which no program can be given")
	}
	return text, nil
}

var logFormats = []string{"text", "json"}

// levels are the log levels by name.
var levels = []string{"debug", "info", "warn", "error"}

func parseLevel(text string) (slog.Level, []mistake) {
	switch text {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, []mistake{unknown(text, levels)}
}

// platformNames has "auto" and every platform.
func platformNames() []string {
	names := []string{auto}
	for _, p := range plan.Platforms {
		names = append(names, p.Name)
	}
	return names
}

// commas splits a list and takes the spaces off that people put after commas.
// An empty text has one empty part, so that it is refused like an empty part.
func commas(text string) []string {
	parts := strings.Split(text, ",")
	for i, part := range parts {
		parts[i] = strings.TrimSpace(part)
	}
	return parts
}

// parseAny takes any text.
func parseAny(text string) (string, []mistake) { return text, nil }

// parseName reads the name of a process.
func parseName(text string) (string, []mistake) { return text, checkLabel(text) }

// longestLabel is that of a DNS label, as container tools have it.
const longestLabel = 63

// checkLabel says why text is no name for a process, a hook or an
// announcement, if it is none. Names are labels of metrics and fields of logs.
func checkLabel(text string) []mistake {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
	switch {
	case text == "":
		return wrong("has an empty name")
	case len(text) > longestLabel:
		return wrong(quote(text) + " is longer than " + strconv.Itoa(longestLabel) + " bytes")
	case strings.Trim(text, letters) != "" || strings.ContainsAny(text[:1], ".-"):
		return wrong(quote(text) + " is not a name of letters, digits, _, . and -")
	}
	return nil
}

// parseFolder reads the path of a folder.
func parseFolder(text string) (string, []mistake) {
	if text == "" {
		return "", wrong("is empty; it is the path of a folder")
	}
	return parseWord(text)
}
