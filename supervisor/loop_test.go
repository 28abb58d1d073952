package supervisor

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
	"graced/signals"
)

// TestTimeline walks the contract's example to the millisecond: 5 + 10 + 8 + 2
// (web) + 1 (php) + 2 (cleanup), with everything as slow as it may be.
func TestTimeline(t *testing.T) {
	example := func(t *testing.T) *plan.Plan {
		return makePlan(t, "php web<php", func(s *plan.Spec) {
			s.Grace = given(30 * time.Second)
		}, delay(5*time.Second), drain(plan.DrainIdle, 10*time.Second), ladder("php", "SIGQUIT:1s"), ladder("web", "SIGQUIT:8s,SIGTERM:2s"), hookAt(plan.PostStop, "flush", time.Second))
	}
	t.Run("at its latest", func(t *testing.T) {
		k, _ := run(t, example(t), nil, stopAt(time.Second), busy(time.Hour))
		k.want("0 spawn php", "0 spawn web", "16000 SIGQUIT web", "24000 SIGTERM web", "26000 SIGKILL web", "26000 SIGQUIT php",
			"27000 SIGKILL php", "27000 kill all", "27000 hook flush", "27100 exit 137")
		if got := k.overruns(); !slices.Equal(got, []string{"drain at 15s late 0s", "web at 25s late 0s", "php at 26s late 0s"}) {
			t.Errorf("overruns %q", got)
		}
	})
	t.Run("at its earliest: only the delay was set", func(t *testing.T) {
		k, _ := run(t, example(t), map[string]behaviour{"web": obeys(0), "php": obeys(0)}, stopAt(time.Second))
		k.want("0 spawn php", "0 spawn web", "6000 SIGQUIT web", "6000 SIGQUIT php", "6000 hook flush", "6100 exit 131")
	})
	t.Run("each a while", func(t *testing.T) {
		k, _ := run(t, example(t), map[string]behaviour{"web": {on: map[syscall.Signal]time.Duration{term: 1500 * time.Millisecond}}, "php": obeys(300 * time.Millisecond)},
			stopAt(time.Second), busy(8*time.Second))
		k.want("0 spawn php", "0 spawn web", "8000 SIGQUIT web", "16000 SIGTERM web", "17500 SIGQUIT php", "17800 hook flush", "17900 exit 143")
		if got := k.overruns(); len(got) != 0 {
			t.Errorf("overruns %q", got)
		}
	})
}

// TestJob: a job that ends takes no time and says nothing.
func TestJob(t *testing.T) {
	k, _ := run(t, makePlan(t, "job"), map[string]behaviour{"job": {life: 1234 * time.Millisecond, code: 42}}, nil)
	k.want("0 spawn job", "1234 exit 42")
	for _, e := range k.log {
		if e.Level >= 0 {
			t.Errorf("the log shows %s %q", e.Kind, e.Msg)
		}
	}
}

// TestLoopStall: the loop gets no CPU for 30s. Then it goes straight to what is
// due, and says how late.
func TestLoopStall(t *testing.T) {
	stall := func(length time.Duration, here func(Action) bool) func(*kernel) {
		return func(k *kernel) {
			once := false
			k.before = func(a Action) {
				if here(a) && !once {
					once = true
					time.Sleep(length)
				}
			}
		}
	}
	p := makePlan(t, "app", delay(time.Second), drain(plan.DrainIdle, 3*time.Second))
	t.Run("in the drain", func(t *testing.T) {
		k, _ := run(t, p, nil, stopAt(time.Second), busy(time.Hour), stall(30*time.Second, func(a Action) bool { return a.Kind == Inspect }))
		k.want("0 spawn app", "32000 SIGKILL app", "32000 kill all", "32000 exit 137")
		if got := k.overruns(); !slices.Equal(got, []string{"app at 16s late 15s"}) {
			t.Errorf("overruns %q", got)
		}
	})
	t.Run("as the first signal is sent, and the program obeys meanwhile", func(t *testing.T) {
		for range 20 { // select takes any of what is ready
			k, _ := run(t, makePlan(t, "app"), map[string]behaviour{"app": {on: map[syscall.Signal]time.Duration{term: time.Second}}},
				stopAt(time.Second), stall(30*time.Second, func(a Action) bool { return a.Kind == Signal && a.Signal == syscall.SIGCONT }))
			k.want("0 spawn app", "1000 SIGTERM app", "31000 exit 143")
			// it ended in time; graced did not
			if got := k.overruns(); !slices.Equal(got, []string{"exit at 18s late 12s"}) {
				t.Errorf("overruns %q", got)
			}
		}
	})
	t.Run("3s are made up for", func(t *testing.T) {
		k, _ := run(t, makePlan(t, "app", delay(5*time.Second)), map[string]behaviour{"app": obeys(time.Second)},
			stopAt(time.Second), stall(3*time.Second, func(a Action) bool { return a.Kind == FindListeners }))
		k.want("0 spawn app", "6000 SIGTERM app", "7000 exit 143")
	})
}

// TestDeadlinesFirst: whatever else comes after a stall, what is due comes first.
func TestDeadlinesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := boot(t, makePlan(t, "app"), nil)
		m := newMachine(k.loop.Plan, time.Now())
		k.loop.carryOut(m, m.launch(time.Now()))
		time.Sleep(time.Second)
		k.loop.children(m)
		k.loop.take(m, Event{Kind: Caught, Signal: term, Stop: true})
		time.Sleep(30 * time.Second)
		k.loop.take(m, Event{Kind: Listeners}) // what it would have waited for
		if k.want("0 spawn app", "31000 SIGKILL app", "31000 kill all"); m.phase != record.Killing {
			t.Errorf("the phase is %s", m.phase)
		}
	})
}

// TestDeadlinesAreMonotonic: no deadline moves when the clock is set. It is the
// machine that is walked through its phases: a bubble of synctest has no
// monotonic time.
func TestDeadlinesAreMonotonic(t *testing.T) {
	p := makePlan(t, "db app<db", delay(2*time.Second), drain(plan.DrainIdle, 2*time.Second), ladder("app", "SIGQUIT:2s,SIGTERM:1s"),
		hookAt(plan.PreStop, "away", 3*time.Second), hookAt(plan.PostStop, "flush", time.Second))
	r := rigAt(t, p, time.Now())
	seen, checked := map[record.Phase]bool{}, 0
	check := func() {
		t.Helper()
		seen[r.m.phase] = true
		times := map[string]time.Time{
			"t0": r.m.t0, "deadline": r.m.deadline, "kill_at": r.m.killAt, "tidy": r.m.tidy, "next": r.m.next(),
			"front.due": r.m.front.due, "front.next": r.m.front.next, "rest.due": r.m.rest.due, "rest.next": r.m.rest.next,
			"kill.due": r.m.kill.due, "kill.next": r.m.kill.next,
		}
		for i := range r.m.procs {
			times[r.m.procs[i].Name] = r.m.procs[i].due
		}
		for i := range r.m.hooks {
			times[r.m.hooks[i].Name] = r.m.hooks[i].due
		}
		for name, at := range times {
			if at.IsZero() {
				continue
			}
			if checked++; !strings.Contains(at.String(), " m=") {
				t.Errorf("in %s %s is %v, without a monotonic time", r.m.phase, name, at)
			}
		}
	}
	check()
	r.spawned("db").spawned("app")
	check()
	r.signal(term).step(Event{Kind: Listeners, Found: true}).hookStarted("away")
	for i := 1; i <= 200 && !r.m.done; i++ {
		check()
		r.at(time.Duration(i) * 100 * time.Millisecond)
		switch r.m.phase {
		case record.Drain:
			r.look(1)
		case record.Rest, record.Killing:
			r.left(300)
		}
		switch {
		case i == 120:
			r.exited("app", 0)
		case i == 130:
			r.exited("db", 0)
		}
	}
	for _, phase := range []record.Phase{record.Starting, record.Delay, record.Drain, record.Stop, record.Rest, record.Killing} {
		if !seen[phase] {
			t.Errorf("it was never in %s", phase)
		}
	}
	if checked < 500 {
		t.Errorf("only %d times were looked at", checked)
	}
}

// TestFlood: 10,000 events and signals change no deadline.
func TestFlood(t *testing.T) {
	p := makePlan(t, "app", delay(time.Second), drain(plan.DrainIdle, 2*time.Second))
	k, _ := run(t, p, nil, func(k *kernel) {
		k.send(time.Second, term)
		for i := range 10_000 {
			switch i % 4 {
			case 0:
				k.send(0, usr1, term, hup)
			case 1:
				k.inbox(Event{Kind: Told})
			case 2:
				k.inbox(Event{Kind: Looked, Look: Look{}})
			case 3:
				poke(k.children)
			}
			time.Sleep(2 * time.Millisecond)
		}
	}, busy(time.Hour))
	var own []string
	for _, line := range k.told {
		if !strings.HasSuffix(line, "SIGUSR1 app") && !strings.HasSuffix(line, "SIGHUP app") {
			own = append(own, line)
		}
	}
	k.told = own
	k.want("0 spawn app", "4000 SIGTERM app", "17000 SIGKILL app", "17000 kill all", "17000 exit 137")
}

// TestSignalsInOneBatch: what came with a stop signal is delivered before it.
func TestSignalsInOneBatch(t *testing.T) {
	k, _ := run(t, makePlan(t, "app"), map[string]behaviour{"app": obeys(0)}, func(k *kernel) { k.send(time.Second, term, hup, usr2) })
	k.want("0 spawn app", "1000 SIGHUP app", "1000 SIGUSR2 app", "1000 SIGTERM app", "1000 exit 143")
	k, _ = run(t, makePlan(t, "app", escalate, ladder("app", "SIGINT:5s,SIGTERM:5s")), map[string]behaviour{"app": {on: map[syscall.Signal]time.Duration{term: 0}}}, func(k *kernel) {
		k.send(time.Second, term)
		k.send(2*time.Second, term, hup)
	})
	k.want("0 spawn app", "1000 SIGINT app", "2000 SIGHUP app", "2000 SIGTERM app", "2000 exit 143")
}

// TestWhoseStop: by what the processes are, a signal is a stop or is passed on.
func TestWhoseStop(t *testing.T) {
	id := func(exe string, terminal bool) behaviour {
		return behaviour{life: 3 * time.Second, id: plan.Identity{Exe: exe, Comm: exe, Terminal: terminal}}
	}
	winch := syscall.SIGWINCH
	tests := []struct {
		name       string
		side, main behaviour
		sig        syscall.Signal
		stop       bool
	}{
		{"any other", id("sh", false), id("node", false), quit, true},
		{"java: a thread dump", id("sh", false), id("java", false), quit, false},
		{"java beside it", id("java", false), id("node", false), quit, true},
		{"httpd", id("sh", false), id("httpd", false), winch, true},
		{"httpd with a terminal: a resize", id("sh", false), id("httpd", true), winch, false},
		{"httpd beside it", id("httpd", false), id("node", false), winch, true},
		{"httpd beside what holds the terminal: a resize", id("httpd", false), id("node", true), winch, false},
		{"nobody's", id("sh", false), id("node", false), winch, false},
		{"haproxy", id("sh", false), id("haproxy", false), usr1, true},
		{"no haproxy", id("sh", false), id("node", false), usr1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k, _ := run(t, makePlan(t, "side main"), map[string]behaviour{"side": tt.side, "main": tt.main}, func(k *kernel) { k.send(time.Second, tt.sig) })
			stop := slices.ContainsFunc(k.log, func(e record.Event) bool { return e.Kind == record.ShutdownStart })
			if passed := slices.Contains(k.told, "1000 "+signals.Name(tt.sig)+" side"); stop != tt.stop || !stop && !passed {
				t.Errorf("a stop: %v, want %v; the host was told %q", stop, tt.stop, k.told)
			}
		})
	}
}

// TestPing: whoever asks whether the loop lives gets an answer, in every phase.
func TestPing(t *testing.T) {
	answers := 0
	run(t, makePlan(t, "app", delay(2*time.Second)), map[string]behaviour{"app": obeys(time.Second)}, func(k *kernel) {
		go k.send(3*time.Second, term)
		for range 11 {
			done := make(chan struct{})
			k.inbox(Event{Kind: Pinged, Done: done})
			<-done
			answers++
			time.Sleep(500 * time.Millisecond)
		}
	})
	if answers != 11 {
		t.Errorf("%d answers", answers)
	}
}

// TestExecNeverReturns: it changes none of the deadlines.
func TestExecNeverReturns(t *testing.T) {
	k, _ := run(t, makePlan(t, "db app<db"), map[string]behaviour{"db": obeys(time.Second), "app": {spawn: -1}}, stopAt(time.Second))
	var kills int
	k.told = slices.DeleteFunc(k.told, func(s string) bool {
		kill := strings.HasSuffix(s, "kill all")
		kills += b2i(kill)
		return kill
	})
	k.want("0 spawn db", "0 spawn app", "9100 SIGTERM db", "18000 exit 143")
	if kills != int(time.Second/killEach) {
		t.Errorf("killed %d times in the half of the cleanup", kills)
	}
}
