package main

import (
	"fmt"
	"time"
)

// protocol is all that is measured, in its order. It is fixed before a series of
// runs begins. Each run has its control, a load without a replace, directly
// ahead on the same servers. A void run is measured again, twice at most, and
// stays in the results.
func protocol() []Spec {
	var list []Spec
	for _, group := range [][]Spec{mainPieces(), otherInits(), otherPrograms(), otherBalancers(), longPieces(), delayPieces(), quickPieces()} {
		list = append(list, group...)
	}
	return list
}

// promised are the programs that must not lose a request.
var promised = []string{"python", "node", "nginx", "shwrap", "ignoreterm", "httpd"}

// Those programs behind HAProxy with Docker's grace of 10s, and behind the edge
// with Kubernetes' 30s; tini beside graced, so that what disturbs the machine
// disturbs both.
func mainPieces() []Spec {
	var list []Spec
	for _, app := range promised {
		list = append(list,
			piece("haproxy", "tini", app),
			piece("haproxy", "graced", app),
			piece("edge", "tini", app).with(30*time.Second),
			piece("edge", "graced", app).with(30*time.Second),
		)
	}
	return list
}

// The other ways to end a container.
func otherInits() []Spec {
	var list []Spec
	for _, init := range []string{"bare", "dumb-init", "sleep5", "sleep5-told"} {
		for _, app := range []string{"python", "nginx"} {
			list = append(list, piece("haproxy", init, app).replacing(2))
		}
	}
	return list
}

// Programs for which there is more to be said.
func otherPrograms() []Spec {
	var list []Spec
	for _, app := range []string{"php", "websocket", "h2c", "go-naive", "go-drain"} {
		list = append(list,
			piece("haproxy", "tini", app).with(30*time.Second).replacing(2),
			piece("haproxy", "graced", app).with(30*time.Second).replacing(2),
		)
	}
	pooled := piece("haproxy", "graced", "h2c").with(30 * time.Second).replacing(2)
	pooled.Name, pooled.About = "haproxy/graced/h2c-pooled", "HAProxy holds idle connections to a server that is down"
	pooled.Pooled = true
	return append(list, pooled)
}

// nginx as the balancer.
func otherBalancers() []Spec {
	var list []Spec
	for _, front := range []string{"nginx", "nginx-passive"} {
		for _, init := range []string{"tini", "graced"} {
			list = append(list, piece(front, init, "python").replacing(2))
		}
	}
	return list
}

// Requests that take longer than a sleep, and streams that take longer than the
// grace.
func longPieces() []Spec {
	var list []Spec
	for _, init := range []string{"tini", "sleep5-told", "graced"} {
		s := piece("haproxy", init, "python").with(30 * time.Second).replacing(2)
		s.Name, s.About = "long/"+init, "3 % of the requests take 6 to 8 s"
		s.Mix = "short=57,new=15,slow=7,stream=3,post=15,long=3"
		list = append(list, s)
	}
	s := piece("haproxy", "graced", "python").replacing(2)
	s.Name, s.About = "streams/graced", "1 % of the requests are streams of 18 to 25 s, with a grace of 10 s"
	s.Mix, s.Limit = "short=75,new=10,post=14,download=1", 60*time.Second
	return append(list, s)
}

// The delay, auto, against HAProxy's ways to check.
func delayPieces() []Spec {
	var list []Spec
	for _, inter := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second} {
		for _, fall := range []int{2, 3} {
			list = append(list, delayPiece(inter, fall, 30*time.Second))
		}
	}
	return append(list,
		delayPiece(5*time.Second, 3, time.Minute),
		delayPiece(2*time.Second, 2, 10*time.Second))
}

func delayPiece(inter time.Duration, fall int, grace time.Duration) Spec {
	s := piece("haproxy", "graced", "python").with(grace).replacing(1)
	s.Name = fmt.Sprintf("delay/inter%s-fall%d-grace%s", inter, fall, short(grace))
	s.Inter, s.Fall = inter, fall
	return s
}

// Nobody asks for readiness, and no request is under way.
func quickPieces() []Spec {
	var list []Spec
	for _, app := range []string{"python", "node"} {
		s := piece("none", "graced", app)
		s.About = "no load, and nobody asks for readiness"
		list = append(list, s)
	}
	return list
}

// with is the same with another grace.
func (s Spec) with(grace time.Duration) Spec {
	s.Grace = grace
	return s
}

// replacing is the same with so many servers replaced.
func (s Spec) replacing(n int) Spec {
	s.Replaced = n
	return s
}

// short is a duration without its zeros: 1m, not 1m0s.
func short(d time.Duration) string {
	if d%time.Minute == 0 {
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}
