package supervisor

import (
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
	"graced/signals"
)

// rest is what graced's processes have left behind.
type rest struct {
	due       time.Time
	next      time.Time
	surveying bool
	again     bool
	told      map[[2]uint64]bool // those that got their signal, by pid and start
	left      []Leftover
	unseen    bool
	seen      bool // a survey has answered
	shouted   bool // Broadcast was used
	answers   bool // only undelivered answers are waited for
}

// restAfterEnd is how long what is left behind has where nobody asked for a
// stop: the main process ended by itself.
const restAfterEnd = 2 * time.Second

// answersWithin bounds how long undelivered answers keep graced.
const answersWithin = 2 * time.Second

// surveyEach is how often what is left is looked at without a reason to.
const surveyEach = 100 * time.Millisecond

// enterRest gives whatever is left its own signal and its time.
func (m *machine) enterRest(now time.Time) {
	m.enter(now, record.Rest)
	m.rest.due = m.killAt
	if m.trigger == byEnd {
		m.rest.due = earlier(now.Add(restAfterEnd), m.killAt)
	}
	m.rest.told = map[[2]uint64]bool{}
	m.survey()
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (m *machine) survey() {
	if m.rest.surveying {
		m.rest.again = true
		return
	}
	m.rest.surveying, m.rest.again, m.rest.next = true, false, time.Time{}
	m.do(Action{Kind: Survey})
}

// restReaped: something was reaped, so less may be left.
func (m *machine) restReaped(now time.Time, e Event) {
	if !m.rest.answers {
		m.survey()
	}
}

// restSurveyed: it is known what is left. Each gets its signal once.
func (m *machine) restSurveyed(now time.Time, e Event) {
	m.rest.surveying = false
	if m.rest.answers {
		return // nothing was left
	}
	m.rest.left, m.rest.unseen, m.rest.seen = e.Left, e.Unseen, true
	if len(e.Left) == 0 && !e.Unseen {
		m.restOver(now)
		return
	}
	for _, left := range e.Left {
		key := [2]uint64{uint64(left.PID), left.Start}
		if m.rest.told[key] {
			continue
		}
		m.rest.told[key] = true
		if left.Reached {
			continue // a second one means "at once" to many programs
		}
		sig := plan.First(left.ID, m.stopSignal()).Signal
		if left.Ignores&(1<<(sig-1)) != 0 {
			// a shell's background jobs ignore SIGINT and SIGQUIT; POSIX 2.11
			sig = syscall.SIGTERM
		}
		m.do(Action{Kind: SignalLeft, Left: left, Signal: sig})
		m.do(Action{Kind: SignalLeft, Left: left, Signal: syscall.SIGCONT})
		m.emit(now, record.Event{Kind: record.Escalate, Level: slog.LevelDebug, Msg: "left behind; stop signal sent",
			PID: left.PID, Signal: signals.Name(sig), Attrs: []slog.Attr{slog.String("program", left.Name)}})
	}
	if e.Unseen && !m.rest.shouted {
		m.rest.shouted = true
		m.do(Action{Kind: Broadcast, Signal: plan.AsItCame(m.stopSignal())})
		m.do(Action{Kind: Broadcast, Signal: syscall.SIGCONT})
	}
	m.rest.next = now.Add(surveyEach)
	if m.rest.again {
		m.survey()
	}
}

// restOver: nothing is left. What was answered but not delivered would be lost
// with the network namespace.
func (m *machine) restOver(now time.Time) {
	if now.Before(m.killAt) {
		m.rest.answers = true
		m.rest.due, m.rest.next = earlier(now.Add(answersWithin), m.killAt), time.Time{}
		m.do(Action{Kind: FindUndelivered})
		return
	}
	m.enterCleanup(now)
}

// restLooked: it is known whether answers are undelivered.
func (m *machine) restLooked(now time.Time, e Event) {
	if !m.rest.answers {
		return
	}
	if e.Look.Err != nil || e.Look.Undelivered == 0 {
		m.enterCleanup(now)
		return
	}
	m.rest.next = soon(now, e.Next)
}

// restDue: a time of the rest has come.
func (m *machine) restDue(now time.Time, e Event) {
	if m.rest.answers {
		switch {
		case !now.Before(m.rest.due):
			m.overrun(now, record.Event{Phase: string(record.Rest), Msg: "answers are still undelivered"}, "undelivered answers", m.rest.due)
			m.enterCleanup(now)
		case !m.rest.next.IsZero() && !now.Before(m.rest.next):
			m.rest.next = time.Time{}
			m.do(Action{Kind: FindUndelivered})
		}
		return
	}
	switch {
	case m.guillotine(now):
	case !now.Before(m.rest.due):
		m.overrunRest(now, m.rest.due)
		m.enterKill(now)
	case !m.rest.next.IsZero() && !now.Before(m.rest.next):
		m.survey()
	}
}

// overrunRest tells what of the rest was still there.
func (m *machine) overrunRest(now time.Time, due time.Time) {
	event := record.Event{Phase: string(record.Rest), Msg: "processes left behind are still running", Attrs: []slog.Attr{slog.Int("left", len(m.rest.left))}}
	switch {
	case m.rest.unseen:
		event.Attrs = []slog.Attr{slog.String("left", "unknown: /proc is not readable")}
	case !m.rest.seen:
		event.Attrs = []slog.Attr{slog.String("left", "unknown: no look at /proc has come back")}
	}
	for i, left := range m.rest.left {
		if i == 5 {
			break
		}
		event.Attrs = append(event.Attrs, slog.String(fmt.Sprintf("left%d", i+1), fmt.Sprintf("%s (pid %d)", left.Name, left.PID)))
	}
	m.overrun(now, event, "rest", due)
}
