package probe

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"graced/internal/record"
)

// maxReason bounds the line that says why not, in bytes. Its text can come from
// a process's answer to a probe.
const maxReason = 500

// isReady: a shutdown that has started outweighs everything else a snapshot
// may say, since from then on nobody is to be told to come.
func isReady(s *record.Snapshot) bool {
	return s.Ready && s.T0.IsZero()
}

// reason says in one line, never an empty one, why s is not ready, with the
// time that is left of a shutdown.
func reason(s *record.Snapshot, now time.Time) string {
	why := oneLine(s.Reason)
	if why == "" {
		switch {
		case !s.T0.IsZero():
			why = "draining: the shutdown has started"
		case !s.NotReadySince.IsZero():
			why = "draining"
		case !s.EverReady:
			why = "starting"
		default:
			why = "not ready"
		}
	}
	if s.T0.IsZero() {
		return why
	}
	return fmt.Sprintf("%s, %.1fs left", why, s.Remaining(now).Seconds())
}

// processReason says why the process is not ready.
func processReason(p record.ProcessState) string {
	state := oneLine(p.State)
	switch {
	case p.Exited && p.PID == 0:
		return fmt.Sprintf("exited %d", p.Code)
	case state == "":
		return "not ready"
	case state == "running":
		return "running, not ready yet"
	}
	return state
}

// oneLine makes s printable, without line ends, and at most maxReason long.
func oneLine(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
	s = strings.TrimSpace(s)
	if len(s) <= maxReason {
		return s
	}
	end := maxReason
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
