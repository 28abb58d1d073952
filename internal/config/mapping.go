package config

import (
	"strconv"
	"strings"
	"syscall"

	"graced/internal/plan"
	"graced/signals"
)

// parseRewrite reads FROM=TO pairs with commas between them; "USR2=" drops a
// signal. Whether FROM is one that is forwarded can only be told once the stop signals
// are known.
func parseRewrite(text string) (signals.Rewrite, []mistake) {
	rewrite := signals.Rewrite{}
	var mistakes []mistake
	for _, part := range commas(text) {
		from, to, ok := strings.Cut(part, "=")
		if !ok {
			mistakes = append(mistakes, notPair(part))
			continue
		}
		mistakes = append(mistakes, addRewrite(rewrite, from, to)...)
	}
	return rewrite, mistakes
}

// notPair is for a part without "=".
func notPair(part string) mistake {
	if part == "" {
		return mistake{wrong: "is empty or has an empty part; it is FROM=TO"}
	}
	m := mistake{wrong: quote(part) + " has no =; it is FROM=TO"}
	if from, to, colon := strings.Cut(part, ":"); colon {
		m.right = from + "=" + to // as dumb-init writes it
	}
	return m
}

// addRewrite adds one pair.
func addRewrite(rewrite signals.Rewrite, from, to string) []mistake {
	var target syscall.Signal
	source, err := signals.Parse(from)
	mistakes := wrongs(err)
	if to != "" {
		target, err = signals.Parse(to)
		mistakes = append(mistakes, wrongs(err)...)
	}
	if len(mistakes) > 0 {
		return mistakes
	}
	if _, twice := rewrite[source]; twice {
		return wrong("rewrites " + signals.Name(source) + " twice")
	}
	rewrite[source] = target
	return nil
}

// stopped is the word for "128+N where the ladder sent N".
const stopped = "stopped"

// parseExitCodes reads FROM=TO pairs with commas between them.
func parseExitCodes(text string) ([]plan.ExitCode, []mistake) {
	var codes []plan.ExitCode
	var mistakes []mistake
	for _, part := range commas(text) {
		from, to, ok := strings.Cut(part, "=")
		if !ok {
			mistakes = append(mistakes, notPair(part))
			continue
		}
		code, m := exitCode(codes, from, to)
		mistakes = append(mistakes, m...)
		codes = append(codes, code)
	}
	return codes, mistakes
}

// exitCode reads one pair that comes after others.
func exitCode(others []plan.ExitCode, from, to string) (plan.ExitCode, []mistake) {
	var code plan.ExitCode
	var mistakes []mistake
	if from == stopped {
		code.Stopped = true
	} else {
		n, ok := parseCode(from)
		if !ok {
			mistakes = append(mistakes, mistake{wrong: quote(from) + ` is not an exit code (0 to 255) or "stopped"`})
		}
		code.From = n
	}
	n, ok := parseCode(to)
	if !ok {
		mistakes = append(mistakes, mistake{wrong: quote(to) + " is not an exit code (0 to 255)"})
	}
	code.To = n
	for _, other := range others {
		if len(mistakes) == 0 && other.From == code.From && other.Stopped == code.Stopped {
			mistakes = append(mistakes, mistake{wrong: "maps " + quote(from) + " twice"})
		}
	}
	return code, mistakes
}

func parseCode(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n <= 255 && allDigits(text)
}

// addExitCode adds a pair of the file.
func addExitCode(codes []plan.ExitCode, from, to string) ([]plan.ExitCode, []mistake) {
	code, mistakes := exitCode(codes, from, to)
	return append(codes, code), mistakes
}
