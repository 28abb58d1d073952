package config

import (
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"graced/internal/plan"
	"graced/signals"
)

// The show functions write a value as it would be typed.

func showText[T ~string](v T) string { return string(v) }

func showDelay(d plan.Delay) string {
	if d.Auto {
		return auto
	}
	return short(d.For)
}

func showFirst(sig syscall.Signal) string {
	if sig == 0 {
		return auto
	}
	return signals.Name(sig)
}

func showLadder(rungs []plan.Rung) string {
	return joined(rungs, func(r plan.Rung) string {
		if r.Open {
			return signals.Name(r.Signal)
		}
		return signals.Name(r.Signal) + ":" + short(r.Wait)
	})
}

func showSignals(list []syscall.Signal) string { return joined(list, signals.Name) }

func showRewrite(rewrite signals.Rewrite) string {
	return joined(slices.Sorted(maps.Keys(rewrite)), func(from syscall.Signal) string {
		if to := rewrite[from]; to != 0 {
			return signals.Name(from) + "=" + signals.Name(to)
		}
		return signals.Name(from) + "="
	})
}

func showExitCodes(codes []plan.ExitCode) string {
	return joined(codes, func(c plan.ExitCode) string {
		if c.Stopped {
			return stopped + "=" + strconv.Itoa(c.To)
		}
		return strconv.Itoa(c.From) + "=" + strconv.Itoa(c.To)
	})
}

func showAccount(a account) string {
	if a.group == "" {
		return a.user
	}
	return a.user + ":" + a.group
}

func showLevel(level slog.Level) string { return strings.ToLower(level.String()) }

// joined puts commas between the texts of a list.
func joined[T any](list []T, show func(T) string) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = show(v)
	}
	return strings.Join(texts, ",")
}
