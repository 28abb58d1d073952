package config

import (
	"slices"
	"strings"
	"syscall"
	"time"

	"graced/internal/plan"
	"graced/signals"
)

// shortestRung is the least that a rung can be given. Less is no chance to
// stop; who wants none leaves the rung out.
const shortestRung = time.Millisecond

// parseLadder reads rungs such as SIGQUIT:20s,SIGTERM:5s. A rung without
// ":wait" is open: it takes its share of what remains.
func parseLadder(text string) ([]plan.Rung, []mistake) {
	if text == "" {
		return nil, wrong("is empty; it is signals, each with the time that it is given")
	}
	var rungs []plan.Rung
	var mistakes []mistake
	for _, part := range commas(text) {
		rung, m := parseRung(part)
		mistakes = append(mistakes, m...)
		rungs = append(rungs, rung)
	}
	return rungs, mistakes
}

func parseRung(text string) (plan.Rung, []mistake) {
	if text == "" {
		return plan.Rung{}, wrong("has an empty part; a comma stands only between two rungs")
	}
	name, wait, timed := strings.Cut(text, ":")
	sig, mistakes := parseRungSignal(name)
	rung := plan.Rung{Signal: sig, Open: !timed}
	if timed {
		var m []mistake
		rung.Wait, m = duration(shortestRung)(wait)
		for i := range m {
			m[i].wrong = "the wait of " + quote(text) + ": " + m[i].wrong
			if m[i].right != "" && len(mistakes) == 0 {
				m[i].right = name + ":" + m[i].right
			}
		}
		mistakes = append(mistakes, m...)
	}
	return rung, mistakes
}

// parseRungSignal reads a signal that can stop a program.
func parseRungSignal(text string) (syscall.Signal, []mistake) {
	sig, err := signals.Parse(text)
	if err == nil {
		err = signals.CheckRung(sig)
	}
	return sig, wrongs(err)
}

// parseFirst reads the first signal of the default ladder; 0 is auto.
func parseFirst(text string) (syscall.Signal, []mistake) {
	if text == auto {
		return 0, nil
	}
	return parseRungSignal(text)
}

// parseStop reads one signal that graced takes for a stop.
func parseStop(text string) (syscall.Signal, []mistake) {
	sig, err := signals.Parse(text)
	if err == nil {
		err = signals.CheckStop(sig)
	}
	return sig, wrongs(err)
}

// parseStops reads a list of them.
func parseStops(text string) ([]syscall.Signal, []mistake) {
	var list []syscall.Signal
	var mistakes []mistake
	for _, part := range commas(text) {
		sig, m := parseStop(part)
		mistakes = append(mistakes, m...)
		list = append(list, sig)
	}
	if len(mistakes) == 0 {
		mistakes = checkStops(list)
	}
	return list, mistakes
}

// checkStops refuses a signal that is listed twice: one of the two was meant
// to be another.
func checkStops(list []syscall.Signal) (mistakes []mistake) {
	for i, sig := range list {
		if slices.Contains(list[:i], sig) {
			mistakes = append(mistakes, mistake{wrong: "has " + signals.Name(sig) + " twice"})
		}
	}
	return mistakes
}
