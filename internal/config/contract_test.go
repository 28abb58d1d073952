package config

import (
	"os"
	"os/exec"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"graced/internal/plan"
	"graced/signals"
)

// contract reads the contract's own block.
func contract(t *testing.T) *Config {
	t.Helper()
	src, err := os.ReadFile("testdata/contract.hcl")
	if err != nil {
		t.Fatal(err)
	}
	in := named("/etc/app/graced.hcl", string(src))
	in.Environ = []string{"LB_TOKEN=hunter2", "TZ="}
	return load(t, in)
}

// TestContract compares the whole of what the contract's block says, but for
// where it says it.
func TestContract(t *testing.T) {
	c := contract(t)
	s := c.Spec
	kubernetes, _ := plan.PlatformByName("kubernetes")
	got := []any{
		s.Platform, s.Grace.V, s.GraceSpent.V, s.Margin.V, s.Cleanup.V,
		s.Delay.V, s.Drain.V, s.DrainMax.V, s.Quiet.V, s.Unsure.V, s.Ports.V,
		s.Stops.V, s.Repeat.V, s.ExitCodes.V,
		c.Listen.V, c.ReadyPaths, c.LivePaths, c.StartupPaths, c.MetricsPath, c.MetricsTextfile, c.MetricsPush,
		c.Socket.V, c.Report.V, c.LogFormat.V, c.LogLevel.V.String(), c.File,
	}
	want := []any{
		kubernetes, 30 * time.Second, time.Duration(0), 2 * time.Second, 2 * time.Second,
		plan.Delay{For: 5 * time.Second}, plan.DrainIdle, 10 * time.Second, 2 * time.Second, 5 * time.Second, []uint16{8080},
		[]syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, signals.RTMin + 3}, plan.RepeatIgnore,
		[]plan.ExitCode{{From: 143}, {Stopped: true}},
		":8990", []string{"/readyz", "/healthz"}, []string{"/livez"}, []string{"/startupz"}, "/metrics", "", "",
		"/run/graced.sock", "/dev/termination-log", "json", "INFO", "/etc/app/graced.hcl",
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("value %d is %v, want %v", i, got[i], want[i])
		}
	}
	processes := []plan.Process{
		{Name: "php", Command: []string{"php-fpm", "-F"}, Ladder: ladderOf(plan.Rung{Signal: syscall.SIGQUIT, Wait: time.Second})},
		{Name: "web", Command: []string{"nginx", "-g", "daemon off;"}, After: []string{"php"}, Main: true,
			Env: []string{"TZ="}, Dir: "/srv", User: "www-data", Group: "www-data",
			Target:  plan.Setting[plan.Target]{V: plan.TargetProcess},
			Rewrite: signals.Rewrite{syscall.SIGUSR2: 0},
			Ladder:  ladderOf(plan.Rung{Signal: syscall.SIGQUIT, Wait: 8 * time.Second}, plan.Rung{Signal: syscall.SIGTERM, Wait: 2 * time.Second})},
	}
	if got := withoutSources(s.Processes); !reflect.DeepEqual(got, processes) {
		t.Errorf("the processes are\n%+v, want\n%+v", got, processes)
	}
	hooks := []plan.Hook{
		{Name: "migrate", At: plan.PreStart, Command: []string{"./migrate"}, Timeout: time.Minute},
		{Name: "flush", At: plan.PostStop, Command: []string{"./flush"}, Timeout: time.Second},
	}
	for i := range s.Hooks {
		s.Hooks[i].Source, s.Hooks[i].TimeoutFrom = plan.Source{}, plan.Source{}
	}
	if !reflect.DeepEqual(s.Hooks, hooks) {
		t.Errorf("the hooks are %+v", s.Hooks)
	}
}

func ladderOf(rungs ...plan.Rung) plan.Setting[[]plan.Rung] {
	return plan.Setting[[]plan.Rung]{V: rungs}
}

func withoutSources(processes []plan.Process) []plan.Process {
	list := append([]plan.Process(nil), processes...)
	for i := range list {
		p := &list[i]
		p.Source, p.Target.From, p.Ladder.From = plan.Source{}, plan.Source{}, plan.Source{}
		p.Ladder.V = append([]plan.Rung(nil), p.Ladder.V...)
		for j := range p.Ladder.V {
			p.Ladder.V[j].Source = plan.Source{}
		}
	}
	return list
}

// TestContractPlan: that file's plan is 28s of 30 − 2.
func TestContractPlan(t *testing.T) {
	p, err := plan.New(contract(t).Spec)
	if err != nil {
		t.Fatal(err)
	}
	if p.Budget != 28*time.Second || p.KillAt != 26*time.Second {
		t.Errorf("budget %v, kill at %v", p.Budget, p.KillAt)
	}
}

// TestSources: each value knows its line and column.
func TestSources(t *testing.T) {
	c := contract(t)
	for _, want := range []struct {
		from  plan.Source
		name  string
		where string
	}{
		{c.Spec.Grace.From, "grace", "/etc/app/graced.hcl:2,15"},
		{c.Spec.Delay.From, "shutdown.delay", "/etc/app/graced.hcl:9,13"},
		{c.Spec.DrainMax.From, "shutdown.drain.max", "/etc/app/graced.hcl:14,14"},
		{c.Spec.Processes[1].Ladder.V[0].Source, "process.web.stop.SIGQUIT.wait", "/etc/app/graced.hcl:38,27"},
		{c.Spec.Hooks[1].Source, "hook.flush", "/etc/app/graced.hcl:74,1"},
	} {
		if want.from.Name != want.name || Where(want.from) != want.where {
			t.Errorf("%s is at %s, want %s at %s", want.from.Name, Where(want.from), want.name, want.where)
		}
	}
}

// TestNoHeavyImports: gohcl would pull in go-cmp, which costs 0.45 ms of every start.
func TestNoHeavyImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Skip("no go command here")
	}
	for _, heavy := range []string{"github.com/google/go-cmp/cmp", "github.com/hashicorp/hcl/v2/gohcl", "net/http", "os/exec", "os/signal"} {
		for line := range strings.Lines(string(out)) {
			if strings.TrimSpace(line) == heavy {
				t.Errorf("config imports %s", heavy)
			}
		}
	}
}
