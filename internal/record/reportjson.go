package record

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// MaxReport is what a report's JSON stays under, in bytes. The kubelet keeps
// the last 4096 bytes of a termination message: of a longer one it would lose
// the head. One byte is for the newline that ends the file.
const MaxReport = 4096 - 1

// reportMark begins each report, so that graced knows its own. The value is the
// version of the format: it changes if a field changes its name or meaning.
const reportMark = `{"graced":"`

const reportFormat = "1"

// The shape of a report. Times are RFC 3339 in UTC, durations numbers of
// seconds to the millisecond. Fields that a reader asks for first come first,
// and what is empty is left out.
type (
	reportJSON struct {
		Graced    string         `json:"graced"`
		Version   string         `json:"version,omitempty"`
		Cause     string         `json:"cause"`
		Start     string         `json:"start,omitempty"`
		Done      bool           `json:"done"`
		Code      *int           `json:"code,omitempty"` // once it is done
		Took      seconds        `json:"took_seconds"`
		Grace     seconds        `json:"grace_seconds"`
		GraceFrom string         `json:"grace_from,omitempty"`
		Budget    seconds        `json:"budget_seconds"`
		Killed    int            `json:"killed"`
		Busy      string         `json:"connections,omitempty"`
		Overruns  []overrunJSON  `json:"overruns,omitempty"`
		Errors    []string       `json:"errors,omitempty"`
		Processes []endJSON      `json:"processes,omitempty"`
		Phases    []intervalJSON `json:"phases,omitempty"`
		Omitted   int            `json:"omitted,omitempty"` // entries of the lists
	}
	overrunJSON struct {
		What     string  `json:"what"`
		Deadline seconds `json:"deadline_seconds"`
		Late     seconds `json:"late_seconds"`
	}
	endJSON struct {
		Name   string  `json:"name"`
		Code   int     `json:"code"`
		Signal string  `json:"signal,omitempty"`
		Took   seconds `json:"took_seconds"`
	}
	intervalJSON struct {
		Phase string  `json:"phase"`
		Took  seconds `json:"took_seconds"`
	}
	seconds float64
)

// reportLimits are tried in turn until a report fits: how many bytes of a text
// and how many entries of a list it shows. Entries go first, since the first
// few tell most of a shutdown and half a sentence tells nothing. The last one
// always fits: five texts of 16 bytes, which JSON can make six times as long,
// and no lists.
var reportLimits = [...]struct{ text, entries int }{
	{256, 64}, {256, 32}, {256, 16}, {256, 8}, {256, 4},
	{128, 8}, {128, 4}, {64, 4}, {32, 2}, {16, 0},
}

// JSON is r as one object, valid UTF-8 and under MaxReport bytes whatever r
// has in it. Where it would be longer, texts are cut, which "…" at their end
// says, then entries of the lists are left out from the back, which "omitted"
// counts.
func (r Report) JSON() []byte {
	var out []byte
	for _, limit := range reportLimits {
		out = r.encode(limit.text, limit.entries)
		if len(out) < MaxReport {
			break
		}
	}
	return out
}

func (r Report) encode(text, entries int) []byte {
	cut := func(s string) string {
		s = strings.ToValidUTF8(s, "\uFFFD")
		if len(s) > text {
			s = head(s, text) + "…"
		}
		return s
	}
	v := reportJSON{
		Graced:    reportFormat,
		Version:   cut(r.Version),
		Cause:     cut(r.Cause),
		Done:      r.Done,
		Took:      secondsOf(r.Took),
		Grace:     secondsOf(r.Grace),
		GraceFrom: cut(r.GraceFrom),
		Budget:    secondsOf(r.Budget),
		Killed:    r.Killed,
		Busy:      cut(r.Connections),
	}
	if !r.Start.IsZero() {
		v.Start = r.Start.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	}
	if r.Done {
		v.Code = &r.Code
	}
	v.Overruns = shorten(r.Overruns, entries, &v.Omitted, func(o ReportOverrun) overrunJSON {
		return overrunJSON{cut(o.What), secondsOf(o.Deadline), secondsOf(o.Late)}
	})
	v.Errors = shorten(r.Errors, entries, &v.Omitted, cut)
	v.Processes = shorten(r.Processes, entries, &v.Omitted, func(p ReportProcess) endJSON {
		return endJSON{cut(p.Name), p.Code, cut(p.Signal), secondsOf(p.Took)}
	})
	v.Phases = shorten(r.Phases, entries, &v.Omitted, func(p ReportPhase) intervalJSON {
		return intervalJSON{cut(string(p.Phase)), secondsOf(p.Took)}
	})
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	// Texts and finite numbers: there is nothing that could fail.
	_ = enc.Encode(v)
	return bytes.TrimSpace(buf.Bytes())
}

// shorten converts the first n of in and adds how many it left out to omitted.
func shorten[A, B any](in []A, n int, omitted *int, convert func(A) B) []B {
	n = min(n, len(in))
	*omitted += len(in) - n
	out := make([]B, n)
	for i, a := range in[:n] {
		out[i] = convert(a)
	}
	return out
}

// secondsOf rounds to the millisecond: a fraction with more digits would be
// noise, and makes reports longer.
func secondsOf(d time.Duration) seconds {
	return seconds(d.Round(time.Millisecond).Seconds())
}
