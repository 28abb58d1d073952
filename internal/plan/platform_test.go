package plan

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPlatforms has the documented defaults; what they are decides a grace that
// nobody gave.
func TestPlatforms(t *testing.T) {
	tests := []struct {
		name       string
		grace, max float64
		delay      float64
		person     bool // a SIGINT is a person's
	}{
		{"docker", 10, 0, 0, true}, {"compose", 10, 0, 0, true}, {"swarm", 10, 0, 0, true}, {"podman", 10, 0, 0, true},
		{"kubernetes", 30, 0, 5, true}, {"ecs", 30, 120, 5, true}, {"nomad", 5, 30, 0, false}, {"cloudrun", 10, 10, 0, true},
		{"fly", 5, 300, 0, false}, {"render", 30, 300, 0, true}, {"heroku", 30, 30, 0, true}, {"systemd", 90, 0, 0, true}, {"none", 0, 0, 0, true},
	}
	if len(tests) != len(Platforms) {
		t.Errorf("%d platforms are known, %d tested", len(Platforms), len(tests))
	}
	for _, tt := range tests {
		p, ok := PlatformByName(tt.name)
		if !ok {
			t.Errorf("%s is not known", tt.name)
			continue
		}
		if p.Grace != seconds(tt.grace) || p.Max != seconds(tt.max) || p.Delay != seconds(tt.delay) || p.InterruptIsPerson() != tt.person {
			t.Errorf("%+v; want %+v", p, tt)
		}
		if (p.Report != "") != (tt.name == "kubernetes") || p.PreStopCounts != (tt.name == "kubernetes") {
			t.Errorf("%s: report %q, PreStopCounts %v", tt.name, p.Report, p.PreStopCounts)
		}
		if plan := mustFit(t, one(on(tt.name))); plan.Grace != max(p.Grace, DefaultGrace*time.Duration(b2i(p.Grace == 0))) {
			t.Errorf("%s: the plan has a grace of %v", tt.name, plan.Grace)
		}
	}
	if _, ok := PlatformByName("kubernets"); ok {
		t.Error("a platform that is none was found")
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestDetect has what each platform leaves in a container, and what looks like
// one and is another.
func TestDetect(t *testing.T) {
	const k8s = "KUBERNETES_SERVICE_HOST=10.0.0.1"
	tests := []struct {
		name, want string
		env, files string
	}{
		{"nothing", "none", "PATH=/bin HOME=/", ""},
		{"docker", "docker", "", "/.dockerenv"},
		{"podman by its variable", "podman", "container=podman", ""},
		{"podman by its file", "podman", "", "/run/.containerenv"},
		{"another container manager", "none", "container=lxc", ""},
		{"kubernetes", "kubernetes", k8s, "/var/run/secrets/kubernetes.io/serviceaccount /dev/termination-log"},
		{"kubernetes on CRI-O", "kubernetes", k8s, "/run/.containerenv"},
		{"kubernetes without service links", "kubernetes", "", "/dev/termination-log"},
		{"kubernetes without them, on CRI-O", "kubernetes", "", "/dev/termination-log /run/.containerenv"},
		{"Knative on kubernetes", "kubernetes", k8s + " K_SERVICE=s K_REVISION=r", "/var/run/secrets/kubernetes.io/serviceaccount"},
		{"a Service named graced", "kubernetes", k8s + " GRACED_PORT=tcp://10.0.0.2:80", ""},
		{"Cloud Run", "cloudrun", "K_SERVICE=s K_REVISION=r PORT=8080", ""},
		{"half of it", "none", "K_SERVICE=s", ""},
		{"a Cloud Run job", "cloudrun", "CLOUD_RUN_JOB=j", ""},
		{"ECS", "ecs", "ECS_CONTAINER_METADATA_URI_V4=http://169.254.170.2/v4/x", "/.dockerenv"},
		{"ECS of old", "ecs", "ECS_CONTAINER_METADATA_URI=http://169.254.170.2/v3/x", ""},
		{"Nomad", "nomad", "NOMAD_ALLOC_ID=1", "/.dockerenv"},
		{"Fly", "fly", "FLY_MACHINE_ID=1", ""}, {"Fly of old", "fly", "FLY_ALLOC_ID=1", ""},
		{"Render", "render", "RENDER=true", ""}, {"a variable of one's own", "none", "RENDER=1", ""},
		{"Heroku", "heroku", "DYNO=web.1", ""},
		{"systemd", "systemd", "SYSTEMD_EXEC_PID=42", ""},
		{"below a unit's own process", "none", "SYSTEMD_EXEC_PID=41", ""},
		{"docker on a machine with systemd", "docker", "SYSTEMD_EXEC_PID=42", "/.dockerenv"},
		{"an empty variable", "none", "KUBERNETES_SERVICE_HOST=", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			getenv := func(name string) string {
				for _, e := range strings.Fields(tt.env) {
					if n, v, _ := strings.Cut(e, "="); n == name {
						return v
					}
				}
				return ""
			}
			exists := func(path string) bool { return slices.Contains(strings.Fields(tt.files), path) }
			if got := DetectPlatform(getenv, exists, 42); got.Name != tt.want {
				t.Errorf("found %s, want %s", got.Name, tt.want)
			}
		})
	}
}
