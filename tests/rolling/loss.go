package main

import (
	"fmt"
	"strings"
	"time"
)

// Loss is a failed request, and what was going on with its server.
type Loss struct {
	At     seconds // since the load began
	Kind   string
	End    string
	Err    string  `json:",omitempty"`
	Server string  `json:",omitempty"`
	Of     string  `json:",omitempty"` // the server whose replace was under way
	Sent   seconds `json:",omitempty"` // when it was due, from that stop's begin
	Failed seconds `json:",omitempty"` // and when it failed
	Said   string  `json:",omitempty"` // the balancer's line about it
}

// maxLosses bounds what of a run that loses thousands is written down one by one.
const maxLosses = 25

// explain puts down the losses with what is known of them, and what the balancer
// did that no replace explains.
func (r *Record) explain(results []result, h *history, began time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, res := range results {
		if res.end == endOK {
			continue
		}
		r.place(res)
		if len(r.Losses) == maxLosses {
			continue
		}
		loss := Loss{At: seconds(res.due.Sub(began)), Kind: res.kind, End: res.end, Server: res.server}
		if res.err != nil {
			loss.Err = res.err.Error()
		}
		for _, p := range r.Replaced {
			if res.ended.After(p.begin) {
				loss.Of = p.Server
				loss.Sent, loss.Failed = seconds(res.due.Sub(p.begin)), seconds(res.ended.Sub(p.begin))
			}
		}
		loss.Said = h.about(res)
		r.Losses = append(r.Losses, loss)
	}
	for _, c := range h.changes {
		if c.at.Before(began) || c.Up || r.expected(c) {
			continue
		}
		r.Strange = append(r.Strange, fmt.Sprintf("%s DOWN at %ss: %s", c.Server, seconds(c.at.Sub(began)), c.Why))
	}
}

// place counts a failure as cut or as sent too late.
func (r *Record) place(res result) {
	for _, p := range r.Replaced {
		if res.server != "" && res.server != p.Server {
			continue
		}
		at := p.signalled()
		switch back := p.begin.Add(time.Duration(p.Total)); {
		case res.ended.Before(at) || res.due.After(back):
		case res.due.Before(at):
			r.Cut++
			return
		default:
			r.Sent++
			return
		}
	}
}

// about is the balancer's line about a failed request. It writes it when it has
// told the client, or shortly before.
func (h *history) about(res result) string {
	best, gap := "", 100*time.Millisecond
	for _, w := range h.words {
		if d := w.at.Sub(res.ended).Abs(); d < gap && strings.Contains(w.text, " "+res.path+" HTTP/") {
			best, gap = w.text, d
		}
	}
	return best
}

// expected says whether a server's going down belongs to its replace.
func (r *Record) expected(c change) bool {
	for _, p := range r.Replaced {
		if p.Server == c.Server && c.at.After(p.begin) && c.at.Before(p.begin.Add(time.Duration(p.Total))) {
			return true
		}
	}
	return false
}
