package plan

import (
	"syscall"
	"time"
)

// Signals gives the signals of a process's ladder, in order. chosen is the
// first one where the ladder is the default: a default ladder that does not
// begin with SIGTERM has it as its second rung, unless the table of programs
// named the first.
func (s *Stopping) Signals(chosen Chosen) []syscall.Signal {
	var sigs []syscall.Signal
	for _, r := range s.Rungs {
		if r.Signal == 0 {
			sigs = append(sigs, chosen.Signal)
			continue
		}
		sigs = append(sigs, r.Signal)
	}
	if s.Default && sigs[0] != syscall.SIGTERM && !(s.Rungs[0].Signal == 0 && chosen.ByTable) {
		sigs = append(sigs, syscall.SIGTERM)
	}
	return sigs
}

// Due is when rung of n, whose signal was sent at sent, is over. A wait that
// was set counts from when the signal was sent. A share lasts until the rung's
// latest end, so that what ended early ahead of it is the program's to use.
func (s *Stopping) Due(rung, n int, t0, sent time.Time) time.Time {
	if s.Default && n > len(s.Rungs) {
		// the second rung has half of the width, counted from the end
		until := t0.Add(s.Rungs[0].Until)
		if rung == 0 {
			half := until.Add(-s.Rungs[0].Width / 2)
			return later(half, sent.Add(s.Rungs[0].Width/2))
		}
		return later(until, sent.Add(s.Rungs[0].Width/2))
	}
	r := s.Rungs[rung]
	if !r.Open {
		return sent.Add(r.Width)
	}
	return later(t0.Add(r.Until), sent.Add(r.Width))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
