package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// programs are the apps in words.
var programs = map[string]string{
	"python":     "python, `http.server`",
	"node":       "node, `http`",
	"nginx":      "nginx, static files",
	"shwrap":     "`sh` that starts python without exec",
	"ignoreterm": "python that ignores SIGTERM",
	"httpd":      "apache httpd, static files",
	"php":        "php-fpm behind nginx in one container",
	"websocket":  "WebSockets that are quiet for 2 to 6 s (Go, no handlers)",
	"h2c":        "HTTP/2 without TLS, as gRPC has it (Go, no handlers)",
	"go-naive":   "Go that calls Shutdown at once",
	"go-drain":   "Go with a drain of its own: 503, 4 s, Shutdown",
}

func (d *document) programs() {
	d.say("\n## Programs for which there is more to be said\n\nHAProxy, grace 30 s, two replaces. Lost requests a replacement, and how long the stop took.")
	var rows [][]string
	for _, app := range []string{"php", "websocket", "h2c", "go-naive", "go-drain"} {
		rows = append(rows, []string{programs[app], d.each("haproxy/tini/" + app), d.each("haproxy/graced/" + app)})
	}
	rows = append(rows, []string{"HTTP/2, HAProxy's own pooling", "–", d.each("haproxy/graced/h2c-pooled")})
	d.table([]string{"program", "tini", "graced"}, rows)
	d.say("HAProxy holds one idle connection or more to each server, also to one that is down. `--drain closed` then lasts to its ceiling;\n" +
		"nothing is lost by that. With `pool-max-conn 0` on HAProxy's `server` line, as for the others of this table, it ends with the\n" +
		"last request. A program that drains by itself does so after graced's drain: the two add up.")
}

func (d *document) balancers() {
	d.say("\n## nginx as the balancer\n\nThe open nginx has no health checks. Either somebody writes its list of servers when readiness changes, and reloads it, as ingress\n" +
		"controllers do; or it learns of a server by failing on it (`max_fails`), and readiness says nothing to it. Lost requests a\n" +
		"replacement (python, grace 10 s):")
	d.table([]string{"nginx", "tini", "graced"}, [][]string{
		{"reloaded on readiness", d.each("nginx/tini/python"), d.each("nginx/graced/python")},
		{"passive", d.each("nginx-passive/tini/python"), d.each("nginx-passive/graced/python")},
	})
	d.say("A balancer that does not obey readiness sends until the connection is refused. graced waits for a gap, finds none, and the\n" +
		"program gets its signal at the drain's ceiling: what is in flight then is lost, and by that nginx learns of it.")
}

func (d *document) long() {
	d.say("\n## Long requests\n\n3 %% of the requests take 6 to 8 s; grace 30 s; HAProxy, python, two replaces.")
	var rows [][]string
	for _, in := range []struct{ name, what string }{{"tini", "tini"}, {"sleep5-told", "sleep 5, and the platform tells the balancer"}, {"graced", "graced"}} {
		rows = append(rows, []string{in.what, d.lost("long/" + in.name), d.each("long/" + in.name)})
	}
	d.table([]string{"", "lost", "a replacement; the stop took"}, rows)
	r := d.of("streams/graced")
	if r == nil {
		return
	}
	d.say("Streams that are longer than the grace: 1 %% of the requests take 18 to 25 s, the grace is 10 s, the budget 9 s. At the drain's ceiling graced says\n" +
		"which connections are busy, and the program gets its signal; the budget holds:")
	rows = nil
	for _, p := range r.Replaced {
		told := "nothing"
		for _, w := range p.Warnings {
			if strings.Contains(w, `"phase":"drain"`) {
				told = fmt.Sprintf("%d busy at %s s", p.Busy, p.Phases["delay"]+p.Phases["drain"])
			}
		}
		rows = append(rows, []string{p.Server, told, p.Stop.String() + " s", p.Exit, yes(p.Killed)})
	}
	d.table([]string{"server", "graced said", "the stop took", "exit code", "killed by the platform"}, rows)
	cut := 0
	for end, n := range r.Roll.ByKind[kindDownload] {
		if end != endOK {
			cut += n
		}
	}
	d.say("%d of %d streams were cut, and %d of %d other requests lost.", cut, sumOf(r.Roll.ByKind[kindDownload]), r.Roll.Failed-cut, r.Roll.Requests-sumOf(r.Roll.ByKind[kindDownload]))
}

func (d *document) delay() {
	d.say("\n## The delay, `auto`, against HAProxy's checks\n\nThe delay ends once each asker was told three times and its interval, at most 1 s, has passed once more; at most its share of the\n" +
		"grace. Times in seconds from the stop (python, one replace).")
	var rows [][]string
	for _, s := range delayPieces() {
		r := d.of(s.Name)
		if r == nil {
			rows = append(rows, []string{s.Inter.String(), fmt.Sprint(s.Fall), s.Grace.String(), "", "", "", "", d.lost(s.Name)})
			continue
		}
		why := "0"
		if r.Roll.Failed > 0 {
			why = fmt.Sprintf("%d: %d cut by the signal, %d sent after it", r.Roll.Failed, r.Cut, r.Sent)
		}
		rows = append(rows, []string{s.Inter.String(), fmt.Sprint(s.Fall), s.Grace.String(), span(r, down), span(r, phase("delay")),
			span(r, phase("drain")), span(r, stop), why})
	}
	d.table([]string{"inter", "fall", "grace", "HAProxy says DOWN", "the delay took", "the drain took", "the stop took", "lost"}, rows)
	d.say("Where HAProxy takes longer than the delay's share, the drain goes on, since a server that still gets requests is busy. What is\n" +
		"lost then is what is under way at the drain's ceiling, and what comes after: the grace is too short for such checks.")
}

// mostOver is how much longer than needed a stop may take.
const mostOver = 2500 * time.Millisecond

func (d *document) needed() {
	d.say("\n## No longer than needed\n\nWhat a stop must wait for is the balancer's reaction and the last answer. Promised: at most %s more, the quiet time and a look. Of all valid runs\n"+
		"of graced behind a balancer, in seconds from the stop:", mostOver)
	var rows [][]string
	for _, r := range d.records {
		if r.Void != "" || r.Spec.Init != "graced" || r.Spec.Front == "none" {
			continue
		}
		note := ""
		for _, p := range r.Replaced {
			if time.Duration(p.Over()) > mostOver {
				note = cmp.Or(noteOver[r.Spec.Name], noteOver[r.Spec.App])
			}
		}
		rows = append(rows, []string{r.Spec.Name, span(r, down), span(r, last), span(r, phase("stop")), span(r, stop), span(r, (*Replace).Over), note})
	}
	d.table([]string{"run", "balancer: DOWN", "last answer", "from the signal to the program's end", "the init's end", "more than needed", ""}, rows)
	for _, s := range quickPieces() {
		if r := d.of(s.Name); r != nil {
			var list []string
			for _, p := range r.Replaced {
				list = append(list, fmt.Sprintf("%d ms", time.Duration(p.Stop).Milliseconds()))
			}
			d.say("With no load and nobody who asks for readiness, %s was stopped in %s.", s.App, strings.Join(list, ", "))
		}
	}
}

// noteOver says why a stop takes longer with some programs.
var noteOver = map[string]string{
	"ignoreterm": "ignores SIGTERM: its ladder is waited out, then SIGKILL",
	"go-drain":   "drains 4 s by itself after its signal",
	"httpd":      "its own end: it waits for peers that do not close",
	"h2c":        "the balancer holds idle connections: `closed` waits to its ceiling",

	"streams/graced": "its streams are longer than the grace",
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func sumOf(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}
