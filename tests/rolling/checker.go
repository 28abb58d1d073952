package main

import (
	"fmt"
	"net/http"
	"time"
)

// checker is a health checker as HAProxy has it: one check each interval, so
// many bad ones in a row for down, so many good ones for up.
type checker struct {
	spec   *Spec
	told   *history
	onTurn func() // after each change; may be nil
	quit   chan struct{}
}

func newChecker(s *Spec) *checker {
	return &checker{spec: s, told: new(history), quit: make(chan struct{})}
}

// watch checks a server until the checker is stopped.
func (c *checker) watch(s *server) {
	client := http.Client{Timeout: c.spec.Inter, Transport: &http.Transport{DisableKeepAlives: true}}
	port, path := c.spec.health()
	url := fmt.Sprintf("http://%s:%d%s", containerAddr(s.index), port, path)
	tick := time.NewTicker(c.spec.Inter)
	defer tick.Stop()
	up, against := true, 0 // checks in a row that speak against up
	for {
		select {
		case <-c.quit:
			return
		case <-tick.C:
		}
		good, why := false, ""
		resp, err := client.Get(url)
		if err == nil {
			resp.Body.Close()
			good, why = resp.StatusCode == http.StatusOK, resp.Status
		} else {
			why = err.Error()
		}
		if good == up {
			against = 0
			continue
		}
		need := c.spec.Fall
		if good {
			need = c.spec.Rise
		}
		if against++; against < need {
			continue
		}
		up, against = good, 0
		c.told.changed(change{Server: s.name(), Up: up, Why: why, at: time.Now()})
		if c.onTurn != nil {
			c.onTurn()
		}
	}
}

func (c *checker) stop() { close(c.quit) }
