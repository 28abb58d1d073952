package main

import (
	"sync"
	"time"
)

// maxIdle is how long the client keeps an idle connection: less than the 5 s of
// node, so that a request never meets a server that is closing it.
const maxIdle = 4 * time.Second

// pool keeps the client's idle connections by address.
type pool struct {
	mu   sync.Mutex
	idle map[string][]*conn
}

func (p *pool) get(addr string) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[addr]
	for len(list) > 0 {
		c := list[len(list)-1]
		list = list[:len(list)-1]
		p.idle[addr] = list
		if time.Since(c.idle) < maxIdle && !c.closedByPeer() {
			return c
		}
		c.Close()
	}
	return nil
}

func (p *pool) put(addr string, c *conn) {
	c.idle = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle == nil {
		p.idle = make(map[string][]*conn)
	}
	p.idle[addr] = append(p.idle[addr], c)
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, list := range p.idle {
		for _, c := range list {
			c.Close()
		}
	}
	p.idle = nil
}
