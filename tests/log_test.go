package tests

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// entry is a line of graced's log.
type entry map[string]any

// log gives graced's log so far, in its order. What else is on standard error
// is the program's.
func (r *running) log() []entry {
	var entries []entry
	for line := range strings.Lines(r.stderr.text()) {
		var e entry
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &e) == nil && e["level"] != nil {
			entries = append(entries, e)
		}
	}
	return entries
}

// field is a field as text: 137, true, "1.5s".
func (e entry) field(name string) string {
	v, ok := e[name]
	if !ok {
		return ""
	}
	return fmt.Sprint(v)
}

// duration is a field as a duration: "16.0s".
func (e entry) duration(t testing.TB, name string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(e.field(name))
	if err != nil {
		t.Fatalf("field %s of %v is no duration: %v", name, e, err)
	}
	return d
}

// has says whether each field matches its pattern as a whole. A pattern that
// begins with ! must not match.
func (e entry) has(fields map[string]string) bool {
	for name, pattern := range fields {
		pattern, not := strings.CutPrefix(pattern, "!")
		matched, err := regexp.MatchString("^(?:"+pattern+")$", e.field(name))
		if err != nil || matched == not {
			return false
		}
	}
	return true
}

// fields reads "event=kill", "code=137".
func fields(words ...string) map[string]string {
	m := map[string]string{}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			panic("no NAME=PATTERN: " + word)
		}
		m[name] = value
	}
	return m
}

// logged gives the entries that have all fields.
func (r *running) logged(words ...string) []entry {
	want := fields(words...)
	return slices.DeleteFunc(r.log(), func(e entry) bool { return !e.has(want) })
}

// logs waits for the first entry that has all fields.
func (r *running) logs(t testing.TB, within time.Duration, words ...string) entry {
	t.Helper()
	var found []entry
	if !eventually(within, func() bool {
		found = r.logged(words...)
		return len(found) > 0
	}) {
		t.Fatalf("the log has no line with %v; it has:\n%s", words, tail(r.stderr.text()))
	}
	return found[0]
}

// logsExactly checks that exactly n entries have all fields. For the end of a run.
func (r *running) logsExactly(t testing.TB, n int, words ...string) {
	t.Helper()
	if found := r.logged(words...); len(found) != n {
		t.Errorf("%d lines with %v, want %d:\n%s", len(found), words, n, tail(r.stderr.text()))
	}
}
