package plan

import (
	"slices"
	"syscall"
	"testing"
	"time"
)

// TestLadders walks ladders as the supervisor does: which signals, and when each
// is over if the first is sent after a number of seconds.
func TestLadders(t *testing.T) {
	const term, quit, winch = syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGWINCH
	plan := func(change func(*Process)) *Stopping { // no front: the ladder has [0, 12s]
		s := graph(12, proc("a", ""))
		change(&s.Processes[0])
		return &mustFit(t, s).Processes[0]
	}
	auto := plan(func(*Process) {})
	tests := []struct {
		name   string
		s      *Stopping
		chosen Chosen
		sigs   []syscall.Signal
		sent   float64
		dues   []float64
	}{
		{"SIGTERM has it all", auto, Chosen{Signal: term}, []syscall.Signal{term}, 0, []float64{12}},
		{"what ended early ahead of it is the program's", auto, Chosen{Signal: term}, []syscall.Signal{term}, 5, []float64{17}},
		{"another signal: SIGTERM at half the width", auto, Chosen{Signal: quit}, []syscall.Signal{quit, term}, 0, []float64{6, 12}},
		{"another that is late: each has its half", auto, Chosen{Signal: quit}, []syscall.Signal{quit, term}, 4, []float64{10, 16}},
		{"the table's own: nothing follows", auto, Chosen{Signal: winch, ByTable: true}, []syscall.Signal{winch}, 0, []float64{12}},
		{"as set: SIGTERM follows, also where the table would have named it",
			plan(func(p *Process) { p.First = flagged(quit, "--signal") }), Chosen{Signal: winch, ByTable: true}, []syscall.Signal{quit, term}, 0, []float64{6, 12}},
		{"as set, SIGTERM", plan(func(p *Process) { p.First = flagged(term, "--signal") }), Chosen{Signal: quit, ByTable: true}, []syscall.Signal{term}, 0, []float64{12}},
		{"a ladder: waits count from when each was sent", plan(func(p *Process) { p.Ladder = ladder(wait(quit, 8*time.Second), wait(term, 2*time.Second)) }),
			Chosen{Signal: winch, ByTable: true}, []syscall.Signal{quit, term}, 3, []float64{11, 13}},
		{"an open rung lasts until its latest end", plan(func(p *Process) { p.Ladder = ladder(wait(quit, 8*time.Second), open(term)) }),
			Chosen{}, []syscall.Signal{quit, term}, 0, []float64{8, 12}},
		{"and has its width where it comes late", plan(func(p *Process) { p.Ladder = ladder(wait(quit, 8*time.Second), open(term)) }),
			Chosen{}, []syscall.Signal{quit, term}, 2, []float64{10, 14}},
		{"open first, and early: the rest is its own", plan(func(p *Process) { p.Ladder = ladder(open(quit), wait(term, 2*time.Second)) }),
			Chosen{}, []syscall.Signal{quit, term}, 0, []float64{10, 12}},
	}
	t0 := time.Unix(1000, 0)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sigs := tt.s.Signals(tt.chosen)
			if !slices.Equal(sigs, tt.sigs) {
				t.Fatalf("signals %v, want %v", sigs, tt.sigs)
			}
			sent := t0.Add(seconds(tt.sent))
			for r := range sigs {
				due := tt.s.Due(r, len(sigs), t0, sent)
				if due != t0.Add(seconds(tt.dues[r])) {
					t.Errorf("rung %d ends at %v, want %vs", r, due.Sub(t0), tt.dues[r])
				}
				sent = due
			}
		})
	}
}

// TestEarlyShare: a rung that could have begun later has until its latest end,
// though its width is less.
func TestEarlyShare(t *testing.T) {
	p := mustFit(t, one(func(s *Spec) { s.Grace = grace(20 * time.Second) }))
	app, t0 := &p.Processes[0], time.Unix(1000, 0)
	if due := app.Due(0, 1, t0, t0); due != t0.Add(p.KillAt) {
		t.Errorf("SIGTERM sent at once is over at %v, want kill_at, %v", due.Sub(t0), p.KillAt)
	}
	half := app.Rungs[0].Width / 2
	if due := app.Due(0, 2, t0, t0); due != t0.Add(p.KillAt-half) {
		t.Errorf("the second rung comes at %v, want half a width before kill_at, %v", due.Sub(t0), p.KillAt-half)
	}
}
