package manifest

import "time"

// composeGrace is stop_grace_period's default; the Compose specification, "services".
const composeGrace = 10 * time.Second

// compose checks the services that run graced.
func (c *check) compose(doc value) {
	names, services := doc.at("services").entries()
	var list []candidate
	for i, service := range services {
		list = append(list, candidate{at: service, env: service.at("environment"),
			words:    append(service.at("entrypoint").words(), service.at("command").words()...),
			commands: []value{service.at("healthcheck").at("test")}, ports: published(service),
			settings: Container{Platform: "compose", Name: names[i]}})
	}
	for _, one := range c.ofGraced(list) {
		service := one.at
		s, ok := c.open(one)
		if !ok {
			continue
		}
		given, at := composeGrace, service.at("stop_grace_period")
		if at.exists() {
			var ok bool
			if given, ok = seconds(at.text()); !ok {
				c.found(at, at.text()+" is no duration", "write one such as 30s")
				continue
			}
		}
		c.grace(at.or(service), "stop_grace_period", given, at.exists(), s)
		c.stopSignal(service.at("stop_signal"), s)
		c.healthcheck(service.at("healthcheck").at("test"), s)
		if init := service.at("init"); init.text() == "true" {
			c.note(init, "init: true puts another init before graced", "leave it out: graced reaps and passes signals on by itself")
		}
	}
}

// healthcheck checks that a container is not called unhealthy, and ended for it by
// Swarm or ECS, because it drains.
func (c *check) healthcheck(test value, s Settings) {
	if s.Port == 0 {
		return
	}
	if s.asked(test.words()).ready {
		c.found(test, "the health check asks for readiness: a container that drains is called unhealthy, and may be ended for it", `write ["CMD", "/graced", "health"]: it stays good while the container drains`)
	}
}
