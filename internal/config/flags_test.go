package config

import (
	"errors"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// flagCases has for every flag what is taken, with what it is shown as, and what is
// refused; the refusals are in testdata/flags.golden.
var flagCases = map[string]struct {
	good map[string]string
	bad  []string
}{
	"config":       {map[string]string{"testdata/contract.hcl": "testdata/contract.hcl"}, []string{"", "/nowhere/graced.hcl", "testdata", "a\x00b", "testdata/"}},
	"platform":     {map[string]string{"auto": "auto", "kubernetes": "kubernetes", "none": "none"}, []string{"", "kubernets", "Kubernetes", "docker-compose", "x"}},
	"grace":        {map[string]string{"30s": "30s", "1m30s": "1m30s", "24h": "24h", "1.5s": "1.5s", "90s": "1m30s"}, durations("0s", "10ms", "25h")},
	"grace-spent":  {map[string]string{"0s": "0s", "500ms": "500ms"}, durations()},
	"margin":       {map[string]string{"100ms": "100ms", "2s": "2s"}, durations("0s", "99ms")},
	"cleanup":      {map[string]string{"100ms": "100ms", "2s": "2s"}, durations("0s", "99ms")},
	"delay":        {map[string]string{"auto": "auto", "0s": "0s", "5s": "5s"}, durations("Auto", "off")},
	"drain":        {map[string]string{"auto": "auto", "idle": "idle", "closed": "closed", "off": "off"}, []string{"", "none", "close", "5s"}},
	"drain-max":    {map[string]string{"10s": "10s"}, durations("0s", "auto")},
	"signal":       {map[string]string{"auto": "auto", "SIGQUIT": "SIGQUIT", "quit": "SIGQUIT", "3": "SIGQUIT", "RTMIN+3": "SIGRTMIN+3"}, []string{"", "SIGFOO", "SIGTREM", "0", "65", "32", "33", "SIGKILL", "SIGCHLD", "STOP", "-1", "SIGQUIT:5s"}},
	"stop":         {map[string]string{"SIGQUIT:20s,SIGTERM:5s": "SIGQUIT:20s,SIGTERM:5s", "QUIT": "SIGQUIT", "3:1s, TERM": "SIGQUIT:1s,SIGTERM"}, []string{"", "SIGQUIT:20", "SIGQUIT:", ":5s", "SIGQUIT,", "SIGQUIT:5s,,SIGTERM", "SIGKILL:5s", "SIGFOO:5s,SIGTERM:x", "QUIT:0s", "TERM:1s:2s", "auto"}},
	"stop-signals": {map[string]string{"SIGTERM,SIGINT": "SIGTERM,SIGINT", "15": "SIGTERM", "RTMIN+3, QUIT": "SIGRTMIN+3,SIGQUIT"}, []string{"", "SIGTERM,", "TERM,15", "KILL", "SIGCHLD,SIGURG", "PROF", "nope"}},
	"repeat":       {map[string]string{"ignore": "ignore", "escalate": "escalate"}, []string{"", "yes", "escalat"}},
	"target":       {map[string]string{"process": "process", "group": "group", "all": "all"}, []string{"", "grp", "tree"}},
	"rewrite":      {map[string]string{"USR1=HUP": "SIGUSR1=SIGHUP", "USR2=": "SIGUSR2=", "USR1=HUP,USR2=": "SIGUSR1=SIGHUP,SIGUSR2="}, []string{"", "USR1", "10:1", "FOO=HUP", "USR1=FOO", "TERM=HUP", "CHLD=HUP", "KILL=TERM", "USR1=HUP,SIGUSR1=TERM", "=HUP"}},
	"exit-code":    {map[string]string{"143=0": "143=0", "stopped=0": "stopped=0", "143=0,stopped=1": "143=0,stopped=1"}, []string{"", "143", "143=", "=0", "256=0", "143=256", "143=-1", "+143=0", "x=0", "143=0,143=1", "stop=0"}},
	"ready":        {map[string]string{"listening": "listening", "started": "started"}, []string{"", "listen", "yes", "ftp://x", "http://", "tcp://x", "tcp://:80"}},
	"listen":       {map[string]string{":8990": ":8990", "off": "off", "127.0.0.1:80": "127.0.0.1:80", "[::1]:80": "[::1]:80", ":0": ":0"}, []string{"", "8990", "x", ":", ":http", ":65536", ":-1", "::1:80", "[::1]", "/run/x.sock", "http://x:80"}},
	"socket":       {map[string]string{"auto": "auto", "off": "off"}, []string{"", "of", "/run/", "/" + strings.Repeat("x", 107)}},
	"user":         {map[string]string{"www-data": "www-data", "33:33": "33:33", "root:www-data": "root:www-data", "65532": "65532"}, []string{"", "www-dta", "nobody:", ":33", "4294967295", "-1", "33:x", "a b", "1.5"}},
	"report":       {map[string]string{"/dev/termination-log": "/dev/termination-log", "": ""}, []string{"/var/log/", "a\x00b"}},
	"log-format":   {map[string]string{"text": "text", "json": "json"}, []string{"", "jsn", "logfmt"}},
	"log-level":    {map[string]string{"debug": "debug", "info": "info", "warn": "warn", "error": "error"}, []string{"", "warning", "INFO", "trace"}},
}

// durations are bad for every setting that is one.
func durations(more ...string) []string {
	return append([]string{"", "30", "0", "-5s", "1m30", "9999999999h", "NaN", "∞", "30 s", "30sec", "30S", "1d", "2days", "500us", "1.0005s", "ten", "+-5s", "1e3s", "s", strings.Repeat("9", 4000)}, more...)
}

func TestEveryFlag(t *testing.T) {
	var b strings.Builder
	for _, r := range newLoader(world()).rows {
		cases, ok := flagCases[r.name]
		if !ok || len(cases.good) == 0 || len(cases.bad) == 0 {
			t.Errorf("--%s has no good or no bad value here", r.name)
			continue
		}
		for value, want := range cases.good {
			for _, in := range []Input{world("--"+r.name, value, "--", "x"), world("-"+r.name+"="+value, "--", "x"), byVariable(r.name, value)} {
				if r.name == "config" {
					in.Args = in.Args[:max(len(in.Args)-2, 0)]
					in.Environ = append(in.Environ, "LB_TOKEN=secret")
				}
				in.complete = true
				c := load(t, in)
				if got := origin(c, r.name); got.Value != want || !got.From.ByPerson() {
					t.Errorf("--%s %q is %q from %v, want %q", r.name, value, got.Value, got.From, want)
				}
			}
		}
		for _, value := range cases.bad {
			args := world("--"+r.name, value, "--", "x")
			vars := byVariable(r.name, value)
			_, p := Load(args)
			if p == nil || !strings.Contains(told(t, p), "--"+r.name+": ") {
				t.Errorf("--%s %q is taken or not named: %v", r.name, value, p)
			}
			if r.name == "grace" || !slices.Contains(durations(), value) || value == "" { // one page of durations is enough
				fmt.Fprintf(&b, "--%s %.70q\n%s", r.name, value, told(t, p))
			}
			if _, p = Load(vars); p == nil || !strings.Contains(told(t, p), variable(r.name)) {
				t.Errorf("%s=%q is taken or not named: %v", variable(r.name), value, p)
			}
		}
	}
	golden(t, "flags.golden", b.String())
}

func byVariable(name, value string) Input {
	in := world("--", "x")
	in.Environ = []string{"PATH=/bin", variable(name) + "=" + value}
	return in
}

// origin finds a setting by its name.
func origin(c *Config, name string) Origin {
	for _, o := range c.Sources {
		if o.Setting == name {
			return o
		}
	}
	return Origin{}
}

// TestCommandLine has what is wrong with the words, not with a value.
func TestCommandLine(t *testing.T) {
	var b strings.Builder
	for _, args := range [][]string{
		{},
		{"--"},
		{"--", ""},
		{"nginx", "-g", "daemon off;"},
		{"--grace", "30s", "nginx", "--grace"},
		{"--grace", "30s", "nginx", "--", "x"},
		{"--grace"},
		{"--grace", "--", "x"},
		{"--grace", "--delay", "5s", "--", "x"},
		{"--grace", "-c", "testdata/contract.hcl", "--", "x"},
		{"--grcae", "30s", "--dealy=5s", "--", "x"},
		{"--wait", "30s", "--", "x"},
		{"--wait", "nginx"},
		{"---grace", "30s", "--", "x"},
		{"-", "--=x", "--", "x"},
		{"--grace", "1s", "--grace", "2s", "--", "x"},
		{"-c", "a.hcl", "--config", "b.hcl"},
		{"-s", "-p", "SIGTERM", "-vvv", "-wg", "-e", "143", "-l", "--", "x"},
		{"-g", "nginx"},
		{"--subreaper", "--", "x"},
		{"--signal", "QUIT", "--stop", "QUIT:5s", "--", "x"},
		{"--drain", "off", "--drain-max", "5s", "--", "x"},
		{"--ready", "http://127.0.0.1/", "--socket", "/run/graced.sock", "--drain", "idle", "--", "x"},
		{"--grace", "30", "--delay", "5", "--signal", "FOO", "--bogus", "--user", "nobody"},
		{"--rewrite", "USR1=HUP", "--rewrite", "USR1=TERM", "--exit-code", "1=0", "--exit-code", "1=2", "--", "x"},
	} {
		fmt.Fprintf(&b, "graced run %.200q\n", args)
		_, p := Load(world(args...))
		if p == nil {
			t.Errorf("%q is taken", args)
		}
		b.WriteString(told(t, p))
	}
	golden(t, "commandline.golden", b.String())
}

func TestRepeatableFlags(t *testing.T) {
	in := world("--rewrite", "USR1=HUP", "--rewrite=USR2=", "--exit-code", "143=0", "--exit-code", "stopped=0", "--", "/usr/bin/app", "--grace", "--", "")
	c := load(t, in)
	if got := origin(c, "rewrite").Value + " " + origin(c, "exit-code").Value; got != "SIGUSR1=SIGHUP,SIGUSR2= 143=0,stopped=0" {
		t.Error(got)
	}
	p := c.Spec.Processes[0]
	if want := []string{"/usr/bin/app", "--grace", "--", ""}; p.Name != "app" || !p.Main || !reflect.DeepEqual(p.Command, want) {
		t.Errorf("the process is %q %q", p.Name, p.Command)
	}
}

func TestHelp(t *testing.T) {
	for _, arg := range []string{"-h", "--help", "-help"} {
		c, p := Load(world("--grace", "nonsense", arg, "--bogus"))
		if c != nil || !errors.Is(p, flag.ErrHelp) {
			t.Errorf("%s: %v", arg, p)
		}
	}
	if _, p := Load(world("--bogus")); errors.Is(p, flag.ErrHelp) {
		t.Error("a problem is taken for a wish for help")
	}
	if c := load(t, world("--", "x", "--help")); len(c.Spec.Processes[0].Command) != 2 {
		t.Error("the command's --help is lost")
	}
}

func TestExtraFlags(t *testing.T) {
	var verbose bool
	var format string
	extra := func(set *flag.FlagSet) {
		set.BoolVar(&verbose, "verbose", false, "")
		set.StringVar(&format, "emit", "", "")
	}
	if _, p := Load(world("--verbose", "--emit", "compose", "--grace=30s", "--", "x"), extra); p != nil || !verbose || format != "compose" {
		t.Errorf("verbose %v, emit %q: %v", verbose, format, p)
	}
	_, p := Load(world("--verbose=maybe", "--emti", "x", "--emit"), extra)
	golden(t, "extra.golden", told(t, p))
}

func TestCommandOptional(t *testing.T) {
	in := world("--grace", "30s")
	in.CommandOptional = true
	if p := load(t, in).Spec.Processes; len(p) != 1 || p[0].Name != "app" || p[0].Command != nil || !p[0].Main {
		t.Errorf("the stand-in is %+v", p)
	}
}

func TestUsageFitsAScreen(t *testing.T) {
	usage := Usage()
	lines := strings.Split(strings.TrimSuffix(usage, "\n"), "\n")
	if len(lines) > 24 {
		t.Errorf("the usage has %d lines", len(lines))
	}
	for _, line := range lines {
		if len([]rune(line)) > 80 {
			t.Errorf("longer than 80 columns: %s", line)
		}
	}
	for _, r := range newLoader(world()).rows {
		if !strings.Contains(usage, "--"+r.name+" ") {
			t.Errorf("the usage has no --%s", r.name)
		}
	}
	for _, command := range []string{"run", "plan", "check", "health", "version"} {
		if !strings.Contains(usage, "graced "+command) && !strings.Contains(usage, "graced ["+command+"]") {
			t.Errorf("the usage does not name graced %s", command)
		}
	}
	if n := strings.Count(usage, "\n  graced "); n != 3 {
		t.Errorf("the usage has %d examples", n)
	}
}
