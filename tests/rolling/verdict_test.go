package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestVoidIsDecidedByControlAndLatenessOnly(t *testing.T) {
	lost := Outcome{Requests: 1000, Failed: 900}
	fine := Outcome{Requests: 1000}
	slow := Outcome{Requests: 1000, Late: seconds(501 * time.Millisecond)}
	for _, test := range []struct {
		what          string
		control, roll Outcome
		void          bool
	}{
		{"a run that lost nearly all", fine, lost, false},
		{"a run whose control lost one", Outcome{Requests: 1000, Failed: 1}, fine, true},
		{"a control that was late", slow, fine, true},
		{"a run that was late", fine, slow, true},
		{"a run that was nearly late", fine, Outcome{Late: seconds(500 * time.Millisecond)}, false},
	} {
		r := Record{Control: test.control, Roll: test.roll}
		if r.judge(); (r.Void != "") != test.void {
			t.Errorf("%s: void %q", test.what, r.Void)
		}
	}
}

func TestWhatIsMeasuredNext(t *testing.T) {
	run := func(name, void string) *Record { return &Record{Spec: Spec{Name: name}, Void: void} }
	done := []*Record{run("valid", "late"), run("valid", ""), run("void", "late"), run("void", "late"), run("hopeless", "late"), run("hopeless", "late"), run("hopeless", "late")}
	all := func() (list []Spec) {
		for _, name := range []string{"valid", "void", "hopeless", "new"} {
			list = append(list, Spec{Name: name})
		}
		return list
	}
	for _, test := range []struct{ patterns, want string }{
		{"", "void new"},
		{"valid", "valid"},
		{"new v*", "valid void new"},
	} {
		todo, err := choose(all(), done, strings.Fields(test.patterns))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range todo {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("with %q: %s, want %s", test.patterns, got, test.want)
		}
	}
	if _, err := choose(all(), done, []string{"vallid"}); err == nil {
		t.Error("a piece that does not exist was not told")
	}
}

func TestHAProxysWordsOnServers(t *testing.T) {
	for line, want := range map[string]string{
		`Server app/s0 is DOWN, reason: Layer7 wrong status, code: 503, info: "Service Unavailable", check duration: 1ms. 2 active and 0 backup servers left.`: "s0 DOWN",
		`Server app/s2 is DOWN. 2 active and 0 backup servers left. 52 sessions active, 0 requeued, 0 remaining in queue.`:                                     "s2 DOWN",
		`Server app/s1 is UP. 3 active and 0 backup servers online. 0 sessions requeued, 0 total in queue.`:                                                    "s1 UP",
		`Health check for server app/s0 failed, reason: Layer4 timeout, check duration: 1000ms, status: 0/2 DOWN.`:                                             "",
	} {
		got := ""
		if m := turned.FindStringSubmatch(line); m != nil {
			got = m[1] + " " + m[2]
		}
		if got != want {
			t.Errorf("%q, want %q, of %s", got, want, line)
		}
	}
}

func TestLossesAreCutOrSentTooLate(t *testing.T) {
	begin := time.Now()
	at := func(s float64) time.Time { return begin.Add(time.Duration(s * float64(time.Second))) }
	r := Record{Replaced: []*Replace{
		{Server: "s0", begin: at(0), Total: seconds(9 * time.Second), Phases: map[string]seconds{"delay": seconds(3 * time.Second), "drain": seconds(2 * time.Second)}},
		{Server: "s1", begin: at(10), Total: seconds(9 * time.Second)},
	}}
	for _, test := range []struct {
		what      string
		res       result
		cut, sent int
	}{
		{"in flight at the signal", result{server: "s0", due: at(4), ended: at(5.01)}, 1, 0},
		{"after it", result{server: "s0", due: at(5.5), ended: at(5.6)}, 0, 1},
		{"to a server that was not being replaced", result{server: "s0", due: at(9.5), ended: at(11)}, 0, 0},
		{"in flight at the next one's signal, which comes at once", result{server: "s1", due: at(4), ended: at(10.1)}, 1, 0},
		{"to nobody knows which", result{due: at(11), ended: at(12)}, 0, 1},
	} {
		r.Cut, r.Sent = 0, 0
		if r.place(test.res); r.Cut != test.cut || r.Sent != test.sent {
			t.Errorf("%s: cut %d, sent %d", test.what, r.Cut, r.Sent)
		}
	}
}

func TestResultsAndPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results")
	for _, s := range protocol() {
		r := &Record{Spec: s, When: time.Now(), Roll: Outcome{Requests: 4321}, Replaced: []*Replace{{Server: "s0", Stop: seconds(1500 * time.Millisecond), Exit: "143"}}}
		if s.Init != "graced" {
			r.Roll.Failed, r.Roll.ByEnd = 321, map[string]int{"reset": 321}
		}
		if err := appendRecord(file, r); err != nil {
			t.Fatal(err)
		}
	}
	records, err := readRecords(file)
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "page.md")
	if err := writeDocument(page, records); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"graced, in all 12 valid runs of this table: **0 lost of 51852 requests**",
		"| python, `http.server` | 321 of 4321 | **0** of 4321 | 321 of 4321 | **0** of 4321 |",
		"## What graced lost, and why\n\nNothing.",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, s := range protocol() {
		if !strings.Contains(string(text), "| "+s.Name+" |") {
			t.Errorf("the page does not have the run %s", s.Name)
		}
	}
	if strings.Contains(string(text), "%!") {
		t.Error("the page has a formatting error")
	}
}

func TestEachPieceIsOne(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range protocol() {
		if seen[s.Name] {
			t.Errorf("there are two pieces %s", s.Name)
		}
		seen[s.Name] = true
		if _, ok := inits[s.Init]; !ok {
			t.Errorf("%s: no init %q", s.Name, s.Init)
		}
		app, err := s.app()
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if _, err := parseMix(s.Mix, app.static); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}
