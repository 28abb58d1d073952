package tests

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// series reads /metrics with Prometheus's own parser and gives every series.
func (r *running) series(t testing.TB) []string {
	t.Helper()
	_, body, err := r.get("/metrics")
	if err != nil {
		t.Fatalf("/metrics: %v", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatalf("/metrics cannot be read: %v\n%s", err, body)
	}
	var all []string
	for name, family := range families {
		if !strings.HasPrefix(name, "graced_") {
			t.Errorf("%s is none of graced's", name)
		}
		for _, m := range family.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			all = append(all, name+"{"+strings.Join(labels, ",")+"}")
		}
	}
	sort.Strings(all)
	return all
}

// A program's name may hold any byte; the metrics stay readable.
func TestMetricsOfAProgramWithAStrangeName(t *testing.T) {
	t.Parallel()
	sandbox(t)
	path := filepath.Join(t.TempDir(), "a\"b\\c\nd\xffe")
	if err := os.Link(filepath.Join(bin, "ignore_term"), path); err != nil {
		if err := run("cp", filepath.Join(bin, "ignore_term"), path); err != nil {
			t.Fatal(err)
		}
	}
	r := start(t, "graced", "--grace", "3s", "--", path)
	r.prints(t, "^ready", 10*time.Second)
	if n := len(r.series(t)); n == 0 || n > 60 {
		t.Errorf("%d series, want 1 to 60", n)
	}
	r.signal(t, 15)
	r.series(t)
	r.exits(t, 137, 10*time.Second)
	for _, e := range r.log() {
		if e.field("event") == "" {
			t.Errorf("a line without an event: %v", e)
		}
	}
	r.logsExactly(t, 1, "event=shutdown_end")
}

// Every metric of the contract is there, under its name.
func TestMetricsHaveTheirNames(t *testing.T) {
	t.Parallel()
	sandbox(t)
	r := start(t, "graced", "--grace", "3s", "--", "ignore_term")
	r.prints(t, "^ready", 10*time.Second)
	r.signal(t, 1)
	r.signal(t, 15)
	r.answers(t, "/readyz", 503, time.Second)
	r.prints(t, "^got 15", 5*time.Second)
	have := map[string]bool{}
	for _, s := range r.series(t) {
		name, _, _ := strings.Cut(s, "{")
		have[name] = true
	}
	for _, name := range strings.Fields(`graced_build_info graced_ready graced_draining graced_grace_seconds graced_budget_seconds
		graced_shutdown_remaining_seconds graced_phase graced_phase_duration_seconds graced_signals_received_total
		graced_signals_forwarded_total graced_orphans_reaped_total graced_process_up graced_process_start_time_seconds
		graced_log_lines_dropped_total`) {
		if !have[name] {
			t.Errorf("%s is missing", name)
		}
	}
}
