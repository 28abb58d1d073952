package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// web is a file of three processes and hooks at all points, which fits.
const web = `
grace = "60s"

shutdown {
  delay = "5s"
  drain { max = "10s" }
}

process "db" {
  command = ["./db"]
  stop "SIGTERM" { wait = "5s" }
}

process "php" {
  command = ["php-fpm", "-F"]
  after   = ["db"]
  stop "SIGQUIT" { wait = "3s" }
}

process "web" {
  command = ["nginx", "-g", "daemon off;"]
  after   = ["php"]
  stop "SIGQUIT" { wait = "8s" }
  stop "SIGTERM" { wait = "2s" }
}

hook "migrate" {
  at      = "pre_start"
  command = ["./migrate"]
  timeout = "60s"
}

hook "leave" {
  at      = "pre_stop"
  command = ["./leave"]
  timeout = "4s"
}

hook "flush" {
  at      = "post_stop"
  command = ["./flush"]
  timeout = "2s"
}
`

// file is web as a file.
func file(t *testing.T) string { return write(t, "graced.hcl", web) }

// TestExitCodes: 0 it fits; 1 it does not; 2 the platform's file cannot be read;
// 125 the settings are wrong.
func TestExitCodes(t *testing.T) {
	good, broken := file(t), write(t, "broken.hcl", "grace = 30\n")
	manifest := write(t, "compose.yaml", "services: {web: {command: [/graced, --, x], stop_grace_period: 10s}}\n")
	for _, tt := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"plan of flags", []string{"plan", "--grace", "30s", "--", "nginx"}, 0, "budget 27s", ""},
		{"plan of nothing", []string{"plan", "--platform", "docker"}, 0, "grace 10s (docker, assumed; --grace sets it)", ""},
		{"plan of a file", []string{"plan", "--config", good}, 0, "web  SIGQUIT", ""},
		{"plan that does not fit", []string{"plan", "--grace", "10s", "--delay", "9s"}, 1, "", "graced: --delay: the shutdown does not fit"},
		{"plan of a file that does not fit", []string{"plan", "--config", good, "--grace", "20s"}, 1, "", "Error: process.web.stop.SIGQUIT: the shutdown does not fit"},
		{"plan of wrong flags", []string{"plan", "--grace", "30", "--delay", "x"}, 125, "", "--delay"},
		{"plan of a wrong file", []string{"plan", "--config", broken}, 125, "", "line 1"},
		{"plan of no file", []string{"plan", "--config", good + "x"}, 125, "", "no such file"},
		{"plan help", []string{"plan", "--help"}, 0, "--against FILE", ""},
		{"check of flags", []string{"check", "--grace", "30s"}, 0, "flags and variables: good; the shutdown fits: budget 27s of grace 30s", ""},
		{"check of a file", []string{"check", "--config", good}, 0, good + ": good", ""},
		{"check that does not fit", []string{"check", "--config", good, "--grace", "20s"}, 1, "", "does not fit"},
		{"check of a wrong file", []string{"check", "--config", broken}, 125, "", "line 1"},
		{"check of wrong flags", []string{"check", "--graze", "30s"}, 125, "", "did you mean --grace?"},
		{"check help", []string{"check", "-h"}, 0, "Usage: graced", ""},
		{"check help of its own", []string{"check", "--help"}, 0, "graced check [flags]", ""},
		{"help", []string{"--help"}, 0, "Usage: graced [run]", ""},
		{"run help", []string{"run", "--help"}, 0, "Usage: graced [run]", ""},
		{"health help", []string{"health", "--help"}, 0, "Usage: graced health [ready|live|startup]", ""},
		{"health help behind a word", []string{"health", "ready", "-h"}, 0, "Usage: graced health [ready|live|startup]", ""},
		{"health of nothing known", []string{"health", "nonsense"}, 1, "", `graced: health knows no "nonsense"; ask for ready, live or startup`},
		{"health with wrong flags", []string{"health", "--lisen", ":80"}, 1, "", "did you mean --listen?"},
		{"version help", []string{"version", "--help"}, 0, "Usage: graced version", ""},
		{"check with a note", []string{"check", "--grace", "30s", "--", "gunicorn"}, 0, "note: gunicorn gives its requests 30s by itself (graceful_timeout)", ""},
		{"check with a warning", []string{"check", "--platform", "nomad", "--grace", "45s"}, 0, "warning: --grace: nomad gives at most 30s", ""},
		{"against that fits", []string{"plan", "--against", manifest, "--grace", "10s"}, 0, "compose.yaml: fits\n", ""},
		{"against that does not", []string{"plan", "--against", manifest, "--grace", "30s"}, 1, "stop_grace_period is 10s; graced counts on 30s", ""},
		{"against nothing", []string{"plan", "--against", manifest + "x"}, 2, "", "compose.yamlx cannot be read: no such file or directory"},
		{"against what is none", []string{"plan", "--against", good}, 2, "", "no container that runs graced"},
		{"against with wrong flags", []string{"plan", "--against", manifest, "--grace", "x"}, 125, "", "--grace"},
		{"emit", []string{"plan", "--emit", "compose", "--grace", "20s"}, 0, "stop_grace_period: 20s", ""},
		{"emit for nothing known", []string{"plan", "--emit", "swarm"}, 125, "", `unknown format "swarm"; it is one of kubernetes, compose, ecs`},
		{"emit what does not fit", []string{"plan", "--emit", "compose", "--grace", "10s", "--delay", "9s"}, 1, "", "does not fit"},
		{"svg into a folder", []string{"plan", "--svg", filepath.Dir(good)}, 125, "", "--svg: "},
		{"two at a time", []string{"plan", "--json", "--svg", "-", "--verbose"}, 125, "", "graced: --json, --svg, --verbose: only one of these at a time"},
	} {
		t.Run(tt.name, func(t *testing.T) { call(tt.args...).want(t, tt.code, tt.stdout, tt.stderr) })
	}
}

// TestJSON: what `plan --json` prints is as it was, and each time in it is within
// the budget.
func TestJSON(t *testing.T) {
	t.Chdir(filepath.Dir(file(t)))
	got := call("plan", "--json", "--config", "graced.hcl", "--platform", "none")
	got.want(t, 0, "{", "")
	golden(t, "plan.json", got.stdout)
	var plan struct {
		Budget float64 `json:"budget_seconds"`
		Steps  []struct {
			Kind   string
			Latest float64 `json:"latest_seconds"`
		}
	}
	if err := json.Unmarshal([]byte(got.stdout), &plan); err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Steps {
		if s.Latest > plan.Budget && s.Kind != "platform" {
			t.Errorf("%+v is behind the budget of %vs", s, plan.Budget)
		}
	}
	if len(plan.Steps) < 10 {
		t.Errorf("%d steps", len(plan.Steps))
	}
}

// TestVerbose: of each value it is said where it came from.
func TestVerbose(t *testing.T) {
	path := write(t, "graced.hcl", "margin = \"2s\"\nprocess \"web\" {\n  command = [\"x\"]\n  user    = env(\"WHO\")\n  env     = { TOKEN = \"hunter2\" }\n}\n")
	got := process(t, []string{"GRACED_GRACE=40s", "GRACED_MARGIN=3s", "WHO=65532"}, "plan", "--verbose", "--config", path, "--platform", "kubernetes", "--margin", "4s")
	got.want(t, 0, "budget 36s", "")
	for _, want := range []string{
		` config +` + regexp.QuoteMeta(path) + ` +--config`,
		` grace +40s +GRACED_GRACE`,
		` margin +4s +--margin`,
		` shutdown.delay +5s +preset kubernetes`,
		` report.path +/dev/termination-log +preset kubernetes`,
		` process.web.user +\(read by env or file, not shown\) +` + regexp.QuoteMeta(path) + `:4,13`,
		` process.web.env +TOKEN +` + regexp.QuoteMeta(path) + `:5,13`,
		` process.web.stop.wait +[0-9.]+s, its share of the budget +default`,
		` shutdown.repeat +ignore +default`,
		` shutdown.drain.quiet +2s +default`,
	} {
		if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(got.stdout) {
			t.Errorf("%s is not in\n%s", want, got.stdout)
		}
	}
	if strings.Contains(got.stdout, "hunter2") || strings.Contains(got.stdout, "65532") {
		t.Errorf("it tells a value of the environment:\n%s", got.stdout)
	}
	if strings.Contains(call("plan", "--config", path).stdout, "default") {
		t.Error("it is said without --verbose too")
	}
}

// TestSVG: the drawing is XML, has every process and every hook of the shutdown,
// and rules for light and dark.
func TestSVG(t *testing.T) {
	config := file(t)
	path := filepath.Join(t.TempDir(), "plan.svg")
	call("plan", "--config", config, "--svg", path).want(t, 0, "", "")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := call("plan", "--config", config, "--svg", "-"); got.stdout != string(data) {
		t.Error("on standard output it is another")
	}
	texts, elements := "", map[string]int{}
	for decoder := xml.NewDecoder(strings.NewReader(string(data))); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("it is no XML: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			elements[token.Name.Local]++
		case xml.CharData:
			texts += string(token) + "\n"
		}
	}
	for _, want := range []string{"web", "php", "db", "hook leave", "hook flush", "SIGQUIT ≤ 8s", "SIGTERM ≤ 2s", "delay ≤ 5s", "drain ≤ 10s", "≤ 4s", "grace 1m, budget 55s"} {
		if !strings.Contains(texts, want) {
			t.Errorf("%q is not in it", want)
		}
	}
	if strings.Contains(texts, "migrate") {
		t.Error("a hook of the start is in it")
	}
	if !strings.Contains(texts, "@media (prefers-color-scheme: dark)") || !strings.Contains(texts, ".paper { fill: #fff }") {
		t.Error("it has no rules for light and dark")
	}
	if kinds := slices.Sorted(maps.Keys(elements)); !slices.Equal(kinds, []string{"line", "rect", "style", "svg", "text", "title"}) {
		t.Errorf("it has %v; nothing may be fetched", kinds)
	}
	// a name that has to be escaped
	odd := call("plan", "--svg", "-", "--", `./a<b>&"c`)
	for decoder := xml.NewDecoder(strings.NewReader(odd.stdout)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("a name breaks it: %v", err)
		}
	}
	if !strings.Contains(odd.stdout, "a&lt;b&gt;&amp;") {
		t.Errorf("the name is not in it:\n%s", odd.stdout)
	}
}
