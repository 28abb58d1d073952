package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// losses explains each loss of a valid run of graced, from the balancer's log
// and graced's own.
func (d *document) losses() {
	d.say("\n## What graced lost, and why\n")
	none := true
	for _, r := range d.records {
		if r.Void != "" || r.Spec.Init != "graced" || r.Roll.Failed == 0 {
			continue
		}
		none = false
		d.say("**%s**: %d of %d lost (%s); %d were in flight when the program got its signal, %d were sent after it.\n", r.Spec.Name,
			r.Roll.Failed, r.Roll.Requests, counts(r.Roll.ByEnd), r.Cut, r.Sent)
		for _, p := range r.Replaced {
			told := "never"
			if p.Down > 0 {
				told = "after " + p.Down.String() + " s"
			}
			d.say("- %s: the balancer called it down %s; the program got its signal after %s s.", p.Server, told, p.Phases["delay"]+p.Phases["drain"])
			for _, w := range p.Warnings {
				d.say("  graced: `%s`", strings.ReplaceAll(w, "`", "'"))
			}
		}
		for _, loss := range r.Losses {
			if loss.Said != "" {
				d.say("- HAProxy of the first: `%s`", strings.ReplaceAll(loss.Said, "`", "'"))
				break
			}
		}
		d.say("")
	}
	if none {
		d.say("Nothing.")
	}
}

func (d *document) protocol() {
	d.say(`
## The protocol

- The pieces, their number and their order are fixed in tests/rolling/protocol.go before a series begins.
- %d runs go side by side.
- Each run has its control directly ahead: the same servers and balancer, the same load, for %s, without a replace.
- A run is void if its control lost a request, or if the generator was late by more than %s, in either load; by nothing else. That is
  decided before its losses are counted. A void run is measured again, %d times at most. All are below.
- All parts of a run have the same real-time priority, where that is allowed, so that other work on the machine is not measured.
- Each container has its own process, network, mount and IPC namespaces, and an address on a bridge. With its end its interface is
  gone: what it had not delivered is lost, and packets to it get no answer. The next one has the same address.
- The balancers give up on a connection after 1 s.
- The server that a request went to is the balancer's word; a request that ended in an answer of HTTP 200 of the right length and
  content is not lost, all others are.`,
		lanes, piece("", "", "").Control, lateLimit, attempts-1)
	where := map[string]map[string]bool{}
	for _, r := range d.records {
		for name, text := range r.Where {
			if where[name] == nil {
				where[name] = map[string]bool{}
			}
			where[name][cmp.Or(version.FindString(text), text)] = true
		}
	}
	d.say("\nMeasured with (commit: what graced was built from):\n")
	for _, name := range slices.Sorted(maps.Keys(where)) {
		d.say("- %s: %s", name, strings.Join(slices.Sorted(maps.Keys(where[name])), "; "))
	}
}

// runs is the table of every run, void ones too.
func (d *document) runs() {
	d.say("\n## Every run\n\nIn the order in which they were made. Failed by kind as \"%s\" (no connection), \"%s\" (closed before an answer; HAProxy does so\n"+
		"on a kept connection when the server does not take the request), \"%s\" (the answer broke off) and the balancer's HTTP statuses; the latency of the short requests that went well, in ms, from the moment when they were due; load: of\n"+
		"the machine when the run began, by all that ran on it.", endRefused, endReset, endTruncated)
	var rows [][]string
	for _, r := range d.records {
		note := ""
		if len(r.Strange) > 0 {
			note = strings.Join(r.Strange, "; ")
		}
		if r.Void != "" {
			note = strings.Join([]string{"**void**: " + strings.ReplaceAll(r.Void, "\n", " "), note}, " ")
		}
		var exits []string
		for _, p := range r.Replaced {
			if !slices.Contains(exits, p.Exit) {
				exits = append(exits, p.Exit)
			}
		}
		rows = append(rows, []string{
			r.Spec.Name, r.When.Format(time.TimeOnly), r.Load1, fmt.Sprintf("%d of %d", r.Control.Failed, r.Control.Requests),
			fmt.Sprint(r.Roll.Requests), fmt.Sprint(r.Roll.Failed), counts(r.Roll.ByEnd), ms(r.Roll.Short), late(r),
			span(r, stop), span(r, func(p *Replace) seconds { return p.Total }), strings.Join(exits, ", "), note,
		})
	}
	d.table([]string{"run", "at", "load", "control: lost", "requests", "failed", "how", "p50/p99/max", "late ms", "stop s", "replace s", "exit", ""}, rows)
}

func ms(q Quantiles) string {
	return fmt.Sprintf("%d/%d/%d", time.Duration(q.P50).Milliseconds(), time.Duration(q.P99).Milliseconds(), time.Duration(q.Max).Milliseconds())
}

func late(r *Record) string {
	return fmt.Sprint(time.Duration(max(r.Control.Late, r.Roll.Late)).Milliseconds())
}
