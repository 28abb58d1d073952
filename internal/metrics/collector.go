package metrics

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"graced/internal/record"
)

// collector turns what a Source says into metrics, anew at each scrape.
type collector struct {
	source Source
	*series
}

func newCollector(source Source) *collector { return &collector{source, newSeries()} }

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.all {
		ch <- d
	}
}

// Collect implements prometheus.Collector. Which series there are depends on
// the plan and on how far the shutdown is, never on what the processes, their
// descendants or clients do: a page must not grow while they misbehave.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	e := emitter{c.series, ch}
	e.gauge(c.buildInfo, 1, valid(c.source.Version))
	if c.source.Orphans != nil {
		e.counter(c.orphans, c.source.Orphans())
	}
	if c.source.Dropped != nil {
		e.counter(c.dropped, c.source.Dropped())
	}
	var s *record.Snapshot
	if c.source.Snapshot != nil {
		s = c.source.Snapshot()
	}
	e.connections(c.connectionsNow(s))
	if s == nil {
		return
	}
	now := time.Now()
	e.state(s, now)
	e.phases(s, now)
	e.processes(s)
	e.totals(s)
}

// connectionsNow are those of a look for this page: the drain's own counts would
// be of the last time that it looked, and count as busy what it only waits for to
// be sure. They serve where nobody looks.
func (c *collector) connectionsNow(s *record.Snapshot) record.Connections {
	switch {
	case c.source.Connections != nil:
		return c.source.Connections()
	case s != nil:
		return s.Connections
	}
	return record.Connections{}
}

// emitter sends the metrics of one scrape.
type emitter struct {
	*series
	ch chan<- prometheus.Metric
}

func (e emitter) state(s *record.Snapshot, now time.Time) {
	e.flag(e.ready, s.Ready)
	e.flag(e.draining, !s.NotReadySince.IsZero())
	e.gauge(e.grace, s.Grace.Seconds())
	e.gauge(e.budget, s.Budget.Seconds())
	e.gauge(e.remaining, s.Remaining(now).Seconds())
}

func (e emitter) phases(s *record.Snapshot, now time.Time) {
	took := make(map[record.Phase]time.Duration)
	for _, p := range s.Phases {
		end := p.End
		if end.IsZero() {
			end = now
		}
		took[p.Phase] += max(0, end.Sub(p.Start))
	}
	for _, phase := range record.Phases {
		e.flag(e.phase, s.Phase == phase, string(phase))
		if d, begun := took[phase]; begun {
			e.gauge(e.phaseDuration, d.Seconds(), string(phase))
		}
	}
}

func (e emitter) processes(s *record.Snapshot) {
	names := newNames(s)
	for _, p := range s.Processes {
		name := names.label(p.Name)
		e.flag(e.up, p.PID != 0 && !p.Exited, name)
		e.counter(e.restarts, p.Restarts, name)
		if !p.Started.IsZero() {
			e.gauge(e.startTime, float64(p.Started.UnixMilli())/1000, name)
		}
		if p.Exited || p.Restarts > 0 {
			e.gauge(e.exitCode, float64(p.Code), name)
		}
		for _, probe := range p.Probes {
			e.flag(e.probeUp, probe.Up, name, valid(probe.Name))
			e.counter(e.probeFailures, probe.Failures, name, valid(probe.Name))
		}
	}
	kills := names.zero()
	for process, n := range s.Totals.Kills {
		kills[names.label(process)] += n
	}
	for process, n := range kills {
		e.counter(e.kills, n, process)
	}
	type key struct{ process, signal string }
	forwarded := make(map[key]uint64)
	for process := range names.zero() {
		for _, signal := range forwardedSignals {
			forwarded[key{process, signal}] = 0
		}
	}
	for f, n := range s.Totals.SignalsForwarded {
		forwarded[key{names.label(f.Process), known(f.Signal, forwardedSignals)}] += n
	}
	for k, n := range forwarded {
		e.counter(e.forwarded, n, k.process, k.signal)
	}
}

func (e emitter) totals(s *record.Snapshot) {
	received := make(map[string]uint64)
	for _, signal := range receivedSignals {
		received[signal] = 0
	}
	for signal, n := range s.Totals.SignalsReceived {
		received[known(signal, receivedSignals)] += n
	}
	for signal, n := range received {
		e.counter(e.received, n, signal)
	}

	overruns := make(map[string]record.Overshoot)
	for _, phase := range deadlinePhases {
		overruns[phase] = record.Overshoot{}
	}
	for phase, o := range s.Totals.Overruns {
		phase = known(phase, deadlinePhases)
		sum := overruns[phase]
		overruns[phase] = record.Overshoot{Count: sum.Count + o.Count, Last: max(sum.Last, o.Last)}
	}
	for phase, o := range overruns {
		e.counter(e.overruns, o.Count, phase)
		e.gauge(e.overshoot, o.Last.Seconds(), phase)
	}

	var seen labels
	for _, hook := range slices.Sorted(maps.Keys(s.Totals.Hooks)) {
		e.gauge(e.hookDuration, s.Totals.Hooks[hook].Took.Seconds(), seen.label(hook))
	}
	seen = labels{}
	byName := func(a, b record.Announced) int {
		return cmp.Or(cmp.Compare(a.Announce, b.Announce), cmp.Compare(a.Result, b.Result))
	}
	for _, a := range slices.SortedFunc(maps.Keys(s.Totals.Announcements), byName) {
		e.counter(e.announcements, s.Totals.Announcements[a], seen.label(a.Announce), valid(a.Result))
	}
}

func (e emitter) connections(c record.Connections) {
	if !c.Known {
		return // 0 would be a claim
	}
	e.gauge(e.series.connections, float64(c.Busy), "busy")
	e.gauge(e.series.connections, float64(c.Idle), "idle")
	e.gauge(e.series.connections, float64(c.CloseWait), "close_wait")
	e.gauge(e.series.connections, float64(c.Unaccepted), "unaccepted")
}

func (e emitter) flag(d *prometheus.Desc, v bool, labels ...string) {
	value := 0.0
	if v {
		value = 1
	}
	e.gauge(d, value, labels...)
}

func (e emitter) gauge(d *prometheus.Desc, v float64, labels ...string) {
	e.send(d, prometheus.GaugeValue, v, labels)
}

func (e emitter) counter(d *prometheus.Desc, n uint64, labels ...string) {
	e.send(d, prometheus.CounterValue, float64(n), labels)
}

func (e emitter) send(d *prometheus.Desc, t prometheus.ValueType, v float64, labels []string) {
	m, err := prometheus.NewConstMetric(d, t, v, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	e.ch <- m
}
