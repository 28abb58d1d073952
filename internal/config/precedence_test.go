package config

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"graced/internal/plan"
)

// fileForAll sets every row of the table.
const fileForAll = `
platform = "ecs"
grace = "41s"
grace_spent = "1s"
margin = "1s"
shutdown {
  cleanup = "1s"
  delay = "1s"
  signals = ["TERM"]
  repeat = "ignore"
  drain {
    until = "auto"
    max = "1s"
  }
}
process "web" {
  command = ["nginx"]
  target = "process"
  rewrite = { USR1 = "WINCH" }
  user = "root"
  stop "INT" { wait = "1s" }
  probe "ready" { listening = true }
}
exit { codes = { 1 = 1 } }
http { listen = ":1" }
control { socket = "auto" }
report { path = "/file" }
log {
  format = "text"
  level = "error"
}
`

// higher has for each row a value of the environment and one of a flag.
var higher = map[string][2]string{
	"config": {"graced.hcl", "graced.hcl"}, "platform": {"fly", "nomad"},
	"grace": {"42s", "43s"}, "grace-spent": {"2s", "3s"}, "margin": {"2s", "3s"}, "cleanup": {"2s", "3s"},
	"delay": {"2s", "3s"}, "drain": {"off", "closed"}, "drain-max": {"2s", "3s"},
	"signal": {"SIGHUP", "SIGQUIT"}, "stop": {"SIGHUP:2s", "SIGQUIT:3s"}, "stop-signals": {"SIGINT", "SIGQUIT"},
	"repeat": {"escalate", "ignore"}, "target": {"group", "all"}, "rewrite": {"SIGUSR1=SIGHUP", "SIGUSR1=SIGUSR2"},
	"exit-code": {"2=2", "3=3"}, "ready": {"started", "listening"}, "listen": {":2", ":3"}, "socket": {"off", "auto"},
	"user": {"33", "34:34"}, "report": {"/env", "/flag"}, "log-format": {"json", "text"}, "log-level": {"warn", "debug"},
}

// TestPrecedence: a flag before a variable before the file, for every row.
func TestPrecedence(t *testing.T) {
	for name, values := range higher {
		in := withFile(fileForAll)
		if o := origin(load(t, in), name); name != "config" && name != "signal" && o.From.Kind != plan.ByFile {
			t.Errorf("%s of the file is %q from %v", name, o.Value, o.From)
		}
		in.Environ = []string{variable(name) + "=" + values[0]}
		if name == "config" {
			in.Args = nil
		}
		if o := origin(load(t, in), name); o.Value != values[0] || o.From.Kind != plan.ByEnv {
			t.Errorf("%s of the environment is %q from %v", name, o.Value, o.From)
		}
		if name != "config" {
			in.Args = append(in.Args, "--"+name, values[1])
			if o := origin(load(t, in), name); o.Value != values[1] || o.From.Kind != plan.ByFlag {
				t.Errorf("%s of the flag is %q from %v", name, o.Value, o.From)
			}
		}
	}
	for _, r := range newLoader(world()).rows {
		if _, ok := higher[r.name]; !ok {
			t.Errorf("--%s has no precedence test", r.name)
		}
	}
}

// TestPresets: a preset before the default, and anything before a preset.
func TestPresets(t *testing.T) {
	in := world("--", "x")
	in.Environ = []string{"KUBERNETES_SERVICE_HOST=10.0.0.1", "GRACED_SERVICE_HOST=10.0.0.2", "GRACED_PORT=tcp://10.0.0.2:80"}
	c := load(t, in)
	if c.Spec.Grace.V != 30*time.Second || c.Spec.Grace.From.Kind != plan.ByPreset || c.Spec.Delay.V.For != 5*time.Second || c.Report.V != "/dev/termination-log" || c.Report.From.Name != "kubernetes" {
		t.Errorf("the preset is %+v, %+v", c.Spec.Grace, c.Report)
	}
	if c.Spec.Grace.From.ByPerson() {
		t.Error("a preset's grace is taken for a person's")
	}
	in.Args = []string{"--grace", "20s", "--delay", "auto", "--report=", "--", "x"}
	c = load(t, in)
	if c.Spec.Grace.V != 20*time.Second || !c.Spec.Delay.V.Auto || c.Report.V != "" || !c.Report.Set() {
		t.Errorf("the preset won: %+v, %+v, %+v", c.Spec.Grace, c.Spec.Delay, c.Report)
	}
	in.Args = []string{"--platform", "none", "--", "x"}
	if c = load(t, in); c.Spec.Grace.Set() || c.Spec.Delay.Set() || c.Report.Set() {
		t.Errorf("none has a preset: %+v", c.Spec)
	}
	in = world("--platform=auto", "--", "x")
	in.Environ = []string{"GRACED_PLATFORM=ecs", "NOMAD_ALLOC_ID=1"}
	if c = load(t, in); c.Spec.Platform.Name != "nomad" || c.Spec.Grace.V != 5*time.Second {
		t.Errorf("--platform auto is %q", c.Spec.Platform.Name)
	}
}

// TestFirstAndLadder: the first signal and the ladder are one setting.
func TestFirstAndLadder(t *testing.T) {
	for _, test := range []struct {
		env, args string
		first     syscall.Signal
		rungs     int
	}{
		{"", "", 0, 1},
		{"", "--signal QUIT", syscall.SIGQUIT, 0},
		{"", "--signal auto", 0, 0},
		{"GRACED_SIGNAL=QUIT", "", syscall.SIGQUIT, 0},
		{"GRACED_SIGNAL=QUIT", "--stop TERM:1s,INT", 0, 2},
		{"GRACED_STOP=TERM:1s,INT", "--signal HUP", syscall.SIGHUP, 0},
	} {
		in := withFile(fileForAll, strings.Fields(test.args)...)
		in.Environ = []string{test.env}
		p := load(t, in).Spec.Processes[0]
		if p.First.V != test.first || len(p.Ladder.V) != test.rungs {
			t.Errorf("%s %s: first %v, ladder %v", test.env, test.args, p.First, p.Ladder)
		}
	}
}

// TestCommandAndFile: Docker's CMD over the file's one process.
func TestCommandAndFile(t *testing.T) {
	one := "process \"web\" {\n  command = [\"nginx\"]\n  dir = \"/srv\"\n}\n"
	c := load(t, withFile(one, "--", "nginx", "-t"))
	if p := c.Spec.Processes; len(p) != 1 || p[0].Name != "web" || len(p[0].Command) != 2 || p[0].Dir != "/srv" {
		t.Errorf("the processes are %+v", p)
	}
	if c = load(t, withFile(one, "--")); len(c.Spec.Processes[0].Command) != 1 {
		t.Errorf("an empty CMD is not the file's command: %+v", c.Spec.Processes)
	}
	if c = load(t, withFile("process \"web\" {}\n", "--", "x")); c.Spec.Processes[0].Command[0] != "x" {
		t.Errorf("the command is lost: %+v", c.Spec.Processes)
	}
	if c = load(t, withFile("grace = \"30s\"\n", "--", "/bin/x")); c.Spec.Processes[0].Name != "x" || !c.Spec.Processes[0].Main {
		t.Errorf("a file without a process has none: %+v", c.Spec.Processes)
	}
	two := one + "process \"php\" {\n  command = [\"php-fpm\"]\n}\n"
	_, p := Load(withFile(two, "--target", "group", "--signal", "QUIT", "--", "x"))
	_, none := Load(withFile("grace = \"30s\"\n"))
	golden(t, "ambiguous.golden", told(t, p)+told(t, none))
}

// TestDefaultFile: /etc/graced.hcl is read when it is there and no other is named.
func TestDefaultFile(t *testing.T) {
	in := named(DefaultFile, fileForAll)
	in.Args = nil
	if _, p := Load(in); p == nil {
		t.Error("a file that is not there is read")
	}
	in.Exists = func(path string) bool { return path == DefaultFile }
	c := load(t, in)
	if c.File != DefaultFile || c.Spec.Grace.V != 41*time.Second {
		t.Errorf("the default file is not read: %+v", c.Spec.Grace)
	}
	in.Args = []string{"--grace", "30s", "--config", "testdata/nowhere.hcl"}
	if _, p := Load(in); p == nil || strings.Contains(p.Error(), DefaultFile) {
		t.Errorf("a named file that cannot be read: %v", p)
	}
	in.Args, in.ReadFile = nil, func(string) ([]byte, error) { return nil, syscall.EACCES }
	if _, p := Load(in); p == nil || told(t, p) != "graced: /etc/graced.hcl: cannot be read: permission denied; it is read since it is there; --config FILE reads another\n" {
		t.Errorf("an unreadable default file: %s", told(t, p))
	}
}
