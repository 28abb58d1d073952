package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pod is a pod's template that fits, as YAML of one line.
const pod = `{terminationGracePeriodSeconds: 40, containers: [{name: app, image: i, command: [/graced, --, ./app], ` +
	`env: [{name: GRACED_GRACE, value: 40s}], ports: [{name: graced, containerPort: 8990}, {name: http, containerPort: 8080}], ` +
	`readinessProbe: {httpGet: {path: /readyz, port: graced}, periodSeconds: 1}, ` +
	`livenessProbe: {httpGet: {path: /livez, port: 8990}}, lifecycle: {}}]}`

// shapes are the workloads that have a pod.
var shapes = map[string]func(pod string) string{
	"Pod":         func(pod string) string { return "kind: Pod\nmetadata: {name: x}\nspec: " + pod + "\n" },
	"Deployment":  workload("Deployment"),
	"StatefulSet": workload("StatefulSet"),
	"DaemonSet":   workload("DaemonSet"),
	"Job":         workload("Job"),
	"CronJob": func(pod string) string {
		return "kind: CronJob\nmetadata: {name: x}\nspec: {jobTemplate: {spec: {template: {spec: " + pod + "}}}}\n"
	},
	"List": func(pod string) string {
		return "kind: List\nitems:\n- kind: Service\n  spec: {ports: [{port: 80}]}\n- kind: Deployment\n  metadata: {name: x}\n  spec: {template: {spec: " + pod + "}}\n"
	},
	"several documents": func(pod string) string {
		return "kind: ConfigMap\ndata: {a: b}\n---\n# nothing\n---\n" + workload("Deployment")(pod)
	},
	"JSON": func(pod string) string {
		return `{"kind": "Deployment", "metadata": {"name": "x"}, "spec": {"template": {"spec": ` + pod + `}}}` + "\n"
	},
}

func workload(kind string) func(pod string) string {
	return func(pod string) string {
		return "kind: " + kind + "\nmetadata: {name: x}\nspec: {template: {spec: " + pod + "}}\n"
	}
}

// clashes are the ways in which a pod does not fit: what is other than in pod, and
// what is said.
var clashes = []struct {
	name, from, to string
	note           bool
	says           string
}{
	{"a short grace", "PeriodSeconds: 40", "PeriodSeconds: 20", false, "terminationGracePeriodSeconds is 20s; graced counts on 40s"},
	{"no grace", "terminationGracePeriodSeconds: 40, ", "", false, "terminationGracePeriodSeconds is not set, so it is 30s; graced counts on 40s"},
	{"a long grace", "PeriodSeconds: 40", "PeriodSeconds: 60", true, "graced uses only 40s of it"},
	{"a preStop hook that sleeps", "lifecycle: {}", "lifecycle: {preStop: {sleep: {seconds: 10}}}", false, "the preStop hook takes 10s of the grace, graced counts on 0s"},
	{"a preStop hook of which nothing is known", "lifecycle: {}", "lifecycle: {preStop: {exec: {command: [./leave]}}}", false, "a preStop hook runs inside of the grace"},
	{"another stop signal", "lifecycle: {}", "lifecycle: {stopSignal: SIGUSR1}", false, "SIGUSR1 is the stop signal here, and graced would pass it on"},
	{"no stop signal at all", "lifecycle: {}", "lifecycle: {stopSignal: SIGFOO}", false, "the stop signal SIGFOO is unknown"},
	{"readiness on the program's port", "/readyz, port: graced", "/readyz, port: http", false, "the readiness probe asks port 8080, the program's"},
	{"readiness on another path", "path: /readyz", "path: /ready", false, "/ready is not graced's readiness; ask /readyz or /healthz"},
	{"readiness that only connects", "httpGet: {path: /readyz, port: graced}", "tcpSocket: {port: 8990}", false, "the readiness probe only connects"},
	{"readiness by a command", "httpGet: {path: /readyz, port: graced}", "exec: {command: [curl, localhost]}", false, "the readiness probe asks the program"},
	{"readiness that stays good", "httpGet: {path: /readyz, port: graced}", "exec: {command: [/graced, health]}", false, "write: graced health ready"},
	{"no readiness", "readinessProbe: {httpGet: {path: /readyz, port: graced}, periodSeconds: 1}, ", "", true, "there is no readiness probe"},
	{"a slow readiness probe", "periodSeconds: 1", "periodSeconds: 5", true, "the pod is not ready 15s after the first 503 (failureThreshold × periodSeconds), the delay is 5s"},
	{"liveness that follows readiness", "path: /livez", "path: /healthz", false, "/healthz is readiness here"},
	{"liveness by a command that follows readiness", "httpGet: {path: /livez, port: 8990}", "exec: {command: [/graced, health, ready]}", false, "graced health ready is readiness here: as a liveness probe it would kill a container because it is not ready; write: graced health live"},
	{"liveness by a shell that follows readiness", "httpGet: {path: /livez, port: 8990}", "exec: {command: [sh, -c, 'curl -fs http://localhost:8990/readyz || exit 1']}", false, "/readyz is readiness here: as a liveness probe it would kill a container because it is not ready; ask /livez"},
	{"a startup probe that follows readiness", "lifecycle: {}", "startupProbe: {exec: {command: [/graced, health, ready]}}", true, "graced health ready is readiness here: as a startup probe it would kill a container that drains before it was ever seen ready; write: graced health startup"},
	{"a startup probe on readiness", "lifecycle: {}", "startupProbe: {httpGet: {path: /readyz, port: graced}}", true, "/readyz is readiness here: as a startup probe it would kill a container that drains before it was ever seen ready; ask /startupz"},
	{"readiness by a command on another path", "httpGet: {path: /readyz, port: graced}", "exec: {command: [curl, 'localhost:8990/livez']}", false, "/livez is not graced's readiness; ask /readyz or /healthz"},
	{"a liveness probe with a grace of its own", "livenessProbe: {", "livenessProbe: {terminationGracePeriodSeconds: 5, ", false, "the livenessProbe gives 5s when it kills"},
	{"settings that are wrong", "value: 40s", "value: 40", false, "its graced would not start: GRACED_GRACE: "},
	{"settings that do not fit", "[/graced, --", "[/graced, --delay, 39s, --", false, "its graced would not start: --delay: the shutdown does not fit"},
}

// TestAgainstEachShape holds each kind of workload with each clash against the plan
// of the graced in it.
func TestAgainstEachShape(t *testing.T) {
	dir := t.TempDir()
	for shape, document := range shapes {
		if shape == "JSON" && !strings.Contains(document(pod), "[/graced") {
			t.Fatal("the shape JSON has no pod")
		}
		path := filepath.Join(dir, "good.yaml")
		writeTo(t, path, document(pod))
		if got := call("plan", "--against", path); got.code != 0 || got.stdout != path+": fits\n" {
			t.Errorf("%s that is good: code %d, %s%s", shape, got.code, got.stdout, got.stderr)
		}
		for _, c := range clashes {
			bad := strings.Replace(pod, c.from, c.to, 1)
			if bad == pod {
				t.Fatalf("%s: nothing is other", c.name)
			}
			if c.name == "no readiness" && strings.HasSuffix(shape, "Job") {
				continue // nobody sends it requests
			}
			path := filepath.Join(dir, "bad.yaml")
			writeTo(t, path, document(bad))
			got, code := call("plan", "--against", path), 1
			if c.note {
				code = 0
			}
			// whatever the kind, the place is a line of the file
			if got.code != code || got.stderr != "" || !strings.Contains(got.stdout, c.says) || !strings.HasPrefix(got.stdout, path+":") || strings.Contains(got.stdout, "note: ") != c.note {
				t.Errorf("%s with %s: code %d, want %d\n%s%s", shape, c.name, got.code, code, got.stdout, got.stderr)
			}
		}
	}
}

// TestAgainstProbesByCommand: a probe that asks graced by a command is as good as
// one that asks it itself.
func TestAgainstProbesByCommand(t *testing.T) {
	for _, change := range [][2]string{
		{"httpGet: {path: /readyz, port: graced}", "exec: {command: [/graced, health, ready]}"},
		{"httpGet: {path: /readyz, port: graced}", "exec: {command: [wget, -qO-, 'http://127.0.0.1:8990/healthz?verbose']}"},
		{"httpGet: {path: /livez, port: 8990}", "exec: {command: [/graced, health]}"},
		{"httpGet: {path: /livez, port: 8990}", "exec: {command: [/graced, health, live]}"},
		{"httpGet: {path: /livez, port: 8990}", "exec: {command: [./alive, ready]}"},
		{"lifecycle: {}", "startupProbe: {exec: {command: [/graced, health, startup]}}"},
	} {
		good := strings.Replace(pod, change[0], change[1], 1)
		if good == pod {
			t.Fatalf("%s is not in the pod", change[0])
		}
		path := write(t, "good.yaml", shapes["Pod"](good))
		call("plan", "--against", path).want(t, 0, path+": fits\n", "")
	}
}

func writeTo(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestAgainstManifests has what is said of the manifests of internal/manifest's
// tests by graced's own reading of their flags and variables.
func TestAgainstManifests(t *testing.T) {
	t.Chdir("../../internal/manifest/testdata")
	files, err := filepath.Glob("*.[yj]*")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		if strings.HasSuffix(file, ".golden") {
			continue
		}
		n++
		got := call("plan", "--against", file)
		golden(t, filepath.Join("against", file+".golden"), fmt.Sprintf("%s%scode %d\n", got.stdout, got.stderr, got.code))
	}
	if n < 8 {
		t.Errorf("%d manifests", n)
	}
}

// TestAgainstOwnFlags: what is given here counts before what the container has,
// and its users are not this machine's.
func TestAgainstOwnFlags(t *testing.T) {
	path := write(t, "compose.yaml", `services:
  web:
    command: [/graced, run, --grace, 60s, -c, /etc/there.hcl, --user, nobody-here, --, ./web]
    stop_grace_period: 60s
`)
	own := write(t, "graced.hcl", "margin = \"3s\"\n")
	call("plan", "--against", path).want(t, 1, `its graced would not start: --config: "/etc/there.hcl" cannot be read`, "")
	call("plan", "--against", path, "--config", own).want(t, 0, "fits", "")
	call("plan", "--against", path, "--config", own, "--grace", "61s").want(t, 1, "graced counts on 1m1s", "")
	call("plan", "--against", path, "--config", own, "--grace=59s").want(t, 0, "graced uses only 59s of it", "")
	// what would not fit by itself is no matter: the container has another grace
	call("plan", "--against", path, "--config", own, "--delay", "30s").want(t, 0, "fits", "")
}

// TestEmitIsAccepted: what is written for a plan fits it, by a file, by standard
// input as a file and as a pipe; for a plan of a longer grace it does not.
func TestEmitIsAccepted(t *testing.T) {
	for _, format := range []string{"kubernetes", "compose", "ecs"} {
		for _, flags := range [][]string{
			nil,
			{"--grace", "40s", "--delay", "8s"},
			{"--grace", "45s", "--listen", ":9000", "--grace-spent", "5s"},
			{"--grace", "20s", "--listen", "off", "--user", "1000:1000", "--rewrite", "USR1=HUP", "--rewrite", "USR2="},
			{"--grace", "90s", "--stop", "QUIT:20s,TERM:5s", "--exit-code", "143=0", "--drain", "closed", "--drain-max", "30s"},
		} {
			emitted := call(append([]string{"plan", "--platform", format, "--emit", format}, flags...)...)
			if emitted.code != 0 {
				t.Fatalf("%s %v: %s", format, flags, emitted.stderr)
			}
			path := write(t, "emitted", emitted.stdout)
			if got := call("plan", "--against", path); got.code != 0 || got.stdout != path+": fits\n" {
				t.Errorf("%s %v: %s%s\n%s", format, flags, got.stdout, got.stderr, emitted.stdout)
			}
			if flags == nil {
				continue
			}
			call("plan", "--against", path, "--grace", "10m").want(t, 1, "graced counts on 10m", "")
		}
	}
	text := call("plan", "--platform", "kubernetes", "--emit", "kubernetes").stdout
	regular, err := os.Open(write(t, "emitted", text))
	if err != nil {
		t.Fatal(err)
	}
	defer regular.Close()
	cmd := started(t, nil, "plan", "--against", "/dev/stdin")
	cmd.Stdin = regular
	finish(t, cmd).want(t, 0, "/dev/stdin: fits", "")
	cmd = started(t, nil, "plan", "--against", "-")
	cmd.Stdin = strings.NewReader(text) // by a pipe
	finish(t, cmd).want(t, 0, "standard input: fits", "")
	cmd = started(t, nil, "plan", "--against", "/dev/stdin")
	cmd.Stdin = strings.NewReader(text)
	finish(t, cmd).want(t, 2, "", "/dev/stdin cannot be read: it is a named pipe (FIFO), not a regular file")
}

// TestEmitIsAcceptedBesideOthers: what is written for a plan fits it in a file that
// has a container of somebody else's too, though it names no command.
func TestEmitIsAcceptedBesideOthers(t *testing.T) {
	for format, beside := range map[string]struct{ before, other string }{
		"kubernetes": {"        - name: app\n", "        - {name: proxy, image: envoy, ports: [{containerPort: 9901}], readinessProbe: {httpGet: {port: 9901, path: /ready}}}\n"},
		"compose":    {"  app:\n", "  db: {image: postgres, healthcheck: {test: [CMD, pg_isready]}, ports: ['5432:5432']}\n"},
		"ecs":        {"    {\n      \"name\": \"app\"", "    {\"name\": \"log\", \"image\": \"fluentbit\", \"portMappings\": [{\"containerPort\": 24224}]},\n"},
	} {
		for _, flags := range [][]string{nil, {"--grace", "45s", "--listen", ":9000"}, {"--grace", "20s", "--listen", "off"}} {
			text := call(append([]string{"plan", "--platform", format, "--emit", format}, flags...)...).stdout
			merged := strings.Replace(text, beside.before, beside.other+beside.before, 1)
			if merged == text {
				t.Fatalf("%s: %q is not in\n%s", format, beside.before, text)
			}
			path := write(t, "merged", merged)
			if got := call("plan", "--against", path); got.code != 0 || got.stdout != path+": fits\n" {
				t.Errorf("%s %v: code %d, %s%s\n%s", format, flags, got.code, got.stdout, got.stderr, merged)
			}
			call("plan", "--against", path, "--grace", "10m").want(t, 1, "graced counts on 10m", "")
		}
	}
}

// TestAgainstAnImageThatStartsGraced: the README's image, whose manifest names
// neither graced nor a variable of it, beside a sidecar.
func TestAgainstAnImageThatStartsGraced(t *testing.T) {
	text := strings.NewReplacer("command: [/graced, --, ./app], ", "", "env: [{name: GRACED_GRACE, value: 40s}], ", "",
		"containers: [", "containers: [{name: proxy, image: envoy}, ").Replace(pod)
	path := write(t, "deployment.yaml", shapes["Deployment"](text))
	call("plan", "--against", path, "--grace", "40s").want(t, 0, path+": fits\n", "")
	call("plan", "--against", path, "--grace", "41s").want(t, 1, "Deployment/x: app: terminationGracePeriodSeconds is 40s; graced counts on 41s", "")
	// what does not fit is said, and not that there is no graced
	call("plan", "--against", path, "--delay", "39s").want(t, 1, "Deployment/x: app: its graced would not start: --delay: ", "")
}

// TestAgainstWhatCannotBeRead: it is said why, at once, with exit code 2.
func TestAgainstWhatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := unix.Mkfifo(at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	writeTo(t, at("locked"), "kind: Pod\n")
	if err := os.Chmod(at("locked"), 0); err != nil {
		t.Fatal(err)
	}
	writeTo(t, at("large"), strings.Repeat("# a line\n", 500_000))
	writeTo(t, at("empty"), "")
	writeTo(t, at("binary"), "\x7fELF\x00\x01")
	for path, says := range map[string]string{
		at("missing"): "no such file or directory", at("fifo"): "it is a named pipe (FIFO), not a regular file", dir: "it is a folder, not a file",
		at("locked"): "permission denied", "/dev/zero": "it is a device or a socket, not a regular file", at("large"): "the most is 4194304 (4 MiB)",
		at("empty"): "no container that runs graced", at("binary"): "cannot be read as YAML or JSON",
	} {
		if path == at("locked") && os.Getuid() == 0 {
			continue // root reads all
		}
		begin := time.Now()
		call("plan", "--against", path).want(t, 2, "", says)
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%s: it took %v", path, took)
		}
	}
	call("plan", "--against", "").want(t, 0, "budget", "") // not given
}
