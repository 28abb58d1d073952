package manifest

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// who are the containers of a file that are taken for graced's: of a grace that no
// platform gives each is told.
func who(t *testing.T, text string, args ...string) []string {
	t.Helper()
	findings, err := Check("file", []byte(text), func(c Container) (Settings, error) {
		c.Args = append(slices.Clone(c.Args), args...)
		c.Args = append(c.Args, "--grace", "2h")
		return settingsOf(c)
	})
	if err != nil && !errors.Is(err, ErrNothing) {
		t.Fatal(err)
	}
	var names []string
	for _, f := range findings {
		if strings.Contains(f.Should, "graced counts on 2h") {
			names = append(names, f.Where)
		}
	}
	return names
}

// TestEvidence: graced is found as its image's ENTRYPOINT, of which a manifest has
// no word, beside containers that have nothing to do with it.
func TestEvidence(t *testing.T) {
	pod := func(containers string) string { return "kind: Pod\nmetadata: {name: x}\nspec: {" + containers + "}\n" }
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"a variable", pod("containers: [{name: app, env: [{name: GRACED_GRACE, value: 5s}]}, {name: proxy}]"), []string{"Pod/x: app"}},
		{"a variable from elsewhere", pod("containers: [{name: app, env: [{name: GRACED_GRACE, valueFrom: {}}]}, {name: proxy}]"), []string{"Pod/x: app"}},
		{"another's variable", pod("containers: [{name: app, env: [{name: GRACE, value: 5s}]}, {name: proxy}]"), nil},
		{"a probe", pod("containers: [{name: proxy}, {name: app, readinessProbe: {httpGet: {path: /readyz, port: 8990}}}]"), []string{"Pod/x: app"}},
		{"a probe by a port's name", pod("containers: [{name: app, ports: [{name: g, containerPort: 8990}], livenessProbe: {httpGet: {port: g}}}, {name: proxy, ports: [{name: g, containerPort: 80}], livenessProbe: {httpGet: {port: g}}}]"), []string{"Pod/x: app"}},
		{"a probe that connects", pod("containers: [{name: app, startupProbe: {tcpSocket: {port: 8990}}}, {name: proxy}]"), []string{"Pod/x: app"}},
		{"a port", pod("containers: [{name: app, ports: [{containerPort: 8990}]}, {name: proxy}]"), []string{"Pod/x: app"}},
		{"health by a command", pod("containers: [{name: app, readinessProbe: {exec: {command: [/graced, health, ready]}}}, {name: proxy, readinessProbe: {exec: {command: [/proxy, health, ready]}}}]"), []string{"Pod/x: app"}},
		{"curl", pod("containers: [{name: app, readinessProbe: {exec: {command: [curl, localhost:8990/readyz]}}}, {name: proxy, readinessProbe: {exec: {command: [curl, localhost:80]}}}]"), []string{"Pod/x: app"}},
		{"a command, and another's variable", pod("containers: [{name: app, command: [/graced, --, x]}, {name: api, env: [{name: GRACED_LISTEN, value: ':8991'}]}, {name: proxy}]"), []string{"Pod/x: app", "Pod/x: api"}},
		{"a sidecar that asks for the other", pod("containers: [{name: app, command: [/graced, --, x]}, {name: proxy, readinessProbe: {httpGet: {path: /readyz, port: 8990}}}]"), []string{"Pod/x: app"}},
		{"nothing", pod("containers: [{name: app}, {name: proxy}]"), nil},
		{"the only one", pod("containers: [{name: app}]"), []string{"Pod/x: app"}},
		{"the only one beside a native sidecar", pod("containers: [{name: app}], initContainers: [{name: setup}, {name: proxy, restartPolicy: Always}]"), []string{"Pod/x: app"}},
		{"a native sidecar", pod("containers: [{name: app}], initContainers: [{name: proxy, restartPolicy: Always, env: [{name: GRACED_GRACE, value: 5s}]}]"), []string{"Pod/x: proxy"}},

		{"Compose: a variable", "services: {db: {image: postgres}, web: {environment: {GRACED_GRACE: 5s}}}", []string{"web"}},
		{"Compose: a variable in a list", "services: {db: {image: postgres}, web: {environment: [GRACED_GRACE=5s]}}", []string{"web"}},
		{"Compose: health", "services: {db: {healthcheck: {test: pg_isready}}, web: {healthcheck: {test: [CMD, /graced, health]}}}", []string{"web"}},
		{"Compose: health in a shell", "services: {db: {image: postgres}, web: {healthcheck: {test: [CMD-SHELL, '/graced health || exit 1']}}}", []string{"web"}},
		{"Compose: curl", "services: {db: {image: postgres}, web: {healthcheck: {test: curl -f http://localhost:8990/livez}}}", []string{"web"}},
		{"Compose: a port", "services: {db: {ports: ['5432:5432', 8990-8999]}, web: {ports: ['80:80', '127.0.0.1:9000:8990/tcp']}}", []string{"web"}},
		{"Compose: a port, in long", "services: {db: {ports: [{target: 5432, published: 8990}]}, web: {ports: [{target: 8990}]}}", []string{"web"}},
		{"Compose: expose", "services: {db: {expose: [5432]}, web: {expose: ['8990']}}", []string{"web"}},

		{"ECS: a variable", `{"family": "f", "containerDefinitions": [{"name": "log"}, {"name": "app", "environment": [{"name": "GRACED_GRACE", "value": "5s"}]}]}`, []string{"task f: app"}},
		{"ECS: health", `{"family": "f", "containerDefinitions": [{"name": "log"}, {"name": "app", "healthCheck": {"command": ["CMD", "/graced", "health"]}}]}`, []string{"task f: app"}},
		{"ECS: a port", `{"family": "f", "containerDefinitions": [{"name": "log", "portMappings": [{"containerPort": 80}]}, {"name": "app", "portMappings": [{"containerPort": 8990}]}]}`, []string{"task f: app"}},
		{"ECS: nothing", `{"family": "f", "containerDefinitions": [{"name": "log"}, {"name": "app"}]}`, nil},
	} {
		if got := who(t, tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	// the port is the one that was given
	text := pod("containers: [{name: app, readinessProbe: {httpGet: {path: /readyz, port: 9000}}}, {name: proxy, ports: [{containerPort: 8990}]}]")
	if got := who(t, text, "--listen", ":9000"); !slices.Equal(got, []string{"Pod/x: app"}) {
		t.Errorf("on port 9000: %q", got)
	}
	if got := who(t, text, "--listen", "off"); got != nil {
		t.Errorf("without a port: %q", got)
	}
}
