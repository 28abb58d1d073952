package manifest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"graced/internal/plan"
)

// Formats are the platforms that Emit writes for.
var Formats = []string{"kubernetes", "compose", "ecs"}

// Emit writes the part of a platform's description that fits the plan, as a
// whole document with IMAGE in the place of the image. Check finds nothing
// in it.
func Emit(format string, s Settings) (string, error) {
	switch format {
	case "kubernetes":
		return emitKubernetes(s), nil
	case "compose":
		return emitCompose(s), nil
	case "ecs":
		return emitECS(s), nil
	}
	return "", fmt.Errorf("unknown format %q; it is one of %s", format, strings.Join(Formats, ", "))
}

// whole rounds up to whole seconds, which is what platforms take.
func whole(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// probes gives a period and a threshold with which a prober believes a 503
// within the delay.
func probes(delay time.Duration) (period, failures int) {
	n := max(1, int(delay/time.Second))
	failures = min(3, n)
	return max(1, n/failures), failures
}

// variables are those with which the container's graced has this plan: the grace
// as the platform takes it, and what was set by flags and variables. What the file
// says is in the container too.
func (s Settings) variables(grace string) []Variable {
	list := []Variable{{"GRACED_GRACE", grace}}
	if s.Plan.GraceSpent > 0 {
		list = append(list, Variable{"GRACED_GRACE_SPENT", plan.Duration(s.Plan.GraceSpent)})
	}
	for _, v := range s.Variables {
		switch v.Name {
		case "GRACED_GRACE", "GRACED_GRACE_SPENT", "GRACED_CONFIG", "GRACED_PLATFORM":
		default:
			list = append(list, v)
		}
	}
	return list
}

// text is a text in quotes, for JSON and for YAML, which has JSON's.
func text(s string) string {
	data, _ := json.Marshal(s) // of a string it cannot fail
	return string(data)
}

func emitKubernetes(s Settings) string {
	var b strings.Builder
	seconds := whole(s.Plan.Grace)
	fmt.Fprintf(&b, `apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
spec:
  selector:
    matchLabels: {app: app}
  template:
    metadata:
      labels: {app: app}
    spec:
      terminationGracePeriodSeconds: %d # as GRACED_GRACE
      containers:
        - name: app
          image: IMAGE
          env:
`, seconds)
	for _, v := range s.variables(fmt.Sprintf("%ds", seconds)) {
		fmt.Fprintf(&b, "            - {name: %s, value: %s}\n", v.Name, text(v.Value))
	}
	if s.Port == 0 {
		return b.String()
	}
	period, failures := probes(s.Plan.Delay)
	fmt.Fprintf(&b, `          ports:
            - {name: graced, containerPort: %d}
          readinessProbe:
            httpGet: {path: %s, port: graced}
            periodSeconds: %d
            failureThreshold: %d # × periodSeconds: within the delay of %s
          livenessProbe:
            httpGet: {path: %s, port: graced} # graced's own; it stays good through a shutdown
          startupProbe:
            httpGet: {path: %s, port: graced}
            periodSeconds: 1
            failureThreshold: 60
`, s.Port, s.Ready[0], period, failures, plan.Duration(s.Plan.Delay), s.Live[0], s.Startup[0])
	return b.String()
}

func emitCompose(s Settings) string {
	var b strings.Builder
	grace := plan.Duration(s.Plan.Grace)
	fmt.Fprintf(&b, `services:
  app:
    image: IMAGE
    stop_grace_period: %s # as GRACED_GRACE
    environment:
`, grace)
	for _, v := range s.variables(grace) {
		fmt.Fprintf(&b, "      %s: %s\n", v.Name, text(v.Value))
	}
	if s.Port != 0 {
		b.WriteString(`    healthcheck:
      test: ["CMD", "/graced", "health"] # stays good while the container drains
      interval: 5s
`)
	}
	return b.String()
}

func emitECS(s Settings) string {
	seconds := whole(s.Plan.Grace)
	var environment []string
	for _, v := range s.variables(fmt.Sprintf("%ds", seconds)) {
		environment = append(environment, fmt.Sprintf(`{"name": %s, "value": %s}`, text(v.Name), text(v.Value)))
	}
	health := ""
	if s.Port != 0 {
		health = `,
      "healthCheck": {"command": ["CMD", "/graced", "health"], "interval": 10}`
	}
	return fmt.Sprintf(`{
  "family": "app",
  "containerDefinitions": [
    {
      "name": "app",
      "image": "IMAGE",
      "essential": true,
      "stopTimeout": %d,
      "environment": [%s]%s
    }
  ]
}
`, seconds, strings.Join(environment, ", "), health)
}
