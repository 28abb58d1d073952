package metrics

import "github.com/prometheus/client_golang/prometheus"

// series describes every metric of graced. Names follow
// https://prometheus.io/docs/practices/naming: base units, counters end with
// _total.
type series struct {
	buildInfo, ready, draining, grace, budget, remaining *prometheus.Desc
	phase, phaseDuration, overruns, overshoot            *prometheus.Desc
	kills, received, forwarded, orphans                  *prometheus.Desc
	up, restarts, startTime, exitCode                    *prometheus.Desc
	probeUp, probeFailures                               *prometheus.Desc
	connections, hookDuration, announcements, dropped    *prometheus.Desc

	all []*prometheus.Desc
}

func newSeries() *series {
	s := new(series)
	d := func(name, help string, labels ...string) *prometheus.Desc {
		desc := prometheus.NewDesc("graced_"+name, help, labels, nil)
		s.all = append(s.all, desc)
		return desc
	}
	s.buildInfo = d("build_info", "Always 1; the label has the version of graced.", "version")
	s.ready = d("ready", "Whether readiness is answered with 200.")
	s.draining = d("draining", "Whether graced leaves rotation: a drain or a shutdown has begun.")
	s.grace = d("grace_seconds", "The time from the platform's stop signal to its SIGKILL.")
	s.budget = d("budget_seconds", "The part of the grace in which graced ends everything and itself.")
	s.remaining = d("shutdown_remaining_seconds", "What is left of the budget in a shutdown; 0 without one.")

	s.phase = d("phase", "1 for the phase that graced is in, 0 for the others.", "phase")
	s.phaseDuration = d("phase_duration_seconds", "How long a phase of the shutdown took, or has taken so far.", "phase")
	s.overruns = d("deadline_overruns_total", "How often something was still going at its deadline.", "phase")
	s.overshoot = d("deadline_overshoot_seconds", "By how much a deadline was exceeded last; 0 if none was.", "phase")

	s.kills = d("kills_total", "Processes that graced ended with SIGKILL.", "process")
	s.received = d("signals_received_total", "Signals that graced received.", "signal")
	s.forwarded = d("signals_forwarded_total", "Signals that graced passed on.", "process", "signal")
	s.orphans = d("orphans_reaped_total", "Processes without a parent that graced reaped.")

	s.up = d("process_up", "Whether the process runs.", "process")
	s.restarts = d("process_restarts_total", "How often the process was started anew.", "process")
	s.startTime = d("process_start_time_seconds", "When the process was started last, in seconds since the epoch.", "process")
	s.exitCode = d("process_exit_code", "The process's last exit code, 128+N for signal N.", "process")

	s.probeUp = d("probe_up", "Whether the probe passes, by its rise and fall.", "process", "probe")
	s.probeFailures = d("probe_failures_total", "How often the probe failed.", "process", "probe")

	s.connections = d("connections", "Inbound TCP connections of the processes; busy ones have a request in flight.", "state")
	s.hookDuration = d("hook_duration_seconds", "How long the hook took last.", "hook")
	s.announcements = d("announcements_total", "Announcements of readiness to the outside.", "announce", "result")
	s.dropped = d("log_lines_dropped_total", "Log lines that nobody took in time.")
	return s
}
