package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
)

// TestPanics: one in the host costs one action; one in the machine starts a
// shutdown; a second one ends what runs without it.
func TestPanics(t *testing.T) {
	names := map[ActionKind]string{Spawn: "Spawn", Signal: "Signal", IdentifyAll: "IdentifyAll", FindListeners: "FindListeners", AskAskers: "AskAskers",
		Inspect: "Inspect", Survey: "Survey", KillAll: "KillAll", WriteReport: "WriteReport", Return: "Return", FindUndelivered: "FindUndelivered", SpawnHook: "SpawnHook"}
	p := makePlan(t, "db app<db", autoDelay, drain(plan.DrainIdle, 2*time.Second), hookAt(plan.PreStop, "x", time.Second), hookAt(plan.PostStop, "y", time.Second))
	for kind, name := range names {
		t.Run("in each "+name, func(t *testing.T) {
			does := map[string]behaviour{"app": obeys(time.Second)}
			if kind == FindUndelivered { // only where nothing has to be killed
				does["db"] = obeys(time.Second)
			}
			k, _ := run(t, p, does, stopAt(10*time.Second), func(k *kernel) {
				k.before = func(a Action) {
					if a.Kind == kind {
						panic("test")
					}
				}
			})
			last := k.told[len(k.told)-1]
			var ms int
			if _, err := fmt.Sscanf(last, "%d exit", &ms); err != nil || ms > 28_000 {
				t.Errorf("graced ended with %q; its budget was over at 28000", last)
			}
			if kind != Signal && kind != Spawn && !slices.ContainsFunc(k.told, func(s string) bool { return strings.HasSuffix(s, "SIGTERM app") }) {
				t.Errorf("app got no signal:\n%s", strings.Join(k.told, "\n"))
			}
			if len(k.log) == 0 || !slices.ContainsFunc(k.log, func(e record.Event) bool { return strings.HasPrefix(e.Err, "test\n") }) {
				t.Error("the panic is not in the log")
			}
		})
	}
	wild := Event{Kind: Exited, ID: 99} // no such process: the handler panics
	t.Run("in the machine", func(t *testing.T) {
		k, _ := run(t, makePlan(t, "app"), map[string]behaviour{"app": obeys(time.Second)}, func(k *kernel) {
			time.Sleep(5 * time.Second)
			done := make(chan struct{})
			wild := wild
			wild.Done = done
			k.inbox(wild)
			<-done // whoever waits for the event is not left alone
		})
		k.want("0 spawn app", "5000 SIGTERM app", "6000 exit 143")
	})
	t.Run("in the machine, after it had decided something", func(t *testing.T) {
		table[record.Running] = func(cells [eventKinds]handler) [eventKinds]handler {
			cells[Pinged] = func(m *machine, now time.Time, e Event) {
				m.do(Action{Kind: Signal, Signal: usr2})
				panic("test")
			}
			return cells
		}(table[record.Running])
		defer func() {
			cells := table[record.Running]
			cells[Pinged] = nil
			table[record.Running] = cells
		}()
		k, _ := run(t, makePlan(t, "app"), map[string]behaviour{"app": obeys(time.Second)}, func(k *kernel) {
			time.Sleep(time.Second)
			k.inbox(Event{Kind: Pinged})
		})
		k.want("0 spawn app", "1000 SIGUSR2 app", "1000 SIGTERM app", "2000 exit 143")
	})
	t.Run("in the machine, twice", func(t *testing.T) {
		k, _ := run(t, makePlan(t, "db app<db"), map[string]behaviour{"app": obeys(time.Second)}, func(k *kernel) {
			k.send(5*time.Second, term)
			time.Sleep(100 * time.Millisecond)
			k.inbox(wild)
			time.Sleep(100 * time.Millisecond)
			k.inbox(wild)
		})
		// its kill_at stands; what graced knows of the code it gives
		k.want("0 spawn db", "0 spawn app", "5000 SIGTERM app", "5200 SIGTERM db", "5200 SIGTERM app", "21000 kill all", "21000 exit 143")
	})
	t.Run("in the machine, twice, while it starts", func(t *testing.T) {
		k, _ := run(t, makePlan(t, "app"), map[string]behaviour{"app": {spawn: time.Second, on: obeys(time.Second).on}}, func(k *kernel) {
			k.inbox(wild)
			k.inbox(wild)
		})
		k.want("0 spawn app", "0 SIGTERM app", "1000 SIGTERM app", "2000 kill all", "2000 exit 143")
	})
	t.Run("in what is asked about children and signals", func(t *testing.T) {
		k, _ := run(t, makePlan(t, "app"), map[string]behaviour{"app": obeys(time.Second)}, stopAt(2*time.Second), func(k *kernel) {
			k.loop.TakeSignals = func() []syscall.Signal { panic("test") }
		})
		k.want("0 spawn app", "2000 SIGTERM app", "3000 exit 143")
	})
}
