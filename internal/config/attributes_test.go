package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// attributeCases has for every attribute of the schema what is taken and what is
// refused, as it stands in a file. Wrong types are tried on each besides, and
// the refusals are in testdata/attributes.golden.
var attributeCases = map[string]struct{ good, bad []string }{
	"platform":    {[]string{`"kubernetes"`, `"auto"`}, []string{`"kubernets"`, `""`, `kubernetes`}},
	"grace":       {[]string{`"30s"`, `"24h"`, `lower("30S")`}, quotedDurations(`"0s"`, `"500ms"`)},
	"margin":      {[]string{`"2s"`, `"100ms"`}, []string{`"0s"`, `"50ms"`, `2`}},
	"grace_spent": {[]string{`"0s"`, `"5s"`}, []string{`"-1s"`, `5`}},

	"shutdown.signals": {[]string{`["SIGTERM", "SIGRTMIN+3"]`, `["37"]`}, []string{`[]`, `"SIGTERM"`, `["SIGTERM", "SIGFOO", "SIGKILL"]`, `["TERM", "SIGTERM"]`, `[15]`, `[null]`}},
	"shutdown.repeat":  {[]string{`"ignore"`, `"escalate"`}, []string{`"twice"`}},
	"shutdown.delay":   {[]string{`"5s"`, `"auto"`, `"0s"`}, []string{`5`, `"5"`, `auto`, `"off"`}},
	"shutdown.cleanup": {[]string{`"2s"`, `"100ms"`}, []string{`2`, `"x"`, `"0s"`}},

	"shutdown.drain.until":  {[]string{`"auto"`, `"idle"`, `"closed"`, `"off"`}, []string{`"idl"`, `idle`}},
	"shutdown.drain.max":    {[]string{`"10s"`}, []string{`"0s"`, `10`}},
	"shutdown.drain.quiet":  {[]string{`"2s"`, `"0s"`}, []string{`2`, `"2"`}},
	"shutdown.drain.unsure": {[]string{`"5s"`}, []string{`5.5`, `"5"`}},
	"shutdown.drain.ports":  {[]string{`[8080]`, `[1, 65535]`}, []string{`8080`, `[]`, `[0]`, `[80, 70000]`, `["80"]`, `[80.5]`, `[-1]`}},

	"process.command": {[]string{`["nginx"]`, `["sh", "-c", ""]`, `jsondecode("[\"a\",\"b\"]")`}, []string{`"nginx -g x"`, `[]`, `[""]`, `["a", 5]`, `["a\u0000b"]`, `[["a"]]`}},
	"process.after":   {[]string{`["other"]`}, []string{`"other"`, `["nobody"]`, `["oter"]`, `["web"]`, `["other", "other"]`, `[""]`}},
	"process.main":    {[]string{`true`, `false`}, []string{`"yes"`, `yes`}},
	"process.env":     {[]string{`{ A = "1", B = 2, C = true, "D.E" = "" }`, `{}`}, []string{`["A=1"]`, `{ "A=B" = "1" }`, `{ "" = "1" }`, `{ A = ["1"] }`, `{ A = null }`, `{ A = "1", A = "2" }`, `{ A = "\u0000" }`}},
	"process.dir":     {[]string{`"/srv"`}, []string{`""`, `"\u0000"`}},
	"process.user":    {[]string{`"www-data"`, `"33"`, `33`}, []string{`"nobody"`, `""`, `-1`, `4294967295`, `"www-dat"`}},
	"process.group":   {[]string{`"www-data"`, `0`}, []string{`"staff"`, `1.5`}},
	"process.target":  {[]string{`"process"`, `"group"`, `"all"`}, []string{`"everyone"`}},
	"process.rewrite": {[]string{`{ USR1 = "HUP", USR2 = "" }`}, []string{`{ TERM = "HUP" }`, `{ FOO = "HUP" }`, `{ USR1 = "FOO" }`, `{ USR1 = 1 }`, `{ USR1 = "HUP", SIGUSR1 = "" }`, `{ CHLD = "" }`}},
	"process.output":  {[]string{`"inherit"`, `"prefix"`}, []string{`"prefixed"`}},

	"process.stop.wait": {[]string{`"8s"`}, []string{`8`, `"0s"`, `"-8s"`}},

	"process.restart.when":    {[]string{`"never"`, `"failure"`, `"always"`}, []string{`"on-failure"`}},
	"process.restart.backoff": {[]string{`"100ms"`}, []string{`0.1`, `"0s"`}},
	"process.restart.max":     {[]string{`"30s"`}, []string{`30`}},
	"process.restart.limit":   {[]string{`5`}, []string{`0`, `-1`, `"5"`, `5.5`, `99999999`}},
	"process.restart.within":  {[]string{`"1m"`}, []string{`60`, `"1 minute"`}},

	"process.probe.http":      {[]string{`"http://127.0.0.1:80/ping"`, `"https://x/"`}, []string{`"127.0.0.1:80"`, `"http://"`, `"http://x:0/"`, `"http://a:b@x/"`, `"::"`}},
	"process.probe.tcp":       {[]string{`"127.0.0.1:80"`, `"[::1]:80"`}, []string{`":80"`, `"x"`, `"x:99999"`, `"x:http"`, `80`}},
	"process.probe.exec":      {[]string{`["/bin/true"]`}, []string{`"/bin/true"`, `[]`}},
	"process.probe.grpc":      {[]string{`"127.0.0.1:9000"`}, []string{`"http://x"`}},
	"process.probe.file":      {[]string{`"/run/ready"`}, []string{`""`, `"/run/"`}},
	"process.probe.notify":    {[]string{`true`}, []string{`false`, `"ready"`}},
	"process.probe.listening": {[]string{`true`}, []string{`false`, `80`}},
	"process.probe.started":   {[]string{`true`}, []string{`false`}},
	"process.probe.every":     {[]string{`"1s"`}, []string{`1`, `"1ms"`}},
	"process.probe.timeout":   {[]string{`"500ms"`}, []string{`500`, `"0s"`}},
	"process.probe.rise":      {[]string{`1`}, []string{`0`}},
	"process.probe.fall":      {[]string{`3`}, []string{`"3"`, `1e3`}},

	"hook.at":      {[]string{`"pre_start"`, `"post_ready"`, `"pre_stop"`, `"post_stop"`}, []string{`"prestop"`, `""`}},
	"hook.command": {[]string{`["./flush"]`}, []string{`"./flush"`}},
	"hook.timeout": {[]string{`"10s"`}, []string{`"0s"`, `10`}},

	"announce.http":    {[]string{`"https://lb.internal/v1"`}, []string{`"lb.internal"`}},
	"announce.file":    {[]string{`"/run/draining"`}, []string{`""`}},
	"announce.agent":   {[]string{`"127.0.0.1:8991"`}, []string{`":8991"`}},
	"announce.method":  {[]string{`"PATCH"`}, []string{`"patch"`, `"HEAD"`}},
	"announce.headers": {[]string{`{ Authorization = "x" }`}, []string{`{ "A B" = "x" }`, `{ A = "x\ny" }`, `{ A = 5 }`}},
	"announce.body":    {[]string{`jsonencode({ state = "draining" })`, `""`}, []string{`{ state = "draining" }`}},
	"announce.retries": {[]string{`0`, `3`}, []string{`-1`, `101`}},

	"http.listen":  {[]string{`":8990"`, `"off"`}, []string{`8990`, `"8990"`, `":70000"`}},
	"http.ready":   {[]string{`["/readyz", "/healthz"]`}, []string{`"/readyz"`, `["readyz"]`, `[]`, `["/r?x"]`, `["/livez"]`, `["/metrics"]`}},
	"http.live":    {[]string{`["/live"]`}, []string{`["live"]`, `["/statusz"]`}},
	"http.startup": {[]string{`["/started"]`}, []string{`["/started", "/started"]`}},

	"metrics.path":     {[]string{`"/metrics"`, `""`}, []string{`"metrics"`, `"/readyz"`}},
	"metrics.textfile": {[]string{`"/var/lib/x.prom"`, `""`}, []string{`"/var/lib/"`}},
	"metrics.push":     {[]string{`"http://pushgateway:9091"`, `""`}, []string{`"pushgateway:9091"`}},

	"control.socket": {[]string{`"auto"`, `"off"`, `"/run/graced.sock"`}, []string{`"on"`, `""`}},
	"report.path":    {[]string{`"/dev/termination-log"`, `""`}, []string{`"/dev/"`}},
	"log.format":     {[]string{`"json"`, `"text"`}, []string{`"xml"`}},
	"log.level":      {[]string{`"debug"`}, []string{`"warning"`, `3`}},
	"exit.codes":     {[]string{`{ "143" = 0, stopped = 0 }`, `{ 143 = 0 }`}, []string{`{ "143" = "0" }`, `{ "300" = 0 }`, `{ x = 0 }`, `{ "1" = 256 }`, `[143]`}},
}

func quotedDurations(more ...string) []string {
	var list []string
	for _, d := range durations() {
		list = append(list, fmt.Sprintf("%q", d))
	}
	return append(list, append(more, "30", "1e3", "-30", "30s", "0.5")...)
}

// besides has what a block needs to be right but for the attribute in question.
func besides(path string) (outside, inside string) {
	block, attr, _ := strings.Cut(path, ".")
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		block, attr = path[:i], path[i+1:]
	}
	unless := func(names string, line string) string {
		if slices.Contains(strings.Fields(names), attr) {
			return ""
		}
		return line + "\n"
	}
	switch block {
	case "process":
		outside = "process \"other\" {\n  command = [\"y\"]\n}\n"
		inside = unless("command", `  command = ["x"]`)
	case "process.restart":
		inside = unless("when", `  when = "failure"`) + unless("when max within limit", `  max = "1m"`)
	case "process.probe":
		inside = unless("http tcp exec grpc file notify listening started", `  http = "http://x/"`)
	case "hook":
		inside = unless("at", `  at = "post_stop"`) + unless("command", `  command = ["x"]`) + unless("timeout", `  timeout = "1s"`)
	case "announce":
		inside = unless("http file agent", `  http = "http://x/"`)
	}
	return outside, inside
}

// labels of the blocks that have one.
var labels = map[string]string{"process": `"web"`, "stop": `"SIGTERM"`, "probe": `"ready"`, "hook": `"flush"`, "announce": `"lb"`}

// fileWith is a file that is right but for one attribute.
func fileWith(path, value string) string {
	names := strings.Split(path, ".")
	outside, inside := besides(path)
	text := fmt.Sprintf("%s  %s = %s\n", inside, names[len(names)-1], value)
	for i := len(names) - 2; i >= 0; i-- {
		name := names[i]
		command := ""
		if name == "process" && i < len(names)-2 {
			command = "  command = [\"x\"]\n"
		}
		text = name + " " + labels[name] + " {\n" + command + text + "}\n"
	}
	return outside + text
}

// walk calls do for every attribute of the schema.
func walk(b *block, path string, do func(path string, a *attribute)) {
	for i := range b.attrs {
		do(dotted(path, b.attrs[i].name), &b.attrs[i])
	}
	for i := range b.blocks {
		walk(&b.blocks[i], dotted(path, b.blocks[i].name), do)
	}
}

// loadWith reads a file; a command is given where the file has no process.
func loadWith(text string) (*Config, *Problems) {
	if strings.Contains(text, "process ") {
		return Load(withFile(text))
	}
	return Load(withFile(text, "--", "x"))
}

func TestEveryAttribute(t *testing.T) {
	var b strings.Builder
	schema := newLoader(world()).schema()
	seen := map[string]bool{}
	walk(&schema, "", func(path string, a *attribute) {
		seen[path] = true
		cases, ok := attributeCases[path]
		if !ok || len(cases.good) == 0 || len(cases.bad) == 0 {
			t.Errorf("%s has no good or no bad value here", path)
			return
		}
		for _, value := range append([]string{a.example}, cases.good...) {
			text := fileWith(path, value)
			if path == "process.after" {
				text = fileWith(path, strings.ReplaceAll(value, "php", "other"))
			}
			in := withFile(text)
			if !strings.Contains(text, "process ") {
				in = withFile(text, "--", "x")
			}
			in.Environ = []string{"LB_TOKEN=secret"}
			if _, p := Load(in); p != nil {
				t.Errorf("%s = %s is refused:\n%s", path, value, told(t, p))
			}
		}
		for _, value := range append(slices.Clone(cases.bad), wrongTypes(path, a)...) {
			_, p := loadWith(fileWith(path, value))
			fmt.Fprintf(&b, "## %s = %.80s\n\n%s", path, value, told(t, p))
			if p == nil {
				t.Errorf("%s = %s is taken", path, value)
			} else if !namesIt(p, a.name) {
				t.Errorf("%s = %s: no problem is at the attribute:\n%s", path, value, told(t, p))
			}
		}
	})
	for path := range attributeCases {
		if !seen[path] {
			t.Errorf("the schema has no %s", path)
		}
	}
	golden(t, "attributes.golden", b.String())
}

// TestEveryTime: an attribute that is a time takes none without a unit, none that is
// negative, and none that is too long; it shows how it is right.
func TestEveryTime(t *testing.T) {
	schema := newLoader(world()).schema()
	var times []string
	walk(&schema, "", func(path string, a *attribute) {
		if _, err := time.ParseDuration(strings.Trim(a.example, `"`)); err != nil {
			return
		}
		times = append(times, path)
		for _, value := range quotedDurations() {
			_, p := loadWith(fileWith(path, value))
			if p == nil {
				t.Errorf("%s = %.80s is taken", path, value)
				continue
			}
			if !namesIt(p, a.name) {
				t.Errorf("%s = %.80s: no problem is at the attribute:\n%s", path, value, told(t, p))
			}
			if text := told(t, p); value == "30" && !strings.Contains(text, `"30s"`) {
				t.Errorf("%s = %s: it does not say how it is right:\n%s", path, value, text)
			}
		}
	})
	if len(times) < 14 {
		t.Errorf("only these are times: %q", times)
	}
}

// TestStopSignals has the signals that a rung of a file may name.
func TestStopSignals(t *testing.T) {
	file := func(sig string) string {
		return fmt.Sprintf("process \"web\" {\n  command = [\"x\"]\n  stop %q { wait = \"5s\" }\n}\n", sig)
	}
	for sig, want := range map[string]int{"TERM": 15, "SIGTERM": 15, "15": 15, "RTMIN+3": 37, "SIGRTMIN+3": 37, "rtmin+3": 37, "37": 37, "quit": 3, "RTMAX": 64} {
		c := load(t, withFile(file(sig)))
		if rungs := c.Spec.Processes[0].Ladder.V; len(rungs) != 1 || int(rungs[0].Signal) != want {
			t.Errorf("%q is %v, want signal %d", sig, rungs, want)
		}
	}
	for _, sig := range []string{"", "0", "65", "-1", "32", "33", "SIGCHLD", "SIGKILL", "STOP", "SIGTREM", "SIGFOO", "RTMIN+31", "TERM:5s"} {
		_, p := Load(withFile(file(sig)))
		if p == nil {
			t.Errorf("%q is taken", sig)
		} else if text := told(t, p); !strings.Contains(text, "process.web.stop") || !strings.Contains(text, "graced.hcl line 3") {
			t.Errorf("%q: the message does not say where:\n%s", sig, text)
		}
	}
}

// namesIt says whether a problem has the attribute's name and a place. What a
// parser cannot read has a place only.
func namesIt(p *Problems, name string) bool {
	return slices.ContainsFunc(p.All(), func(one Problem) bool {
		path := strings.Split(one.Source.Name, ".")
		return one.Source.Line > 0 && (path[len(path)-1] == name || one.Source.Name == "")
	})
}

// wrongTypes has a value of every type that the attribute does not have.
func wrongTypes(path string, a *attribute) []string {
	types := map[string]string{"text": `"\t"`, "number": "12345678", "bool": "true", "list": "[[]]", "map": "{ a = {} }", "null": "null"}
	switch {
	case strings.HasPrefix(a.example, `"`) || strings.HasPrefix(a.example, "jsonencode"):
		delete(types, "text")
	case strings.HasPrefix(a.example, "t"):
		delete(types, "bool")
	case strings.HasPrefix(a.example, "["):
		delete(types, "list")
	case strings.HasPrefix(a.example, "{"):
		delete(types, "map")
	default:
		delete(types, "number")
	}
	if path == "process.user" || path == "process.group" {
		delete(types, "number")
	}
	var list []string
	for _, name := range []string{"text", "number", "bool", "list", "map", "null"} {
		if value, ok := types[name]; ok {
			list = append(list, value)
		}
	}
	return list
}

// TestJSONSyntax reads the file of every attribute's example in the other syntax.
func TestJSONSyntax(t *testing.T) {
	schema := newLoader(world()).schema()
	walk(&schema, "", func(path string, a *attribute) {
		if strings.ContainsAny(a.example, "$") || strings.HasPrefix(a.example, "jsonencode") || path == "process.after" {
			return
		}
		for _, value := range []string{a.example, "null", `"\u0000"`} {
			text := jsonWith(path, value)
			in := named("graced.json", text, "--", "x")
			_, p := Load(in)
			if value == a.example && p != nil {
				t.Errorf("%s is refused:\n%s", text, told(t, p))
			} else if value != a.example && path != "announce.body" && (p == nil || !namesIt(p, a.name)) {
				t.Errorf("%s is taken or not placed: %v", text, p)
			}
		}
	})
}

// jsonWith is fileWith in JSON.
func jsonWith(path, value string) string {
	names := strings.Split(path, ".")
	_, inside := besides(path)
	var pairs []string
	for line := range strings.Lines(inside) {
		if name, v, ok := strings.Cut(strings.TrimSpace(line), " = "); ok {
			pairs = append(pairs, fmt.Sprintf("%q: %s", name, v))
		}
	}
	if strings.HasPrefix(value, "{") {
		value = strings.NewReplacer(" = ", ": ", "USR1", `"USR1"`, "USR2", `"USR2"`, "TZ", `"TZ"`).Replace(value)
	}
	text := "{" + strings.Join(append(pairs, fmt.Sprintf("%q: %s", names[len(names)-1], value)), ", ") + "}"
	for i := len(names) - 2; i >= 0; i-- {
		if label, ok := labels[names[i]]; ok {
			text = "{" + label + ": " + text + "}"
		}
		text = fmt.Sprintf("{%q: %s}", names[i], text)
	}
	if !json.Valid([]byte(text)) {
		panic("the test makes wrong JSON: " + text)
	}
	return text
}
