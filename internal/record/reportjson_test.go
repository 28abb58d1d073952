package record

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func sampleReport() Report {
	return Report{
		Cause: "SIGTERM", Start: noon, Done: true, Code: 137, Took: 27600 * time.Millisecond,
		Grace: 30 * time.Second, GraceFrom: "kubernetes", Budget: 28 * time.Second,
		Phases:    []ReportPhase{{Delay, 5 * time.Second}, {Stop, 20 * time.Second}},
		Processes: []ReportProcess{{"web", 137, "SIGKILL", 20010400 * time.Microsecond}},
		Overruns:  []ReportOverrun{{"web", 20 * time.Second, 12 * time.Millisecond}},
		Killed:    1, Errors: []string{"hook flush: <timeout>"}, Connections: "2 busy: :8080 from 10.0.0.7",
	}
}

func TestReportJSON(t *testing.T) {
	got := string(sampleReport().JSON())
	want := `{"graced":"1","cause":"SIGTERM","start":"2026-11-29T12:00:00.005Z","done":true,"code":137,` +
		`"took_seconds":27.6,"grace_seconds":30,"grace_from":"kubernetes","budget_seconds":28,"killed":1,` +
		`"connections":"2 busy: :8080 from 10.0.0.7",` +
		`"overruns":[{"what":"web","deadline_seconds":20,"late_seconds":0.012}],"errors":["hook flush: <timeout>"],` +
		`"processes":[{"name":"web","code":137,"signal":"SIGKILL","took_seconds":20.01}],` +
		`"phases":[{"phase":"delay","took_seconds":5},{"phase":"stop","took_seconds":20}]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// The one at t0: no code yet, which is not the same as 0.
	got = string(Report{Cause: "SIGTERM", Grace: 10 * time.Second, Budget: 9 * time.Second, Version: "1.2.0"}.JSON())
	want = `{"graced":"1","version":"1.2.0","cause":"SIGTERM","done":false,"took_seconds":0,"grace_seconds":10,"budget_seconds":9,"killed":0}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Whatever is in a report, what matters of it comes out, and it says what is missing.
func TestReportJSONIsCutByRule(t *testing.T) {
	r := sampleReport()
	for i := range 300 {
		r.Errors = append(r.Errors, fmt.Sprint("error ", i, " ", strings.Repeat("é", 200)))
		r.Processes = append(r.Processes, ReportProcess{Name: fmt.Sprint("worker", i)})
	}
	m := checkReportJSON(t, r)
	errors := m["errors"].([]any)
	processes := m["processes"].([]any)
	if len(errors) < 3 || errors[0] != "hook flush: <timeout>" || !strings.HasSuffix(errors[1].(string), "…") {
		t.Errorf("errors: %q", errors)
	}
	if n := 602 - len(errors) - len(processes); m["omitted"] != float64(n) {
		t.Errorf("omitted %v, want %d", m["omitted"], n)
	}
	if m["cause"] != "SIGTERM" || m["code"] != 137.0 {
		t.Errorf("the head was lost: %v", m)
	}
}

func TestReportJSONAlwaysFits(t *testing.T) {
	// What JSON makes longest of: six bytes for one.
	for _, bad := range []string{"\x00", "\xff", "\u2028", "\"", "日"} {
		s := strings.Repeat(bad, 5000)
		r := Report{Version: s, Cause: s, GraceFrom: s, Connections: s, Start: time.Unix(1<<40, 0), Done: true,
			Code: -1 << 63, Took: -1 << 63, Grace: 1<<63 - 1, Budget: -1 << 63, Killed: -1 << 63}
		for range 500 {
			r.Errors = append(r.Errors, s)
			r.Overruns = append(r.Overruns, ReportOverrun{What: s, Deadline: -1 << 63, Late: -1 << 63})
			r.Processes = append(r.Processes, ReportProcess{Name: s, Code: -1 << 63, Signal: s, Took: -1 << 63})
			r.Phases = append(r.Phases, ReportPhase{Phase: Phase(s), Took: -1 << 63})
		}
		checkReportJSON(t, r)
	}
}

func checkReportJSON(t *testing.T, r Report) map[string]any {
	t.Helper()
	data := r.JSON()
	if len(data) >= MaxReport {
		t.Errorf("%d bytes, want under %d", len(data), MaxReport)
	}
	if !utf8.Valid(data) || strings.Contains(string(data), "\n") || !isReport(append(data, '\n')) {
		t.Errorf("not one line of UTF-8 that graced knows as its own: %q", data)
	}
	return object(t, data)
}

func FuzzReportJSON(f *testing.F) {
	f.Add("SIGTERM", "hook flush: \xff", "日本\x00", 3, int64(5e9))
	f.Add(strings.Repeat("\x00", 900), strings.Repeat("\xff", 900), strings.Repeat("\u2028", 900), 1000, int64(-1<<63))
	f.Fuzz(func(t *testing.T, cause, err, name string, n int, d int64) {
		r := Report{Cause: cause, GraceFrom: name, Connections: err, Version: name, Done: n%2 == 0, Code: n, Took: time.Duration(d), Start: time.Unix(d, d)}
		for i := range min(max(n, 0), 2000) {
			r.Errors = append(r.Errors, err)
			r.Processes = append(r.Processes, ReportProcess{Name: name, Code: i, Signal: cause, Took: time.Duration(d)})
			r.Overruns = append(r.Overruns, ReportOverrun{What: name, Late: time.Duration(d)})
			r.Phases = append(r.Phases, ReportPhase{Phase: Phase(cause), Took: time.Duration(d)})
		}
		m := checkReportJSON(t, r)
		if again, e := json.Marshal(m); e != nil || len(again) == 0 {
			t.Error(e)
		}
	})
}
