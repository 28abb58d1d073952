package main

import (
	"sync"
)

// edge is a balancer inside the client: as a CDN's, it keeps connections to each
// server, obeys readiness by checks of its own, and sends nothing new to a server
// that is down. The connections that it has stay open then, idle: the harder case
// for a drain.
type edge struct {
	*checker
	servers []*server

	mu   sync.Mutex
	out  []bool
	next int
}

func newEdge(j *job, servers []*server) *edge {
	e := &edge{checker: newChecker(&j.Spec), servers: servers, out: make([]bool, len(servers))}
	for _, s := range servers {
		go e.watch(s)
	}
	return e
}

func (e *edge) pick() (addr, server string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for range e.servers {
		e.next = (e.next + 1) % len(e.servers)
		s := e.servers[e.next]
		if up, _ := e.checker.told.up(s.name()); up && !e.out[e.next] {
			return s.target(), s.name()
		}
	}
	return "", ""
}

func (e *edge) setOut(index int, out bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.out[index] = out
	return nil
}

func (e *edge) history() *history { return e.checker.told }
