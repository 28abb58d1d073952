package metrics

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"graced/internal/record"
)

// hostile is a name as a program can have one: Linux allows any byte in it.
const hostile = "a\"b\\c\n\xff"

// atRest is graced around one process that is ready.
func atRest(name string, now time.Time) *record.Snapshot {
	return &record.Snapshot{
		Time: now, Started: now, Phase: record.Running, Ready: true, EverReady: true,
		Grace: 30 * time.Second, Budget: 28 * time.Second,
		Processes: []record.ProcessState{{
			Name: name, State: "running", PID: 7, Started: now, Ready: true,
			Probes: []record.ProbeState{{Name: "ready", Up: true, Failures: 2}},
		}},
	}
}

// atTheEnd is the same after a shutdown in which everything went wrong.
func atTheEnd(name string, now time.Time) *record.Snapshot {
	s := atRest(name, now)
	s.Phase, s.Ready = record.Exiting, false
	s.NotReadySince, s.T0, s.Deadline = now, now.Add(-20*time.Second), now.Add(8*time.Second)
	p := &s.Processes[0]
	p.PID, p.Exited, p.Code, p.Restarts, p.State = 0, true, 137, 3, "killed"
	for i, phase := range record.Phases[2:] {
		start := s.T0.Add(time.Duration(i) * time.Second)
		s.Phases = append(s.Phases, record.PhaseTime{Phase: phase, Start: start, End: start.Add(1500 * time.Millisecond)})
	}
	s.Connections = record.Connections{Known: true, Busy: 2, Idle: 3, CloseWait: 1}
	s.Totals = record.Totals{
		SignalsReceived:  map[string]uint64{},
		SignalsForwarded: map[record.Forwarded]uint64{},
		Overruns:         map[string]record.Overshoot{},
		Kills:            map[string]uint64{name: 1},
	}
	for _, phase := range deadlinePhases {
		s.Totals.Overruns[phase] = record.Overshoot{Count: 1, Last: 12 * time.Millisecond}
	}
	for n := range 64 {
		signal := "SIGRTMIN+" + strconv.Itoa(n)
		s.Totals.SignalsReceived[signal] = 1
		s.Totals.SignalsForwarded[record.Forwarded{Process: name, Signal: signal}] = 1
	}
	s.Totals.SignalsReceived["SIGTERM"] = 2
	s.Totals.SignalsForwarded[record.Forwarded{Process: name, Signal: "SIGHUP"}] = 5
	return s
}

func source(s *record.Snapshot) Source {
	return Source{
		Version:     "1.2.3",
		Snapshot:    func() *record.Snapshot { return s },
		Orphans:     func() uint64 { return 4000 },
		Dropped:     func() uint64 { return 9 },
		Connections: func() record.Connections { return record.Connections{Known: true, Idle: 11} },
	}
}

func get(t *testing.T, p *Page, accept string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Result(), w.Body.String()
}

// scrape reads a page as Prometheus does: the value of each series, by its name
// and its labels' values.
func scrape(t *testing.T, p *Page) map[string]float64 {
	t.Helper()
	// The page would hide an error: it shows what could be gathered.
	if _, err := p.registry().Gather(); err != nil {
		t.Errorf("gathering: %v", err)
	}
	_, page := get(t, p, "")
	return parse(t, page)
}

func parse(t *testing.T, page string) map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		t.Fatalf("%v\n%s", err, page)
	}
	series := make(map[string]float64)
	for name, family := range families {
		for _, m := range family.Metric {
			id := strings.TrimPrefix(name, "graced_") + labelsOf(m)
			if _, twice := series[id]; twice {
				t.Errorf("%s is there twice", id)
			}
			series[id] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return series
}

func labelsOf(m *dto.Metric) string {
	if len(m.Label) == 0 {
		return ""
	}
	var values []string
	for _, l := range m.Label {
		values = append(values, l.GetValue())
	}
	return "{" + strings.Join(values, ",") + "}"
}

func expect(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for id, v := range want {
		if g, ok := got[id]; !ok || g != v {
			t.Errorf("%s is %v (there: %v), want %v", id, g, ok, v)
		}
	}
}

func TestAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := scrape(t, New(source(atRest("web", time.Now()))))
		expect(t, got, map[string]float64{
			"build_info{1.2.3}": 1, "ready": 1, "draining": 0, "grace_seconds": 30, "budget_seconds": 28,
			"shutdown_remaining_seconds": 0, "phase{running}": 1, "phase{stop}": 0, "phase{starting}": 0,
			"deadline_overruns_total{stop}": 0, "deadline_overshoot_seconds{hook}": 0,
			"kills_total{web}": 0, "signals_received_total{SIGTERM}": 0, "signals_received_total{other}": 0,
			"signals_forwarded_total{web,SIGHUP}": 0, "orphans_reaped_total": 4000, "log_lines_dropped_total": 9,
			"process_up{web}": 1, "process_restarts_total{web}": 0,
			"process_start_time_seconds{web}": float64(time.Now().Unix()),
			"probe_up{ready,web}":             1, "probe_failures_total{ready,web}": 2,
			"connections{idle}": 11, "connections{busy}": 0, "connections{close_wait}": 0, "connections{unaccepted}": 0,
		})
		for id := range got {
			if strings.HasPrefix(id, "phase_duration") || strings.HasPrefix(id, "process_exit_code") || strings.HasPrefix(id, "hook_") {
				t.Errorf("%s before there is such a thing", id)
			}
		}
	})
}

func TestAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := atTheEnd("web", time.Now())
		s.Totals.Hooks = map[string]record.HookResult{"flush": {Took: time.Second}}
		s.Totals.Announcements = map[record.Announced]uint64{{Announce: "lb", Result: "ok"}: 1, {Announce: "lb", Result: "error"}: 2}
		s.Totals.Kills["a descendant"] = 4
		s.Totals.Overruns["no such phase"] = record.Overshoot{Count: 3, Last: time.Second}
		expect(t, scrape(t, New(source(s))), map[string]float64{
			"ready": 0, "draining": 1, "shutdown_remaining_seconds": 8, "phase{exit}": 1, "phase{running}": 0,
			"phase_duration_seconds{drain}": 1.5, "deadline_overruns_total{stop}": 1, "deadline_overshoot_seconds{stop}": 0.012,
			"deadline_overruns_total{other}": 3, "kills_total{web}": 1, "kills_total{other}": 4,
			"signals_received_total{SIGTERM}": 2, "signals_received_total{other}": 64,
			"signals_forwarded_total{web,SIGHUP}": 5, "signals_forwarded_total{web,other}": 64,
			"process_up{web}": 0, "process_restarts_total{web}": 3, "process_exit_code{web}": 137,
			"hook_duration_seconds{flush}": 1, "announcements_total{lb,ok}": 1, "announcements_total{lb,error}": 2,
			// Those of a look, not the drain's last count.
			"connections{busy}": 0, "connections{idle}": 11, "connections{close_wait}": 0,
		})
	})
}

func TestAPhaseUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := atRest("web", time.Now())
		s.Phase, s.T0, s.Deadline = record.Drain, time.Now(), time.Now().Add(s.Budget)
		s.Phases = []record.PhaseTime{{Phase: record.Drain, Start: time.Now()}}
		p := New(source(s))
		time.Sleep(3 * time.Second)
		expect(t, scrape(t, p), map[string]float64{"phase_duration_seconds{drain}": 3, "shutdown_remaining_seconds": 25})
		time.Sleep(time.Hour)
		expect(t, scrape(t, p), map[string]float64{"shutdown_remaining_seconds": 0})
	})
}

func TestSeriesAreFew(t *testing.T) {
	now := time.Now()
	rest, end := scrape(t, New(source(atRest("web", now)))), scrape(t, New(source(atTheEnd("web", now))))
	t.Logf("%d series at rest, %d at the end", len(rest), len(end))
	if len(end) > 60 {
		t.Errorf("%d series for one process, want 60 at most: %q", len(end), slices.Sorted(maps.Keys(end)))
	}
	// What came is the plan's: the phases that have begun, and an exit.
	for id := range end {
		if _, there := rest[id]; !there && !strings.HasPrefix(id, "phase_duration_seconds{") && id != "process_exit_code{web}" {
			t.Errorf("%s appeared", id)
		}
	}
}

func TestHostileNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		plain := scrape(t, New(source(atTheEnd("web", now))))
		s := atTheEnd(hostile, now)
		got := scrape(t, New(source(s)))
		if len(got) != len(plain) {
			t.Errorf("%d series, %d with a plain name", len(got), len(plain))
		}
		label := "a\"b\\c\n\uFFFD"
		expect(t, got, map[string]float64{"process_exit_code{" + label + "}": 137, "kills_total{" + label + "}": 1})

		// Two names that differ in a byte that is no UTF-8 keep series of their own.
		other := s.Processes[0]
		other.Name, other.Code = "a\"b\\c\n\xfe", 3
		s.Processes = append(s.Processes, other)
		s.Totals.Hooks = map[string]record.HookResult{"\xff": {Took: time.Second}, "\xfe": {Took: 2 * time.Second}}
		expect(t, scrape(t, New(source(s))), map[string]float64{
			"process_exit_code{" + label + "}": 137, "process_exit_code{" + label + "#2}": 3,
			"hook_duration_seconds{\uFFFD}": 2, "hook_duration_seconds{\uFFFD#2}": 1,
		})
	})
}

func TestNothingKnown(t *testing.T) {
	got := scrape(t, New(source(nil)))
	expect(t, got, map[string]float64{"build_info{1.2.3}": 1, "orphans_reaped_total": 4000, "log_lines_dropped_total": 9})
	if got := scrape(t, New(Source{})); len(got) != 1 {
		t.Errorf("of an empty source: %v", got)
	}
	if got := scrape(t, New(Source{Snapshot: func() *record.Snapshot { return &record.Snapshot{} }})); got["phase{running}"] != 0 {
		t.Errorf("of an empty snapshot: %v", got)
	}
	// Where nobody looked, 0 connections would be a claim.
	s := source(atRest("web", time.Now()))
	s.Connections = nil
	for id := range scrape(t, New(s)) {
		if strings.HasPrefix(id, "connections") {
			t.Errorf("%s, and nobody has looked", id)
		}
	}
}

func TestLint(t *testing.T) {
	s := atTheEnd("web", time.Now())
	s.Totals.Hooks = map[string]record.HookResult{"flush": {}}
	s.Totals.Announcements = map[record.Announced]uint64{{Announce: "lb", Result: "ok"}: 1}
	c := newCollector(source(s))
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(c); err != nil {
		t.Fatal(err)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", err, problems)
	}
	// With all there can be, each description has a series, and so was linted.
	families, err := registry.Gather()
	if err != nil || len(families) != len(c.all) {
		t.Errorf("%d families of %d, %v", len(families), len(c.all), err)
	}
	// The control.
	bad := prometheus.NewRegistry()
	bad.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "bad_milliseconds"}))
	if problems, err := testutil.GatherAndLint(bad); err != nil || len(problems) == 0 {
		t.Errorf("the linter finds nothing (%v)", err)
	}
}
