package main

import (
	"math/rand/v2"
	"sync"
	"time"
)

// result is how one request ended.
type result struct {
	kind, end string
	path      string
	server    string    // by the balancer's word, "" if it had none
	due       time.Time // when it was to be sent
	ended     time.Time
	err       error
}

// load sends requests at a fixed rate, whatever becomes of the earlier ones: a
// latency counts from the moment at which the request was due.
type load struct {
	spec  *Spec
	front balancer
	mix   *mix
	pool  pool

	start time.Time
	enough,
	ended chan struct{}

	mu      sync.Mutex
	results []result
	late    time.Duration // the worst lateness of a request: how starved the generator was
}

func startLoad(s *Spec, front balancer) (*load, error) {
	app, err := s.app()
	if err != nil {
		return nil, err
	}
	m, err := parseMix(s.Mix, app.static)
	if err != nil {
		return nil, err
	}
	l := &load{spec: s, front: front, mix: m, start: time.Now(), enough: make(chan struct{}), ended: make(chan struct{})}
	go l.run()
	return l, nil
}

func (l *load) run() {
	defer close(l.ended)
	dice := rand.New(rand.NewPCG(uint64(l.spec.Seed), 0))
	gap := time.Second / time.Duration(l.spec.Rate)
	var all sync.WaitGroup
	defer all.Wait() // each is bounded by its own limit
	for due := l.start; ; due = due.Add(gap) {
		select {
		case <-l.enough:
			return
		case <-time.After(time.Until(due)):
		}
		l.late = max(l.late, time.Since(due))
		q := l.mix.draw(dice)
		all.Go(func() { l.one(q, due) })
	}
}

func (l *load) one(q request, due time.Time) {
	addr, server := l.front.pick()
	r := result{kind: q.kind, path: q.path, end: endNowhere, due: due}
	if addr != "" {
		r.end, r.server, r.err = l.pool.exchange(addr, q, l.spec.Limit)
		if server != "" {
			r.server = server
		}
	}
	r.ended = time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.results = append(l.results, r)
}

// finish ends the load and waits for the answers that are still due.
func (l *load) finish() []result {
	close(l.enough)
	<-l.ended
	l.pool.close()
	return l.results
}
