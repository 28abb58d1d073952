package supervisor

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"graced/internal/plan"
	"graced/signals"
)

const (
	term = syscall.SIGTERM
	intr = syscall.SIGINT
	quit = syscall.SIGQUIT
	usr1 = syscall.SIGUSR1
	usr2 = syscall.SIGUSR2
	hup  = syscall.SIGHUP
)

var errTest = errors.New("test")

var flagged = plan.Source{Kind: plan.ByFlag, Name: "--flag"}

func given[T any](v T) plan.Setting[T] { return plan.Given(v, flagged) }

// spec changes a plan for a test.
type spec func(*plan.Spec)

// grace is 20s with 2s of margin and 2s of cleanup: kill_at is 16s.
const planKillAt = 16 * time.Second

// makePlan plans processes by their names; "web<php" starts after php. Delay and
// drain are off unless a spec sets them.
func makePlan(t testing.TB, procs string, specs ...spec) *plan.Plan {
	t.Helper()
	s := plan.Spec{
		Grace: given(20 * time.Second), Margin: given(2 * time.Second), Cleanup: given(2 * time.Second),
		Delay: given(plan.Delay{}), Drain: given(plan.DrainOff),
	}
	s.Platform, _ = plan.PlatformByName("docker")
	for _, word := range strings.Fields(procs) {
		name, after, _ := strings.Cut(word, "<")
		p := plan.Process{Name: name, Command: []string{name}}
		if after != "" {
			p.After = strings.Split(after, ",")
		}
		s.Processes = append(s.Processes, p)
	}
	for _, change := range specs {
		change(&s)
	}
	p, err := plan.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func delay(d time.Duration) spec { return func(s *plan.Spec) { s.Delay = given(plan.Delay{For: d}) } }

func autoDelay(s *plan.Spec) { s.Delay = plan.Setting[plan.Delay]{} }

// presetDelay is that of kubernetes and ecs.
func presetDelay(d time.Duration) spec {
	return func(s *plan.Spec) {
		s.Delay = plan.Given(plan.Delay{For: d}, plan.Source{Kind: plan.ByPreset, Name: "kubernetes"})
	}
}

func drain(until plan.Drain, most time.Duration) spec {
	return func(s *plan.Spec) { s.Drain, s.DrainMax = given(until), given(most) }
}

func escalate(s *plan.Spec) { s.Repeat = given(plan.RepeatEscalate) }

func platform(name string) spec {
	return func(s *plan.Spec) { s.Platform, _ = plan.PlatformByName(name) }
}

// ladder sets that of a process: "SIGQUIT:8s,SIGTERM:2s"; a rung without a wait is open.
func ladder(name, rungs string) spec {
	return proc(name, func(p *plan.Process) {
		var list []plan.Rung
		for rung := range strings.SplitSeq(rungs, ",") {
			sig, wait, timed := strings.Cut(rung, ":")
			d, _ := time.ParseDuration(wait)
			n, err := signals.Parse(sig)
			if err != nil {
				panic(err)
			}
			list = append(list, plan.Rung{Signal: n, Wait: d, Open: !timed})
		}
		p.Ladder = given(list)
	})
}

func proc(name string, change func(*plan.Process)) spec {
	return func(s *plan.Spec) {
		for i := range s.Processes {
			if s.Processes[i].Name == name {
				change(&s.Processes[i])
			}
		}
	}
}

func ready(name string, how plan.Ready) spec {
	return proc(name, func(p *plan.Process) { p.Ready = given(how) })
}

func hookAt(at plan.Point, name string, timeout time.Duration) spec {
	return func(s *plan.Spec) {
		s.Hooks = append(s.Hooks, plan.Hook{Name: name, At: at, Command: []string{name}, Timeout: timeout})
	}
}

func codes(list ...plan.ExitCode) spec {
	return func(s *plan.Spec) { s.ExitCodes = given(list) }
}
