package supervisor

import (
	"log/slog"
	"syscall"
	"testing"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
	"graced/signals"
)

// TestCodes is the contract's order of exit codes, and what maps them.
func TestCodes(t *testing.T) {
	exact := func(from, to int) plan.ExitCode { return plan.ExitCode{From: from, To: to} }
	asTold := plan.ExitCode{Stopped: true, To: 0}
	end := func(r *rig) *rig { return r.left().step(Event{Kind: Looked}) }
	tests := []struct {
		name  string
		codes []plan.ExitCode
		run   func(t *testing.T, p *plan.Plan) *rig
		want  int
	}{
		{"its own", nil, func(t *testing.T, p *plan.Plan) *rig { return end(up(t, p).exited("app", 42)) }, 42},
		{"its own after a stop", nil, func(t *testing.T, p *plan.Plan) *rig { return end(stopped(t, p).exited("app", 0)) }, 0},
		{"a signal", nil, func(t *testing.T, p *plan.Plan) *rig { return end(up(t, p).died("app", syscall.SIGSEGV)) }, 139},
		{"a real-time signal", nil, func(t *testing.T, p *plan.Plan) *rig { return end(up(t, p).died("app", 36)) }, 164},
		{"the stop signal", nil, func(t *testing.T, p *plan.Plan) *rig { return end(stopped(t, p).died("app", term)) }, 143},
		{"an exact one is mapped", []plan.ExitCode{exact(143, 0)}, func(t *testing.T, p *plan.Plan) *rig { return end(stopped(t, p).died("app", term)) }, 0},
		{"another is not", []plan.ExitCode{exact(143, 0)}, func(t *testing.T, p *plan.Plan) *rig { return end(stopped(t, p).exited("app", 1)) }, 1},
		{"it is mapped once", []plan.ExitCode{exact(1, 2), exact(2, 3)}, func(t *testing.T, p *plan.Plan) *rig { return end(up(t, p).exited("app", 1)) }, 2},
		{"stopped", []plan.ExitCode{asTold}, func(t *testing.T, p *plan.Plan) *rig { return end(stopped(t, p).died("app", term)) }, 0},
		{"stopped, by an exit with the same code", []plan.ExitCode{asTold}, func(t *testing.T, p *plan.Plan) *rig { return end(stopped(t, p).exited("app", 143)) }, 0},
		{"an exact number comes first", []plan.ExitCode{asTold, exact(143, 9)}, func(t *testing.T, p *plan.Plan) *rig { return end(stopped(t, p).died("app", term)) }, 9},
		{"stopped by another signal", []plan.ExitCode{asTold}, func(t *testing.T, p *plan.Plan) *rig { return end(stopped(t, p).died("app", quit)) }, 131},
		{"stopped by nobody", []plan.ExitCode{asTold}, func(t *testing.T, p *plan.Plan) *rig { return end(up(t, p).died("app", term)) }, 143},
		{"killed is not stopped", []plan.ExitCode{asTold}, func(t *testing.T, p *plan.Plan) *rig {
			return stopped(t, p).at(planKillAt).died("app", syscall.SIGKILL).left()
		}, 137},
		{"killed can be mapped by its number", []plan.ExitCode{exact(137, 3)}, func(t *testing.T, p *plan.Plan) *rig {
			return stopped(t, p).at(planKillAt).died("app", syscall.SIGKILL).left()
		}, 3},
		{"it could not be killed", nil, func(t *testing.T, p *plan.Plan) *rig { return stopped(t, p).at(planKillAt * 2) }, 137},
		{"nothing was started: a stop signal", nil, func(t *testing.T, p *plan.Plan) *rig {
			return newRig(t, p).signal(intr).step(Event{Kind: Listeners}).at(planKillAt * 2)
		}, 130},
		{"and it is mapped", []plan.ExitCode{exact(143, 0)}, func(t *testing.T, p *plan.Plan) *rig {
			return newRig(t, p).signal(term).step(Event{Kind: Listeners}).at(planKillAt * 2)
		}, 0},
		{"but it was not stopped", []plan.ExitCode{asTold}, func(t *testing.T, p *plan.Plan) *rig {
			return newRig(t, p).signal(term).step(Event{Kind: Listeners}).at(planKillAt * 2)
		}, 143},
		{"systemd's stop signal", nil, func(t *testing.T, p *plan.Plan) *rig {
			return newRig(t, p).signal(signals.RTMin + 3).step(Event{Kind: Listeners}).at(planKillAt * 2)
		}, 165},
		{"its end in the drain's place", nil, func(t *testing.T, p *plan.Plan) *rig {
			return end(up(t, p).signal(term).exited("app", 5))
		}, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, makePlan(t, "app", codes(tt.codes...))).over(tt.want) })
	}
}

// TestCoreIsTold: whoever looks for a core learns whether there is one.
func TestCoreIsTold(t *testing.T) {
	for _, core := range []bool{true, false} {
		r := up(t, makePlan(t, "app")).step(Event{Kind: Exited, Code: 139, Killed: syscall.SIGSEGV, Core: core})
		told := 0
		for _, e := range r.emits {
			for _, a := range e.Attrs {
				if e.Kind == record.ProcessExit && e.Signal == "SIGSEGV" && a.Key == "core" && a.Value.Bool() == core {
					told++
				}
			}
		}
		if told != 1 {
			t.Errorf("a core was written: %t; told %d times", core, told)
		}
	}
}

// TestReport: what is written at t0 and at the end.
func TestReport(t *testing.T) {
	r := stopped(t, makePlan(t, "db web<db", ladder("web", "SIGQUIT:2s")))
	first := r.m.report(r.now)
	if first.Done || first.Cause != "SIGTERM" || first.GraceFrom != "--flag" || len(first.Processes) != 0 {
		t.Errorf("the first report is %+v", first)
	}
	r.at(2_000_000_000).died("web", syscall.SIGKILL).at(3_000_000_000).died("db", term).left().step(Event{Kind: Looked}).over(137)
	last := r.m.report(r.now)
	want := []record.ReportProcess{{Name: "db", Code: 143, Signal: "SIGTERM", Took: 3_000_000_000}, {Name: "web", Code: 137, Signal: "SIGKILL", Took: 2_000_000_000}}
	if !last.Done || last.Code != 137 || last.Killed != 1 || len(last.Overruns) != 1 || len(last.Processes) != 2 || last.Processes[0] != want[0] || last.Processes[1] != want[1] {
		t.Errorf("the last report is %+v", last)
	}
	var phases []string
	for _, p := range last.Phases {
		phases = append(phases, string(p.Phase)+" "+p.Took.String())
	}
	if got := len(phases); got != 5 || phases[2] != "stop 3s" {
		t.Errorf("phases %q", phases)
	}
}

// TestAssumedGrace is called so where a person looks for why.
func TestAssumedGrace(t *testing.T) {
	assumed := func(s *plan.Spec) { s.Grace = plan.Setting[time.Duration]{} }
	r := stopped(t, makePlan(t, "app", assumed)).at(planKillAt)
	for _, kind := range []record.Kind{record.ShutdownStart, record.Kill} {
		for _, e := range r.emits {
			if e.Kind != kind || e.Level == slog.LevelError {
				continue
			}
			found := false
			for _, a := range e.Attrs {
				found = found || a.Key == "grace" && a.Value.String() == "10s (assumed; --grace sets it)"
			}
			if !found {
				t.Errorf("%s says %v", kind, e.Attrs)
			}
		}
	}
	if from := r.m.report(r.now).GraceFrom; from != "assumed, docker" {
		t.Errorf("the report says %q", from)
	}
}
