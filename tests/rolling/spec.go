package main

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"time"
)

// Spec is one piece: what is measured and under which circumstances.
type Spec struct {
	Name  string // front/init/app, and more where that is not unique
	About string `json:",omitempty"`

	Front string // haproxy, edge, nginx, nginx-passive, or none: nobody asks, no load
	Init  string // see inits
	App   string // see apps

	Pooled bool `json:",omitempty"` // HAProxy holds idle connections to a server, also when it is down

	Servers  int           // side by side
	Replaced int           // how many of them are replaced, one after the other
	Rate     int           // requests a second, open loop
	Mix      string        // kinds of requests and their weights
	Grace    time.Duration // the platform's, and told to graced
	Options  []string      `json:",omitempty"` // more flags of graced
	Inter    time.Duration // between two health checks
	Fall     int           // bad ones that take a server out
	Rise     int           // good ones that take it in
	Boot     time.Duration // from a container's end to the next one's start
	Settle   time.Duration // from a server's return to the next replace
	Control  time.Duration // of the control load that goes ahead, without a replace
	Limit    time.Duration // of one request
	Seed     int64
}

// piece is a Spec with what most have in common.
func piece(front, init, app string) Spec {
	return Spec{
		Name: front + "/" + init + "/" + app, Front: front, Init: init, App: app,
		Servers: 3, Replaced: 3, Rate: 250, Mix: cmp.Or(apps[app].mix, usualMix),
		Grace: 10 * time.Second, Inter: time.Second, Fall: 2, Rise: 2,
		Boot: 2 * time.Second, Settle: time.Second,
		Control: 5 * time.Second, Limit: 15 * time.Second, Seed: 1,
	}
}

// choose picks what to measure, in the protocol's order: with patterns the
// pieces that match one, else those without a valid record yet.
func choose(all []Spec, done []*Record, patterns []string) ([]Spec, error) {
	if len(patterns) == 0 {
		return slices.DeleteFunc(all, func(s Spec) bool { return settled(s.Name, done) }), nil
	}
	var chosen []Spec
	used := make([]bool, len(patterns))
	for _, s := range all {
		hit := false
		for i, pattern := range patterns {
			match, err := path.Match(pattern, s.Name)
			if err != nil {
				return nil, fmt.Errorf("pattern %q: %w", pattern, err)
			}
			hit, used[i] = hit || match, used[i] || match
		}
		if hit {
			chosen = append(chosen, s)
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		return nil, fmt.Errorf("the protocol has no piece %q (-list shows them)", patterns[i])
	}
	return chosen, nil
}

// attempts is how often a piece is measured if its runs are void.
const attempts = 3

// settled says whether a piece needs no further run: one was valid, or as many
// were void as there may be.
func settled(name string, done []*Record) bool {
	void := 0
	for _, r := range done {
		switch {
		case r.Spec.Name != name:
		case r.Void == "":
			return true
		default:
			void++
		}
	}
	return void >= attempts
}
