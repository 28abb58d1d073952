package supervisor

import (
	"syscall"
	"testing"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
)

func TestStartOrder(t *testing.T) {
	r := newRig(t, makePlan(t, "db cache<db web<db,cache")).want("spawn db").phase(record.Starting)
	r.spawned("db").want("spawn cache").spawned("cache").want("spawn web").spawned("web").want().phase(record.Running)
}

// TestStartAfterListener: one that is to listen is ready once it does.
func TestStartAfterListener(t *testing.T) {
	r := newRig(t, makePlan(t, "db web<db", ready("db", plan.ReadyListening))).spawned("db").want("spawn db")
	r.at(99 * time.Millisecond).want().at(100 * time.Millisecond).want("listeners?").at(time.Second).want()
	r.step(Event{Kind: Listeners}).at(1099 * time.Millisecond).want().at(1100 * time.Millisecond).want("listeners?")
	r.step(Event{Kind: Listeners, Found: true}).want("spawn web").spawned("web").phase(record.Running)
	r.at(time.Minute).want()
}

// TestEachListensForItself: of two of which it was written that they have to
// listen, the listener of one is not the other's, as far as that can be told.
func TestEachListensForItself(t *testing.T) {
	two := func(t *testing.T) *rig {
		return newRig(t, makePlan(t, "db cache web<db,cache", ready("db", plan.ReadyListening), ready("cache", plan.ReadyListening))).
			spawned("db").spawned("cache").want("spawn db", "spawn cache")
	}
	r := two(t).step(Event{Kind: Listening, Listens: []bool{true, false, false}}).want().wantTold(record.ProcessReady, "db")
	r.step(Event{Kind: Listening, Listens: []bool{true, true, false}}).want("spawn web").wantTold(record.ProcessReady, "db", "cache")
	r.spawned("web").phase(record.Running)
	two(t).step(Event{Kind: Listening}).want("spawn web") // nobody can tell whose it is

	// without an order: each of the two is missed by name
	r = newRig(t, makePlan(t, "db cache", ready("db", plan.ReadyListening), ready("cache", plan.ReadyListening))).spawned("db").spawned("cache")
	r.step(Event{Kind: Listening, Listens: []bool{true, false}})
	if ok, why, look := r.m.ready(r.now); ok || !look || why != "starting: cache: no listening port yet" {
		t.Errorf("ready %v, %q, looked for %v", ok, why, look)
	}
	r.step(Event{Kind: Listening, Listens: []bool{true, true}})
	if ok, why, _ := r.m.ready(r.now); !ok {
		t.Errorf("not ready: %q", why)
	}
}

// TestDependencyEnds: what can never become ready ends the start.
func TestDependencyEnds(t *testing.T) {
	for code, want := range map[int]int{3: 3, 0: codeFailed} {
		r := newRig(t, makePlan(t, "db web<db", ready("db", plan.ReadyListening))).spawned("db")
		r.exited("db", code).want("spawn db", "survey").left().over(want)
	}
	r := newRig(t, makePlan(t, "job web<job")).spawned("job").exited("job", 0)
	r.want("spawn job", "spawn web").spawned("web").phase(record.Running)
}

func TestReadiness(t *testing.T) {
	check := func(r *rig, want bool, reason string) {
		t.Helper()
		ok, why, _ := r.m.ready(r.now)
		if ok != want || why != reason {
			t.Errorf("ready %v, since %q; want %v, %q", ok, why, want, reason)
		}
	}
	r := newRig(t, makePlan(t, "db web<db"))
	check(r, false, "starting: db: not started yet")
	r.spawned("db")
	check(r, false, "starting: web: not started yet")
	r.spawned("web")
	check(r, false, "starting: no listening port yet (a program without one: --ready started)")
	r.wantTold(record.Ready).step(Event{Kind: Listening}).step(Event{Kind: Listening})
	check(r, true, "")
	r.wantTold(record.Ready, "").wantTold(record.ProcessReady, "db", "web")
	r.signal(term)
	check(r, false, "draining: waiting until load balancers look away")
	r.step(Event{Kind: Listeners})
	check(r, false, "stopping")

	r = newRig(t, makePlan(t, "app", ready("app", plan.ReadyStarted))).spawned("app")
	check(r, true, "")
	r.wantTold(record.Ready, "")
}

// TestNotSpawned: the code says why, everything else stops, and one line tells it.
func TestNotSpawned(t *testing.T) {
	for _, code := range []int{126, 127} {
		r := newRig(t, makePlan(t, "app")).step(Event{Kind: NotSpawned, Code: code, Err: errTest}).left().over(code)
		if loud := r.loud(); len(loud) != 1 || loud[0].Kind != record.ProcessStart || loud[0].Msg != "test" {
			t.Errorf("the log shows %v", loud)
		}
	}
	r := newRig(t, makePlan(t, "db web<db")).spawned("db").step(Event{Kind: NotSpawned, ID: 1, Code: 127, Err: errTest})
	r.want("spawn db", "spawn web", "identify", "SIGTERM db", "SIGCONT db").died("db", term).left().over(127)
	r = newRig(t, makePlan(t, "db web")).step(Event{Kind: NotSpawned, ID: 0, Code: 126, Err: errTest}).phase(record.Stop)
	r.spawned("web").want("spawn db", "spawn web", "identify", "SIGTERM web", "SIGCONT web").died("web", term).left().over(143) // main ran: its own code
}

// TestStopDuringStart: no process starts after t0; what was not started is not.
func TestStopDuringStart(t *testing.T) {
	t.Run("before any is there", func(t *testing.T) {
		r := newRig(t, makePlan(t, "db web<db", hookAt(plan.PreStart, "migrate", time.Minute))).want("hook migrate").hookStarted("migrate")
		r.at(time.Second).signal(term).want("report", "SIGTERM hook migrate", "SIGCONT hook migrate").phase(record.Stop)
		r.hookEnded("migrate", 143).want("survey").left().over(143).wantTold(record.ProcessStart)
	})
	t.Run("the hook does not obey", func(t *testing.T) {
		r := newRig(t, makePlan(t, "app", hookAt(plan.PreStart, "migrate", time.Minute))).hookStarted("migrate")
		r.signal(quit).did = nil
		r.at(planKillAt-1).want().at(planKillAt).want("SIGKILL hook migrate", "kill all").left().over(131)
		r.wantTold(record.Overrun, "migrate at 16s late 0s")
	})
	t.Run("a second Ctrl-C kills it", func(t *testing.T) {
		r := newRig(t, makePlan(t, "app", hookAt(plan.PreStart, "migrate", time.Minute))).hookStarted("migrate").signal(intr)
		r.did = nil
		r.signal(intr).want("SIGKILL hook migrate", "survey").left().over(130)
	})
	t.Run("the hook's own time comes first", func(t *testing.T) {
		r := newRig(t, makePlan(t, "app", hookAt(plan.PreStart, "migrate", 3*time.Second))).hookStarted("migrate").at(time.Second).signal(term)
		r.at(3*time.Second - 1).phase(record.Stop).at(3 * time.Second).phase(record.Rest)
	})
	t.Run("the hook is about to start: SIGTERM is the first that it gets", func(t *testing.T) {
		r := newRig(t, makePlan(t, "app", hookAt(plan.PreStart, "migrate", time.Minute))).signal(term).want("hook migrate", "report")
		r.hookStarted("migrate").want("SIGTERM hook migrate", "SIGCONT hook migrate").hookEnded("migrate", 143).left().over(143)
	})
	t.Run("the next hook does not start", func(t *testing.T) {
		r := newRig(t, makePlan(t, "app", hookAt(plan.PreStart, "one", time.Minute), hookAt(plan.PreStart, "two", time.Minute))).hookStarted("one")
		r.signal(term).hookEnded("one", 0).want("hook one", "report", "SIGTERM hook one", "SIGCONT hook one", "survey").left().over(143)
	})
	t.Run("the fork is under way", func(t *testing.T) {
		r := newRig(t, makePlan(t, "app")).signal(term).step(Event{Kind: Listeners}).phase(record.Stop).want("spawn app", "report", "listeners?")
		r.at(50*time.Millisecond).spawned("app").want("identify", "SIGTERM app", "SIGCONT app").died("app", term).left().over(143)
	})
	t.Run("the fork is under way, and a delay was set", func(t *testing.T) {
		r := newRig(t, makePlan(t, "app", delay(5*time.Second), drain(plan.DrainIdle, 3*time.Second))).signal(term).phase(record.Delay)
		r.did = nil
		r.at(50*time.Millisecond).spawned("app").want("identify", "SIGTERM app", "SIGCONT app").phase(record.Stop)
	})
	t.Run("the fork is under way, and fails", func(t *testing.T) {
		r := newRig(t, makePlan(t, "app")).signal(term).step(Event{Kind: Listeners}).step(Event{Kind: NotSpawned, Code: 127, Err: errTest})
		r.left().over(143) // the stop signal came first
	})
	t.Run("the exec never returns", func(t *testing.T) {
		r := newRig(t, makePlan(t, "app")).signal(term).step(Event{Kind: Listeners})
		r.did = nil
		r.at(planKillAt).want("kill all").phase(record.Killing).wantTold(record.Overrun, "app at 16s late 0s")
		r.at(planKillAt + time.Second).over(143)
	})
	t.Run("it returns when all is killed", func(t *testing.T) {
		r := newRig(t, makePlan(t, "app")).signal(term).step(Event{Kind: Listeners}).at(planKillAt)
		r.did = nil
		r.spawned("app").want("SIGKILL app").died("app", syscall.SIGKILL).want("survey").left().over(137)
	})
	t.Run("others wait for what is there", func(t *testing.T) {
		r := newRig(t, makePlan(t, "db web<db", ready("db", plan.ReadyListening))).spawned("db").at(50 * time.Millisecond).signal(term)
		r.want("spawn db", "report", "listeners?").step(Event{Kind: Listeners, Found: true}).want("identify", "SIGTERM db", "SIGCONT db")
		r.at(time.Second).want().died("db", term).left().over(143)
	})
	t.Run("nothing is left of what the start looked for", func(t *testing.T) {
		p := makePlan(t, "db web<db", ready("db", plan.ReadyListening), delay(2*time.Second))
		r := newRig(t, p).spawned("db").at(50 * time.Millisecond).signal(term)
		r.want("spawn db", "report", "listeners?").step(Event{Kind: Listeners}).at(2 * time.Second).want()
		r.at(2*time.Second+50*time.Millisecond).want("identify", "SIGTERM db", "SIGCONT db")
	})
	t.Run("one of two is there", func(t *testing.T) {
		r := newRig(t, makePlan(t, "db web", delay(2*time.Second))).spawned("db").at(time.Millisecond).signal(term)
		r.at(time.Second).spawned("web").phase(record.Delay).at(2*time.Second + time.Millisecond).phase(record.Stop)
	})
}

// TestForward: to every process, rewritten as each wants it, once it is there.
func TestForward(t *testing.T) {
	p := makePlan(t, "a b<a", proc("b", func(p *plan.Process) { p.Rewrite = map[syscall.Signal]syscall.Signal{usr1: usr2, hup: 0} }))
	r := newRig(t, p).signal(usr1).signal(usr1).signal(hup).want("spawn a")
	r.spawned("a").want("SIGUSR1 a", "SIGHUP a", "spawn b").signal(usr1).want("SIGUSR1 a")
	r.spawned("b").want("SIGUSR2 b")
	r.signal(usr1).want("SIGUSR1 a", "SIGUSR2 b").signal(hup).want("SIGHUP a")
	r.exited("a", 0).signal(hup).signal(usr1).want("SIGUSR2 b")
	if n := r.m.totals.SignalsForwarded[record.Forwarded{Process: "b", Signal: "SIGUSR2"}]; n != 3 {
		t.Errorf("%d of b's are counted", n)
	}
	if n := r.m.totals.SignalsReceived["SIGUSR1"]; n != 5 {
		t.Errorf("%d SIGUSR1 are counted", n)
	}
	r = stopped(t, makePlan(t, "app"))
	r.did = nil
	r.signal(hup).want("SIGHUP app") // the program may still want to know
}

// TestForwardBeforeStop: what came before the process was there is delivered
// before its stop.
func TestForwardBeforeStop(t *testing.T) {
	r := newRig(t, makePlan(t, "app")).signal(hup).signal(term).step(Event{Kind: Listeners})
	r.did = nil
	r.spawned("app").want("SIGHUP app", "identify", "SIGTERM app", "SIGCONT app")
}

// TestSignalRefused: EPERM is told once, and nothing is said to be sent or killed; at
// kill_at graced goes on without the process.
func TestSignalRefused(t *testing.T) {
	r := up(t, makePlan(t, "app"))
	r.refuses = true
	r.signal(term).step(Event{Kind: Listeners})
	r.step(Event{Kind: SignalFailed, Signal: term, Err: syscall.ESRCH}).wantTold(record.Forward, "app")
	r.at(planKillAt).phase(record.Killing)
	for range 10 {
		r.step(Event{Kind: Surveyed, Left: []Leftover{{PID: 100, Name: "app"}, {PID: 7, Name: "daemon"}}})
	}
	r.at(planKillAt + time.Second).over(137)
	told := map[string]int{}
	for _, e := range r.emits {
		told[e.Msg]++
	}
	for msg, want := range map[string]int{
		"signal refused": 1, "cannot be killed; graced ends without it": 2, // app and the daemon
		"stop signal sent": 0, "killed": 0,
	} {
		if told[msg] != want {
			t.Errorf("%q is said %d times, want %d", msg, told[msg], want)
		}
	}
	if len(r.m.problems) != 2 {
		t.Errorf("the report says %q", r.m.problems)
	}
	if n := r.m.killed(); n != 0 {
		t.Errorf("%d count as killed: %v", n, r.m.totals.Kills)
	}
}

// TestSuspended: a main that a key has stopped is continued; nothing else is.
func TestSuspended(t *testing.T) {
	r := up(t, makePlan(t, "side app"))
	for _, sig := range []syscall.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU} {
		r.step(Event{Kind: Suspended, ID: 1, Signal: sig}).want("continue app")
		r.step(Event{Kind: Suspended, ID: 0, Signal: sig}).want()
	}
	r.step(Event{Kind: Suspended, ID: 1, Signal: syscall.SIGSTOP}).want()
}

// TestFault: a panic elsewhere in graced is a shutdown in order.
func TestFault(t *testing.T) {
	r := up(t, makePlan(t, "app")).step(Event{Kind: Fault, Where: "probe", Err: errTest}).want("report", "listeners?")
	r.step(Event{Kind: Listeners}).want("identify", "SIGTERM app", "SIGCONT app").step(Event{Kind: Fault, Where: "probe", Err: errTest}).want()
	r.died("app", term).left().step(Event{Kind: Looked}).over(143)
	r = newRig(t, makePlan(t, "app", hookAt(plan.PreStart, "x", time.Minute))).step(Event{Kind: Fault, Where: "loop"}).hookEnded("x", 0).left().over(codeFailed)
	if len(r.m.problems) != 1 {
		t.Errorf("the report says %q", r.m.problems)
	}
}
