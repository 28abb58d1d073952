package metrics

import (
	"slices"
	"strconv"
	"strings"

	"graced/internal/record"
)

// other is the label of what has no series of its own. It keeps the number of
// series bounded: there are 64 signals, of which a container sees a few.
const other = "other"

// The signals, and the phases with a deadline, that have series of their own,
// from the start: a counter that first appears with 1 has no increase.
var (
	receivedSignals  = []string{"SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGWINCH", other}
	forwardedSignals = []string{"SIGHUP", "SIGUSR1", "SIGUSR2", other} // the stop signals are not forwarded
	deadlinePhases   = []string{
		string(record.Delay), string(record.Drain), string(record.Stop), string(record.Rest), "hook", string(record.Exiting),
	}
)

// known is name if it has a series of its own, else other.
func known(name string, names []string) string {
	if slices.Contains(names, name) {
		return name
	}
	return other
}

// valid makes s fit for a label: Prometheus refuses a page with a byte that is
// no UTF-8. Quotes, backslashes and newlines are escaped by the encoder.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// labels gives each name a label of its own, also where two names became one
// by valid: two series with equal labels would be an error.
type labels struct {
	of    map[string]string
	taken map[string]bool
}

func (l *labels) label(name string) string {
	if label, ok := l.of[name]; ok {
		return label
	}
	if l.of == nil {
		l.of, l.taken = make(map[string]string), make(map[string]bool)
	}
	label := valid(name)
	for n := 2; l.taken[label]; n++ {
		label = valid(name) + "#" + strconv.Itoa(n)
	}
	l.of[name], l.taken[label] = label, true
	return label
}

// names are the labels of the plan's processes. Any other name has the label
// other.
type names struct{ labels }

func newNames(s *record.Snapshot) *names {
	n := new(names)
	for _, p := range s.Processes {
		n.labels.label(p.Name)
	}
	return n
}

func (n *names) label(process string) string {
	if label, ok := n.of[process]; ok {
		return label
	}
	return other
}

// zero has a 0 for each process's label.
func (n *names) zero() map[string]uint64 {
	counts := make(map[string]uint64, len(n.of))
	for _, label := range n.of {
		counts[label] = 0
	}
	return counts
}
