package manifest

import (
	"fmt"
	"time"

	"graced/internal/plan"
)

// ECS' default stopTimeout, and the most that Fargate gives; the API reference of
// ContainerDefinition.
const (
	ecsGrace = 30 * time.Second
	ecsMax   = 120 * time.Second
)

// ecs checks the containers of a task definition that run graced.
func (c *check) ecs(task value) {
	fargate := false
	for _, kind := range task.at("requiresCompatibilities").list() {
		fargate = fargate || kind.text() == "FARGATE"
	}
	var list []candidate
	for _, container := range task.at("containerDefinitions").list() {
		one := candidate{at: container, env: container.at("environment"),
			words:    append(container.at("entryPoint").words(), container.at("command").words()...),
			commands: []value{container.at("healthCheck").at("command")},
			settings: Container{Platform: "ecs", Name: "task " + task.at("family").text() + ": " + container.at("name").text()}}
		for _, p := range container.at("portMappings").list() {
			one.ports = append(one.ports, p.at("containerPort").number(0))
		}
		list = append(list, one)
	}
	for _, one := range c.ofGraced(list) {
		container := one.at
		s, ok := c.open(one)
		if !ok {
			continue
		}
		at := container.at("stopTimeout")
		given := time.Duration(at.number(int(ecsGrace/time.Second))) * time.Second
		if fargate && given > ecsMax {
			c.found(at, fmt.Sprintf("stopTimeout is %s, Fargate gives at most %s", plan.Duration(given), plan.Duration(ecsMax)), "lower it, and GRACED_GRACE with it")
		}
		c.grace(at.or(container), "stopTimeout", given, at.exists(), s)
		c.healthcheck(container.at("healthCheck").at("command"), s)
		if init := container.at("linuxParameters").at("initProcessEnabled"); init.text() == "true" {
			c.note(init, "initProcessEnabled puts another init before graced", "leave it out: graced reaps and passes signals on by itself")
		}
	}
}
