package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Outcome is what became of a load.
type Outcome struct {
	Requests, Failed int
	ByEnd            map[string]int            // the failed, by how they ended
	ByKind           map[string]map[string]int // kind of request → end → how many
	Short            Quantiles                 // of the short requests that went well
	Late             seconds                   // the worst lateness of the generator
}

// Quantiles are of latencies.
type Quantiles struct{ P50, P99, Max seconds }

// sum counts results. With a record it also finds out, of each replace, when
// the server had given its last answer.
func sum(l *load, results []result, record *Record) Outcome {
	o := Outcome{Requests: len(results), ByEnd: map[string]int{}, ByKind: map[string]map[string]int{}, Late: seconds(l.late)}
	var short []time.Duration
	for _, r := range results {
		if o.ByKind[r.kind] == nil {
			o.ByKind[r.kind] = map[string]int{}
		}
		o.ByKind[r.kind][r.end]++
		if r.end != endOK {
			o.Failed++
			o.ByEnd[r.end]++
		} else if isShort(r.kind) {
			short = append(short, r.ended.Sub(r.due))
		}
	}
	o.Short = quantiles(short)
	if record == nil {
		return o
	}
	for _, p := range record.Replaced {
		for _, r := range results {
			if r.end == endOK && r.server == p.Server && r.ended.After(p.begin) && r.ended.Before(p.end) {
				p.Last = max(p.Last, seconds(r.ended.Sub(p.begin)))
			}
		}
	}
	return o
}

func quantiles(list []time.Duration) Quantiles {
	if len(list) == 0 {
		return Quantiles{}
	}
	slices.Sort(list)
	at := func(q float64) seconds { return seconds(list[int(q*float64(len(list)-1))]) }
	return Quantiles{at(0.50), at(0.99), at(1)}
}

// counts is a table of numbers in words, "none" if it is empty.
func counts(m map[string]int) string {
	if len(m) == 0 {
		return "none"
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(parts, ", ")
}
