package main

import (
	"fmt"
	"sync"
	"time"
)

// balancer stands between the load and the servers.
type balancer interface {
	// pick names the address for the next request, and the server if that is
	// known by now; no address: no server is up.
	pick() (addr, server string)
	// setOut takes a server out of the balancer, or in again, whatever its health.
	setOut(index int, out bool) error
	// history is what became of the servers, by the balancer's own word.
	history() *history
	stop()
}

// startBalancer starts the one that the piece is about.
func startBalancer(j *job, servers []*server) (balancer, error) {
	switch j.Spec.Front {
	case "haproxy":
		return startHAProxy(j, servers)
	case "edge":
		return newEdge(j, servers), nil
	case "nginx", "nginx-passive":
		return startNginx(j, servers)
	}
	return nil, fmt.Errorf("no balancer %q", j.Spec.Front)
}

// change is that a server went up or down for the balancer.
type change struct {
	Server string
	Up     bool
	Why    string
	at     time.Time
}

// history is the list of changes, and the balancer's words about failures.
type history struct {
	mu      sync.Mutex
	changes []change
	words   []word
}

// word is a line of the balancer's log.
type word struct {
	at   time.Time
	text string
}

func (h *history) changed(c change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes = append(h.changes, c)
}

func (h *history) said(at time.Time, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.words = append(h.words, word{at, text})
}

// first is the first change of a server to up, or down, after a time.
func (h *history) first(server string, up bool, after time.Time) (change, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.changes {
		if c.Server == server && c.Up == up && c.at.After(after) {
			return c, true
		}
	}
	return change{}, false
}

// up tells whether a server is up, and since when.
func (h *history) up(server string) (bool, time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	up, since := true, time.Time{}
	for _, c := range h.changes {
		if c.Server == server {
			up, since = c.Up, c.at
		}
	}
	return up, since
}

// waitUp waits until a server that began at start takes traffic. If the balancer
// never saw the one before it go, that is once it had the time to.
func (h *history) waitUp(s *Spec, server string, start time.Time) error {
	notice := time.Duration(max(s.Fall, s.Rise)+1) * s.Inter
	for end := start.Add(comeUpLimit + notice); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if up, since := h.up(server); up && (since.After(start) || time.Since(start) > notice) {
			return nil
		}
	}
	return fmt.Errorf("the balancer never saw server %s up", server)
}
