package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"graced/internal/plan"
)

// listed are the values that are in force.
func listed(t *testing.T, in Input) []Value {
	t.Helper()
	c := load(t, in)
	p, err := plan.New(c.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return c.Values(p)
}

// at are those of a path of the schema.
func at(values []Value, path string) []Value {
	return slices.DeleteFunc(slices.Clone(values), func(v Value) bool { return v.path != path })
}

// TestEveryAttributeIsListed: each attribute of the schema is in the list with the
// line that it stands in, in both syntaxes, and what has a default also where it does
// not.
func TestEveryAttributeIsListed(t *testing.T) {
	l := newLoader(world())
	schema := l.schema()
	without := listed(t, world("--grace", "60s", "--", "x"))
	walk(&schema, "", func(path string, a *attribute) {
		text := fileWith(path, a.example)
		if path == "process.after" {
			text = strings.ReplaceAll(text, "php", "other")
		}
		if path != "grace" { // so that the example fits
			text = "grace = \"60s\"\n" + text
		}
		var args []string
		if !strings.Contains(text, "process ") {
			args = []string{"--", "x"}
		}
		in := withFile(text, args...)
		in.Environ = []string{"LB_TOKEN=secret"}
		line := slices.IndexFunc(strings.Split(text, "\n"), func(line string) bool {
			return strings.HasPrefix(strings.TrimSpace(line), a.name+" = "+a.example[:1])
		})
		values := at(listed(t, in), path)
		if !slices.ContainsFunc(values, func(v Value) bool {
			return v.From.Kind == plan.ByFile && v.From.Line == line+1 && strings.HasSuffix(v.Name, "."+a.name) == strings.Contains(path, ".")
		}) {
			t.Errorf("%s of line %d is listed as %v:\n%s", path, line+1, values, text)
		}
		flagged := slices.ContainsFunc(l.rows, func(r row) bool { return r.attr == path })
		if got := at(without, path); (a.without != "" || flagged) && len(got) != 1 {
			t.Errorf("%s has a default, and is listed without the file as %v", path, got)
		}
		if strings.ContainsAny(a.example, "$") || strings.HasPrefix(a.example, "jsonencode") || path == "process.after" {
			return
		}
		in = named("graced.json", "\n"+jsonWith(path, a.example), "--grace", "60s", "--", "x")
		values = at(listed(t, in), path)
		command := path == "process.command" || path == "grace" // the one behind -- replaces it
		if !command && (len(values) == 0 || values[len(values)-1].From.Line != 2) {
			t.Errorf("%s in JSON is listed as %v", path, values)
		}
	})
}

// TestTheListIsOfWhatIsInForce: what a flag or a variable replaces in the file is
// listed as theirs, and nothing of the file's is beside it.
func TestTheListIsOfWhatIsInForce(t *testing.T) {
	rows := newLoader(world()).rows
	for _, r := range rows {
		if r.attr == "" || r.name == "grace" || r.name == "grace-spent" || r.name == "margin" {
			continue // they must fit; below
		}
		for i, of := range []string{variable(r.name), "--" + r.name} {
			in := withFile(fileForAll)
			in.Environ = []string{variable(r.name) + "=" + higher[r.name][0]}
			if i == 1 {
				in.Args = append(in.Args, "--"+r.name, higher[r.name][1])
			}
			theirs := 0
			for _, v := range listed(t, in) {
				if !strings.HasPrefix(v.path, r.attr) || v.path == "process.stop.wait" && r.name == "signal" {
					continue
				}
				if v.From.Name == of {
					theirs++
				} else if v.From.Kind == plan.ByFile {
					t.Errorf("%s over the file: %s is still %s from %s", of, v.Name, v.Text, v.Where())
				}
			}
			if theirs == 0 {
				t.Errorf("%s over the file is not listed", of)
			}
		}
	}
	for name, want := range map[string]string{"grace": "43s", "grace_spent": "3s", "margin": "3s"} {
		flag := "--" + strings.ReplaceAll(name, "_", "-")
		if got := at(listed(t, withFile(fileForAll, flag, want)), name); len(got) != 1 || got[0].Text != want || got[0].Where() != flag {
			t.Errorf("%s is listed as %v", flag, got)
		}
	}
}

// TestValues: what the list says where the plan knows better than the settings, or
// a setting is not what counts.
func TestValues(t *testing.T) {
	const two = "process \"a\" {\n  command = [\"x\"]\n}\nprocess \"b\" {\n  command = [\"y\"]\n  main    = false\n}\n"
	const secrets = "process \"a\" {\n  command = [\"x\", env(\"S\")]\n  user    = \"33\"\n  group   = env(\"N\")\n  env     = { A = env(\"S\"), B = \"plain\" }\n  stop \"TERM\" { wait = env(\"W\") }\n}\n"
	for _, test := range []struct {
		name string
		in   Input
		want []string // name|text|where
	}{
		{"wrap mode", world("--", "nginx", "-g", "daemon off;"), []string{
			"config|none; /etc/graced.hcl is not there|default",
			"platform|none, found out by the environment|default",
			"grace|10s, assumed|default",
			"margin|1s: a tenth of grace, 0.5s to 5s|default",
			"shutdown.cleanup|500ms: the post_stop hooks' time-outs + 0.5s|default",
			"shutdown.delay|auto, at most 3.4s, its share of the budget|default",
			"shutdown.drain.max|2.55s, its share of the budget|default",
			"process.nginx.command|nginx -g 'daemon off;'|behind --",
			"process.nginx.main|true: the only process|default",
			"process.nginx.stop|auto: SIGQUIT, nginx's own|default",
			"process.nginx.stop.wait|2.55s, its share of the budget|default",
			"process.nginx.probe.ready.listening|true|default",
		}},
		{"nothing to run", func() Input { in := world(); in.CommandOptional = true; return in }(), []string{
			"process.app.command|none is given|default", "process.app.stop|auto: as it came, or the program's own|default",
		}},
		{"Docker's CMD", withFile("process \"web\" {\n  command = [\"nginx\"]\n  dir = \"/srv\"\n}\n", "--", "nginx", "-t"), []string{
			"config|graced.hcl|--config", "process.web.command|nginx -t|behind --", "process.web.dir|/srv|graced.hcl:3,9",
		}},
		{"a platform", world("--platform", "auto", "--grace", "5s", "--", "x"), []string{"platform|none, found out by the environment|--platform", "grace|5s|--grace"}},
		{"a preset", world("--platform", "kubernetes", "--", "x"), []string{
			"platform|kubernetes|--platform", "grace|30s|preset kubernetes", "shutdown.delay|5s|preset kubernetes", "report.path|/dev/termination-log|preset kubernetes",
		}},
		{"a preset that does not fit", world("--platform", "kubernetes", "--grace", "3s", "--", "x"), []string{
			"shutdown.delay|568ms, its share of the budget; 5s would not fit|preset kubernetes",
		}},
		{"a ladder", world("--stop", "QUIT:2s,TERM", "--", "x"), []string{
			"process.x.stop.SIGQUIT.wait|2s|--stop", "process.x.stop.SIGTERM.wait|1.95s, its share of the budget|--stop",
		}},
		{"a first signal", withFile(fileForAll, "--signal", "HUP"), []string{
			"process.web.stop|SIGHUP, then SIGTERM|--signal", "process.web.stop.wait|36s, its share of the budget|default",
		}},
		{"a rung without a wait", withFile("process \"a\" {\n  command = [\"x\"]\n  stop \"INT\" {}\n}\n"), []string{
			"process.a.stop.INT.wait|2.55s, its share of the budget|graced.hcl:3,3",
		}},
		{"no drain", withFile("shutdown {\n  drain { max = \"1s\" }\n}\n", "--drain", "off", "--", "x"), []string{
			"shutdown.drain.until|off|--drain", "shutdown.drain.max|1s, not used: the drain is off|graced.hcl:2,17",
		}},
		{"main", withFile(two), []string{"process.a.main|false|default", "process.b.main|true: the last process|default"}},
		{"users", world("--user", "33:34", "--", "x"), []string{"process.x.user|33|--user", "process.x.group|34|--user"}},
		{"a user over a group", withFile("process \"a\" {\n  command = [\"x\"]\n  group = \"0\"\n}\n", "--user", "33"), []string{
			"process.a.user|33|--user", "process.a.group|the user's|default",
		}},
		{"a group", withFile("process \"a\" {\n  command = [\"x\"]\n  group = 33\n}\n"), []string{
			"process.a.user|graced's own|default", "process.a.group|33|graced.hcl:3,11",
		}},
		{"a terminal's trap", withFile("process \"a\" {\n  command = [\"x\"]\n  dir = \"/\\u001b[2J\"\n}\n"), []string{`process.a.dir|"/\x1b[2J"|graced.hcl:3,9`}},
		{"secrets", func() Input {
			in := withFile(secrets)
			in.Environ = []string{"S=hunter2", "N=0", "W=2s"}
			return in
		}(), []string{
			"process.a.command|" + notShown + "|graced.hcl:2,13", "process.a.user|33|graced.hcl:3,13", "process.a.group|" + notShown + "|graced.hcl:4,13",
			"process.a.env|A, B|graced.hcl:5,13", "process.a.stop.TERM.wait|" + notShown + "|graced.hcl:6,24",
		}},
		{"secret names", func() Input {
			in := withFile("process \"a\" {\n  command = [\"x\"]\n  env = jsondecode(env(\"S\"))\n}\n")
			in.Environ = []string{`S={"hunter2":1,"hunter3":2}`}
			return in
		}(), []string{"process.a.env|2 " + notShown + "|graced.hcl:3,9"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, v := range listed(t, test.in) {
				got = append(got, v.Name+"|"+v.Text+"|"+v.Where())
			}
			for _, want := range test.want {
				if !slices.Contains(got, want) {
					t.Errorf("%s is not in\n%s", want, strings.Join(got, "\n"))
				}
			}
		})
	}
}

// TestContractListed: the contract's block has every attribute but one or two.
func TestContractListed(t *testing.T) {
	c := contract(t)
	p, err := plan.New(c.Spec)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, v := range c.Values(p) {
		fmt.Fprintf(&b, "%s = %s (%s)\n", v.Name, v.Text, v.Where())
	}
	golden(t, "values.golden", b.String())
}
