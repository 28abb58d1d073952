package config

import (
	"math"
	"strings"
	"time"
)

// longest is the greatest duration of any setting. No platform lets a
// container shut down for a day, so more is a slip of the unit.
const longest = 24 * time.Hour

// units has what people write for Go's units.
var units = [...]struct{ word, unit string }{
	{"sec", "s"}, {"secs", "s"}, {"second", "s"}, {"seconds", "s"},
	{"min", "m"}, {"mins", "m"}, {"minute", "m"}, {"minutes", "m"},
	{"hr", "h"}, {"hrs", "h"}, {"hour", "h"}, {"hours", "h"},
	{"msec", "ms"}, {"millis", "ms"}, {"millisecond", "ms"}, {"milliseconds", "ms"},
}

// duration is a parser of Go's duration syntax ("1m30s", "500ms") from least
// to longest. A unit is always needed, 0s too: a bare number was somebody's
// milliseconds before. Parts of a millisecond are refused, not rounded: no
// timer of a busy machine keeps them, and whoever writes one means another unit.
func duration(least time.Duration) parser[time.Duration] {
	return func(text string) (time.Duration, []mistake) {
		d, wrong := parseDuration(text)
		switch {
		case wrong != nil:
			return 0, wrong
		case d == 0 && least > 0:
			return 0, []mistake{{wrong: quote(text) + " is no time at all here; the least is " + short(least)}}
		case d < least:
			return 0, []mistake{{wrong: quote(text) + " is too short; the least is " + short(least)}}
		}
		return d, nil
	}
}

func parseDuration(text string) (time.Duration, []mistake) {
	if text == "" {
		return 0, wrong("is empty; it is a duration with its unit")
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil && !isNumber(text):
		return 0, []mistake{misspelt(text)}
	case err != nil || d == 0 && isNumber(text): // time.ParseDuration takes "0"
		return 0, []mistake{{wrong: quote(text) + " has no unit (ms, s, m or h)", right: checked(text + "s")}}
	case d < 0:
		return 0, []mistake{{wrong: quote(text) + " is negative", right: checked(strings.TrimPrefix(text, "-"))}}
	case d > longest:
		return 0, wrong(quote(text) + " is more than 24h; no platform waits that long, so it is a slip of the unit")
	case d%time.Millisecond != 0:
		return 0, wrong(quote(text) + " is not whole milliseconds; nothing finer can be kept")
	}
	return d, nil
}

// misspelt says what is wrong with a text that is no duration.
func misspelt(text string) mistake {
	m := mistake{wrong: quote(text) + " is not a duration"}
	plain := strings.ToLower(strings.Join(strings.Fields(text), ""))
	digits := strings.TrimRight(plain, "abcdefghijklmnopqrstuvwxyzµ")
	for _, u := range units {
		if plain[len(digits):] == u.word {
			plain = digits + u.unit
			break
		}
	}
	switch {
	case allDigits(strings.TrimPrefix(digits, "-")) && len(digits) > 9:
		m.wrong = quote(text) + " is more than 24h; no platform waits that long, so it is a slip of the unit"
	case strings.HasSuffix(plain, "d"), strings.HasSuffix(plain, "day"), strings.HasSuffix(plain, "days"):
		m.wrong = quote(text) + " has a unit that does not exist here (ms, s, m or h)"
		if digits == "1" {
			m.right = "24h"
		}
	case checked(plain) != "":
		m.wrong, m.right = quote(text)+" is not how a duration is written", plain
	case checked(plain+"s") != "":
		m.wrong, m.right = quote(text)+" has a number without a unit (ms, s, m or h)", plain+"s"
	}
	return m
}

// checked is text if it is a right duration, else "".
func checked(text string) string {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > longest || d%time.Millisecond != 0 || isNumber(text) {
		return ""
	}
	return text
}

// isNumber says whether text is a number without a unit.
func isNumber(text string) bool {
	digits := strings.TrimLeft(text, "+-")
	return allDigits(strings.Replace(digits, ".", "", 1)) && len(text)-len(digits) <= 1
}

func allDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// short writes a duration without its empty parts: 30s, 1m30s, 500ms, 24h.
func short(d time.Duration) string {
	if d == math.MinInt64 { // has no absolute value; never parsed, but harmless here
		return d.String()
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
