package supervisor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
)

// TestTable: what is no cell of the table is empty for a reason, and nothing is both.
func TestTable(t *testing.T) {
	for _, phase := range record.Phases {
		for kind := range eventKinds {
			reason, isEmpty := empty[phase][kind]
			switch handled := table[phase][kind] != nil; {
			case handled && isEmpty:
				t.Errorf("%s in %s is handled, and empty since %q", kind, phase, reason)
			case !handled && !isEmpty:
				t.Errorf("%s in %s is not handled, and nobody says why", kind, phase)
			case isEmpty && len(strings.Fields(reason)) < 3:
				t.Errorf("%s in %s is empty for no reason: %q", kind, phase, reason)
			}
		}
	}
	if len(table)+1 != len(record.Phases) || len(empty) != len(record.Phases) {
		t.Errorf("%d phases in the table and %d in empty, of %d", len(table), len(empty), len(record.Phases))
	}
}

func TestEventNames(t *testing.T) {
	seen := map[string]bool{}
	for kind := range eventKinds {
		if name := kind.String(); name == "" || seen[name] {
			t.Errorf("event %d is called %q", kind, name)
		} else {
			seen[name] = true
		}
	}
	for s := waiting; s <= gone; s++ {
		if s.String() == "" {
			t.Errorf("state %d has no name", s)
		}
	}
}

// TestEveryCell: each event in each phase, from the states that lead there, with
// nothing in it but its kind: no panic, no way back.
func TestEveryCell(t *testing.T) {
	lives := map[record.Phase]func(*testing.T, *plan.Plan) *rig{
		record.Starting: func(t *testing.T, p *plan.Plan) *rig { return newRig(t, p) },
		record.Running:  func(t *testing.T, p *plan.Plan) *rig { return up(t, p) },
		record.Delay:    func(t *testing.T, p *plan.Plan) *rig { return up(t, p).signal(term) },
		record.Drain: func(t *testing.T, p *plan.Plan) *rig {
			return up(t, p).signal(term).step(Event{Kind: Listeners, Found: true}).at(time.Second)
		},
		record.Stop: func(t *testing.T, p *plan.Plan) *rig { return up(t, p).signal(term).signal(intr).signal(intr) },
		record.Rest: func(t *testing.T, p *plan.Plan) *rig {
			return up(t, p).signal(term).exited("side", 0).exited("app", 0).step(Event{Kind: HookEnded, ID: 0})
		},
		record.Killing: func(t *testing.T, p *plan.Plan) *rig { return up(t, p).signal(term).at(planKillAt) },
		record.Cleanup: func(t *testing.T, p *plan.Plan) *rig {
			return up(t, p).signal(term).exited("side", 0).exited("app", 0).step(Event{Kind: HookEnded, ID: 0}).left().step(Event{Kind: Looked})
		},
		record.Exiting: func(t *testing.T, p *plan.Plan) *rig { return up(t, p).signal(term).at(planKillAt * 2) },
	}
	p := makePlan(t, "side app", delay(time.Second), drain(plan.DrainIdle, time.Second), hookAt(plan.PreStop, "leave", 3*time.Second), hookAt(plan.PostStop, "flush", time.Second))
	for _, phase := range record.Phases {
		for kind := range eventKinds {
			r := lives[phase](t, p).phase(phase)
			before := slices.Index(record.Phases, r.m.phase)
			r.step(Event{Kind: kind, Err: errTest, Signal: usr1})
			if after := slices.Index(record.Phases, r.m.phase); after < before {
				t.Errorf("%s in %s leads back to %s", kind, phase, r.m.phase)
			}
			if table[phase][kind] == nil && (len(r.m.actions) > 0 || r.m.phase != phase) {
				t.Errorf("%s in %s is empty, and does something", kind, phase)
			}
			r.at(3 * planKillAt)
			if r.m.stoppingNow() && !r.m.done {
				t.Errorf("after %s in %s it never ends: %s", kind, phase, r.m.phase)
			}
		}
	}
}
