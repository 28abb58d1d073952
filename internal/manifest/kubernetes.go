package manifest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"graced/internal/plan"
)

// Kubernetes' defaults; "Pod Lifecycle" and "Configure Liveness, Readiness and
// Startup Probes" of its documentation.
const (
	kubeGrace   = 30 * time.Second
	kubePeriod  = 10
	kubeFailure = 3
	kubePath    = "/"
)

// podSpec finds the pod in a workload.
func podSpec(doc value) value {
	switch doc.at("kind").text() {
	case "Pod":
		return doc.at("spec")
	case "PodTemplate":
		return doc.at("template").at("spec")
	case "CronJob":
		return doc.at("spec").at("jobTemplate").at("spec").at("template").at("spec")
	}
	return doc.at("spec").at("template").at("spec")
}

// kubernetes checks the pod of a workload; other kinds have none.
func (c *check) kubernetes(doc value) {
	pod := podSpec(doc)
	if !pod.exists() {
		return
	}
	workload := doc.at("kind").text() + "/" + doc.at("metadata").at("name").text()
	var list []candidate
	for _, container := range pod.at("containers").list() {
		list = append(list, c.inPod(container, workload))
	}
	// a native sidecar is an init container that is restarted always
	for _, init := range pod.at("initContainers").list() {
		if init.at("restartPolicy").text() == "Always" {
			sidecar := c.inPod(init, workload)
			sidecar.beside = true
			list = append(list, sidecar)
		}
	}
	for _, one := range c.ofGraced(list) {
		c.container(pod, one)
	}
}

// inPod is what of a container says whether it runs graced.
func (c *check) inPod(container value, workload string) candidate {
	one := candidate{at: container, env: container.at("env"), words: append(container.at("command").words(), container.at("args").words()...),
		settings: Container{Platform: "kubernetes", Name: workload + ": " + container.at("name").text()}}
	for _, p := range container.at("ports").list() {
		one.ports = append(one.ports, p.at("containerPort").number(0))
	}
	for _, kind := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
		probe := container.at(kind)
		one.commands = append(one.commands, probe.at("exec").at("command"))
		port, _ := c.port(container, probe.at("httpGet").or(probe.at("tcpSocket")).or(probe.at("grpc")).at("port"))
		one.ports = append(one.ports, port)
	}
	return one
}

func (c *check) container(pod value, one candidate) {
	container := one.at
	s, ok := c.open(one)
	if !ok {
		return
	}
	given := pod.at("terminationGracePeriodSeconds")
	c.grace(given.or(pod), "terminationGracePeriodSeconds", time.Duration(given.number(int(kubeGrace/time.Second)))*time.Second, given.exists(), s)
	c.preStop(container.at("lifecycle").at("preStop"), s)
	c.stopSignal(container.at("lifecycle").at("stopSignal"), s)
	c.readiness(container, s)
	c.liveness(container, s)
	for _, probe := range []string{"livenessProbe", "startupProbe"} {
		own := container.at(probe).at("terminationGracePeriodSeconds")
		if n := time.Duration(own.number(0)) * time.Second; own.exists() && n < s.Plan.Grace {
			c.found(own, fmt.Sprintf("the %s gives %s when it kills", probe, plan.Duration(n)), fmt.Sprintf("graced counts on %s: raise it or leave it out", plan.Duration(s.Plan.Grace)))
		}
	}
}

// preStop checks that the time of a hook, which the kubelet takes off the grace,
// is known to graced.
func (c *check) preStop(hook value, s Settings) {
	if !hook.exists() {
		return
	}
	used, known := sleeps(hook)
	switch {
	case !known && s.Plan.GraceSpent == 0:
		c.found(hook, "a preStop hook runs inside of the grace, and graced does not know for how long", "say the most that it takes by GRACED_GRACE_SPENT")
	case known && used > s.Plan.GraceSpent:
		c.found(hook, fmt.Sprintf("the preStop hook takes %s of the grace, graced counts on %s", plan.Duration(used), plan.Duration(s.Plan.GraceSpent)),
			fmt.Sprintf("leave it out, graced's delay does the same, or set GRACED_GRACE_SPENT to %s", plan.Duration(used)))
	}
}

// sleeps is how long a hook sleeps, where that is all that it does.
func sleeps(hook value) (time.Duration, bool) {
	if n := hook.at("sleep").at("seconds"); n.exists() {
		return time.Duration(n.number(0)) * time.Second, true
	}
	words := hook.at("exec").at("command").words()
	if len(words) == 3 && strings.HasSuffix(words[0], "sh") && words[1] == "-c" {
		words = strings.Fields(words[2])
	}
	if len(words) == 2 && strings.HasSuffix("/"+words[0], "/sleep") {
		if n, err := strconv.ParseFloat(strings.TrimSuffix(words[1], "s"), 64); err == nil {
			return time.Duration(n * float64(time.Second)), true
		}
	}
	return 0, false
}

// readiness checks that the kubelet asks graced, and hears of a drain in time.
func (c *check) readiness(container value, s Settings) {
	if s.Port == 0 {
		return
	}
	probe := container.at("readinessProbe")
	batch := strings.HasPrefix(c.where, "Job/") || strings.HasPrefix(c.where, "CronJob/") // nobody sends them requests
	if !probe.exists() && batch {
		return
	}
	if !probe.exists() {
		c.note(container, "there is no readiness probe", fmt.Sprintf("ask graced: httpGet, port %d, path %s", s.Port, s.Ready[0]))
		return
	}
	get := probe.at("httpGet")
	port, at := c.port(container, get.or(probe.at("tcpSocket")).or(probe.at("grpc")).at("port"))
	exec := probe.at("exec").at("command")
	switch q := c.question(container, probe, s); {
	case probe.at("exec").exists() && !q.graced:
		c.found(probe.at("exec"), "the readiness probe asks the program, which knows nothing of the shutdown", fmt.Sprintf("ask graced: httpGet, port %d, path %s", s.Port, s.Ready[0]))
		return
	case q.health && !q.ready:
		c.found(exec, q.words+" stays good while the container drains", "as a readiness probe, write: graced health ready")
	case exec.exists() && !q.ready:
		c.found(exec, q.words+" is not graced's readiness", "ask "+strings.Join(s.Ready, " or "))
		return
	case exec.exists():
	case port != s.Port:
		c.found(at.or(probe), fmt.Sprintf("the readiness probe asks port %d, the program's, which answers as before while the container drains", port), fmt.Sprintf("ask graced: httpGet, port %d, path %s", s.Port, s.Ready[0]))
		return
	case !get.exists():
		c.found(probe, "the readiness probe only connects, and graced's port answers until the end", fmt.Sprintf("ask: httpGet, port %d, path %s", s.Port, s.Ready[0]))
		return
	case !q.ready:
		c.found(get.at("path").or(get), q.words+" is not graced's readiness", "ask "+strings.Join(s.Ready, " or "))
		return
	}
	c.lag(probe, s)
}

// lag compares how long the kubelet takes to believe a 503 with the delay.
func (c *check) lag(probe value, s Settings) {
	period, failures := probe.at("periodSeconds"), probe.at("failureThreshold")
	lag := time.Duration(period.number(kubePeriod)*failures.number(kubeFailure)) * time.Second
	if s.Plan.Delay >= lag || s.Plan.Delay == 0 {
		return
	}
	c.note(period.or(failures).or(probe), fmt.Sprintf("the pod is not ready %s after the first 503 (failureThreshold × periodSeconds), the delay is %s", plan.Duration(lag), plan.Duration(s.Plan.Delay)),
		"whoever goes by the pod's readiness alone still sends requests after the delay: lower them, or raise GRACED_DELAY")
}

// question is what a probe asks of graced, if it asks graced.
func (c *check) question(container, probe value, s Settings) question {
	if command := probe.at("exec").at("command"); command.exists() {
		return s.asked(command.words())
	}
	get := probe.at("httpGet")
	if port, _ := c.port(container, get.at("port")); port == 0 || port != s.Port {
		return question{}
	}
	return s.askedPath(pathOf(get.at("path")))
}

// liveness checks that no probe of liveness follows readiness: it would have a
// container killed because it drains. A startup probe that does so is asked only
// until it was good once.
func (c *check) liveness(container value, s Settings) {
	if s.Port == 0 {
		return
	}
	live, startup := container.at("livenessProbe"), container.at("startupProbe")
	if q := c.question(container, live, s); q.ready {
		c.found(asks(live), q.words+" is readiness here: as a liveness probe it would kill a container because it is not ready", q.instead("live", s.Live[0]))
	}
	if q := c.question(container, startup, s); q.ready {
		c.note(asks(startup), q.words+" is readiness here: as a startup probe it would kill a container that drains before it was ever seen ready", q.instead("startup", s.Startup[0]))
	}
}

// instead says what to ask in the place of readiness.
func (q question) instead(word, path string) string {
	if q.health {
		return "write: graced health " + word
	}
	return "ask " + path
}

// asks is the place where a probe says what it asks.
func asks(probe value) value {
	get := probe.at("httpGet")
	return probe.at("exec").at("command").or(get.at("path")).or(get)
}

func pathOf(path value) string {
	if text := path.text(); text != "" {
		return text
	}
	return kubePath
}

// port resolves a port that may be one of the container's names.
func (c *check) port(container, port value) (int, value) {
	if n := port.number(0); n > 0 {
		return n, port
	}
	for _, p := range container.at("ports").list() {
		if name := p.at("name").text(); name != "" && name == port.text() {
			return p.at("containerPort").number(0), port
		}
	}
	return 0, port
}
