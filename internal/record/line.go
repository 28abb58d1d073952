package record

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// What one event may hold. More is cut, with a mark: an error of a program
// that printed a megabyte is no reason to lose the line.
const (
	maxText  = 1024 // bytes of one field
	maxAttrs = 24
)

// lines makes log lines of events. It is not safe for concurrent use: each
// line is valid until the next.
type lines struct {
	buf     bytes.Buffer
	handler slog.Handler
}

func newLines(format Format) *lines {
	l := new(lines)
	// Handle asks for no level: that was decided when the event was emitted.
	if format == JSON {
		l.handler = slog.NewJSONHandler(&l.buf, nil)
	} else {
		l.handler = slog.NewTextHandler(&l.buf, nil)
	}
	return l
}

// event is e as a line: time (UTC: a time zone in the environment is meant for
// the program), level, msg, event, then what applies of process, phase, hook,
// signal, pid, code, offset, took, deadline, late, err, and e.Attrs. Durations
// are text, in seconds, in both formats: "16.0s". slog escapes what is no valid
// UTF-8 and what would end the line.
func (l *lines) event(e *Event) []byte {
	r := slog.NewRecord(e.Time.UTC(), e.Level, e.Msg, 0)
	text := func(key, value string) {
		if value != "" {
			r.AddAttrs(slog.String(key, value))
		}
	}
	positive := func(key string, d time.Duration) {
		if d > 0 {
			r.AddAttrs(slog.String(key, Seconds(d)))
		}
	}
	text("event", string(e.Kind))
	text("process", e.Process)
	text("phase", e.Phase)
	text("hook", e.Hook)
	text("signal", e.Signal)
	if e.PID != 0 {
		r.AddAttrs(slog.Int("pid", e.PID))
	}
	if e.Kind.HasCode() {
		r.AddAttrs(slog.Int("code", e.Code))
	}
	if e.Offset >= 0 {
		r.AddAttrs(slog.String("offset", Seconds(e.Offset)))
	}
	positive("took", e.Took)
	positive("deadline", e.Deadline)
	positive("late", e.Late)
	text("err", e.Err)
	for _, a := range e.Attrs {
		r.AddAttrs(readable(a))
	}
	return l.line(r)
}

// dropped is the line that admits n lost ones. It is about the log, no event.
func (l *lines) dropped(n uint64) []byte {
	r := slog.NewRecord(time.Now().UTC(), slog.LevelWarn, "log lines were lost: nobody took them in time", 0)
	r.AddAttrs(slog.Uint64("dropped", n))
	return l.line(r)
}

func (l *lines) line(r slog.Record) []byte {
	l.buf.Reset()
	// Writing to a buffer does not fail; what an attribute cannot format,
	// slog says in its place.
	_ = l.handler.Handle(context.Background(), r)
	return l.buf.Bytes()
}

// readable has durations as the other fields do; slog's JSON has nanoseconds.
func readable(a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		return slog.String(a.Key, Seconds(a.Value.Duration()))
	}
	return a
}

// Seconds is d as log and messages have it: seconds, rounded to the
// millisecond, with one decimal at least. "16.0s", "5.02s", "-0.004s".
func Seconds(d time.Duration) string {
	// of whole milliseconds: Duration.Seconds adds two floats, and 2.812s would
	// become 2.8120000000000003s
	s := strconv.FormatFloat(float64(d.Round(time.Millisecond).Milliseconds())/1000, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s + "s"
}

// clipped is e with no field over maxText and no more than maxAttrs attributes.
func (e Event) clipped() Event {
	e.Msg = clip(e.Msg)
	e.Process = clip(e.Process)
	e.Phase = clip(e.Phase)
	e.Hook = clip(e.Hook)
	e.Signal = clip(e.Signal)
	e.Err = clip(e.Err)
	if len(e.Attrs) > maxAttrs || slices.ContainsFunc(e.Attrs, long) {
		attrs := slices.Clone(e.Attrs[:min(len(e.Attrs), maxAttrs)])
		for i, a := range attrs {
			if long(a) {
				attrs[i] = slog.String(a.Key, clip(a.Value.String()))
			}
		}
		if n := len(e.Attrs) - maxAttrs; n > 0 {
			attrs = append(attrs, slog.Int("omitted", n))
		}
		e.Attrs = attrs
	}
	return e
}

func long(a slog.Attr) bool {
	return a.Value.Kind() == slog.KindString && len(a.Value.String()) > maxText
}

// size is how much text e has, in bytes. Attributes that are no text count as
// a number does.
func (e *Event) size() int64 {
	n := len(e.Msg) + len(e.Process) + len(e.Phase) + len(e.Hook) + len(e.Signal) + len(e.Err)
	for _, a := range e.Attrs {
		n += len(a.Key) + 8
		if a.Value.Kind() == slog.KindString {
			n += len(a.Value.String())
		}
	}
	return int64(n)
}

// clip cuts s to maxText bytes, between two characters, and says so.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	// The copy lets go of the rest.
	return strings.Clone(head(s, maxText)) + fmt.Sprintf("… (%d bytes)", len(s))
}

// head is the longest start of s of at most n bytes that cuts no character.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	// A character has at most three bytes that do not start one; more of them
	// are no UTF-8, and cutting between those harms nothing.
	for back := 0; back < utf8.UTFMax-1 && n > 0 && !utf8.RuneStart(s[n]); back++ {
		n--
	}
	return s[:n]
}
