package supervisor

import (
	"fmt"
	"log/slog"
	"time"

	"graced/internal/plan"
	"graced/internal/record"
)

// enterDrain waits until no connection is busy.
func (m *machine) enterDrain(now time.Time) {
	m.front.due, m.front.next = time.Time{}, time.Time{}
	m.enter(now, record.Drain)
	p := m.plan
	switch {
	case p.Drain == plan.DrainOff, p.DrainMax <= 0,
		m.trigger == byPerson && !p.DrainByPerson,
		m.anyLive() == 0:
		m.frontOver(now)
		return
	}
	m.front.due = m.t0.Add(p.DrainLatest)
	if limit := now.Add(p.DrainMax); p.DrainFixed && limit.Before(m.front.due) {
		m.front.due = limit
	}
	m.do(Action{Kind: IdentifyAll})
}

// drainIdentified: it is known what the processes are, so what `auto` means.
func (m *machine) drainIdentified(now time.Time, e Event) {
	m.know(e)
	if m.front.decided || m.front.over {
		return
	}
	m.front.decided = true
	m.front.until = m.plan.Drain
	if m.plan.Drain == plan.DrainAuto {
		m.front.until = plan.DrainOff
		for i := range m.procs {
			if p := &m.procs[i]; p.live() && m.firstLeft(p) && plan.AutoDrain(p.id) == plan.DrainIdle {
				m.front.until = plan.DrainIdle
			}
		}
	}
	if m.front.until == plan.DrainOff {
		m.frontOver(now)
		return
	}
	m.lookAgain()
}

func (m *machine) lookAgain() {
	m.front.next = time.Time{}
	m.do(Action{Kind: Inspect, Until: m.front.until})
}

// looked: it is known which connections are busy.
func (m *machine) looked(now time.Time, e Event) {
	if m.front.over || !m.front.decided {
		return
	}
	look := e.Look
	if look.Fallback != "" && !m.front.saidFallback {
		m.front.saidFallback = true
		m.emit(now, record.Event{Kind: record.PhaseStart, Level: slog.LevelWarn, Phase: string(record.Drain),
			Msg: "the kernel's socket diagnostics are refused; /proc/net/tcp is read instead, which tells less", Err: look.Fallback})
	}
	if look.Err != nil {
		m.front.look.Err = look.Err // what was seen before stays
	} else if m.front.look = look; look.Quiet {
		m.frontOver(now)
		return
	}
	m.front.next = soon(now, e.Next)
}

// drainDue: a time of the drain has come.
func (m *machine) drainDue(now time.Time, e Event) {
	if m.guillotine(now) {
		return
	}
	m.hooksDue(now)
	switch {
	case m.phase != record.Drain || m.front.over:
	case !now.Before(m.front.due):
		m.tellBusy(now)
		m.frontOver(now)
	case !m.front.next.IsZero() && !now.Before(m.front.next):
		m.lookAgain()
	}
}

// tellBusy says what was still going at the drain's ceiling.
func (m *machine) tellBusy(now time.Time) {
	look := m.front.look
	event := record.Event{Phase: string(record.Drain), Msg: "connections are still busy at the drain's ceiling"}
	switch {
	case look.Err != nil:
		event.Msg, event.Err = "the connections could not be seen", look.Err.Error()
	case !look.Connections.Known:
		event.Msg = "the connections could not be seen: no look at them has come back"
	}
	event.Attrs = append(event.Attrs, slog.Int("busy", look.Connections.Busy))
	if m.front.until == plan.DrainClosed && look.Connections.Known {
		event.Msg = "connections are still open at the drain's ceiling"
		event.Attrs = append(event.Attrs, slog.Int("open", look.Connections.Busy+look.Connections.Idle))
	}
	for i, b := range look.Busy {
		if i == 5 {
			event.Attrs = append(event.Attrs, slog.Int("more", max(look.Connections.Busy, len(look.Busy))-i))
			break
		}
		event.Attrs = append(event.Attrs, slog.String(fmt.Sprintf("peer%d", i+1), fmt.Sprintf("%s: %s, %s without a byte", b.Peer, b.Rule, plan.Duration(b.Age))))
	}
	if n := look.Connections.CloseWait; n > 0 {
		event.Attrs = append(event.Attrs, slog.Int("close_wait", n),
			slog.String("hint", "the program does not close connections that its clients have closed (CLOSE_WAIT)"))
	}
	m.overrun(now, event, "drain", m.front.due)
}

// frontOver: delay and drain are over; the first stop signal waits for the
// pre_stop hooks only.
func (m *machine) frontOver(now time.Time) {
	m.front.over, m.front.next, m.front.due = true, time.Time{}, time.Time{}
	if m.hooksLeft(plan.PreStop) {
		return
	}
	m.enterStop(now)
}

// know keeps what the processes were found to be.
func (m *machine) know(e Event) {
	for i := range m.procs {
		if i < len(e.Identities) && m.procs[i].live() {
			m.procs[i].id = e.Identities[i]
		}
	}
}
