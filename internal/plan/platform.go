package plan

import (
	"strconv"
	"syscall"
	"time"
)

// Platform is what graced knows of the thing that stops it. The numbers are
// the platforms' documented defaults.
type Platform struct {
	Name  string
	Grace time.Duration // its default grace; 0: it has none that could be known
	// Max is the longest grace that it can be given; 0: no limit known. MaxBy says
	// what sets that, where it is not the same everywhere.
	Max   time.Duration
	MaxBy string
	// Delay is fixed where the platform's load balancers are known to lag and do
	// not ask graced; 0: auto.
	Delay time.Duration
	// Signal is the platform's own stop signal.
	Signal syscall.Signal
	// Report is where it reads a container's last words, if it does.
	Report string
	// PreStopCounts: a pre-stop hook of the platform's eats of the grace.
	// PreStopOutside: it has one, and that has a time of its own.
	PreStopCounts, PreStopOutside bool
}

// InterruptIsPerson says whether a SIGINT comes from a person here, not from
// the platform.
func (p Platform) InterruptIsPerson() bool { return p.Signal != syscall.SIGINT }

// DefaultGrace is assumed where neither a person nor the platform says.
const DefaultGrace = 10 * time.Second

// Platforms has every platform that graced knows by name.
var Platforms = []Platform{
	{Name: "docker", Grace: 10 * time.Second, Signal: syscall.SIGTERM},
	{Name: "compose", Grace: 10 * time.Second, Signal: syscall.SIGTERM, PreStopOutside: true},
	{Name: "swarm", Grace: 10 * time.Second, Signal: syscall.SIGTERM},
	{Name: "podman", Grace: 10 * time.Second, Signal: syscall.SIGTERM},
	{Name: "kubernetes", Grace: 30 * time.Second, Delay: 5 * time.Second, Signal: syscall.SIGTERM, Report: "/dev/termination-log", PreStopCounts: true},
	{Name: "ecs", Grace: 30 * time.Second, Max: 120 * time.Second, MaxBy: " on Fargate", Delay: 5 * time.Second, Signal: syscall.SIGTERM},
	{Name: "nomad", Grace: 5 * time.Second, Max: 30 * time.Second, MaxBy: " where the client's max_kill_timeout is not raised, and cuts off what is over without a word", Signal: syscall.SIGINT, PreStopOutside: true},
	{Name: "cloudrun", Grace: 10 * time.Second, Max: 10 * time.Second, Signal: syscall.SIGTERM},
	{Name: "fly", Grace: 5 * time.Second, Max: 300 * time.Second, Signal: syscall.SIGINT},
	{Name: "render", Grace: 30 * time.Second, Max: 300 * time.Second, Signal: syscall.SIGTERM},
	{Name: "heroku", Grace: 30 * time.Second, Max: 30 * time.Second, Signal: syscall.SIGTERM},
	{Name: "systemd", Grace: 90 * time.Second, Signal: syscall.SIGTERM, PreStopOutside: true},
	{Name: "none", Signal: syscall.SIGTERM},
}

// PlatformByName finds one of Platforms.
func PlatformByName(name string) (Platform, bool) {
	for _, p := range Platforms {
		if p.Name == name {
			return p, true
		}
	}
	return Platform{}, false
}

// DetectPlatform reads what the platforms leave in a container's environment
// and, through exists, in its file system. Docker, Compose and Swarm leave
// the same; their defaults are the same too. pid is graced's own: systemd's
// variables are inherited by everything that a unit starts, and only the process
// with that pid is the unit's.
func DetectPlatform(getenv func(string) string, exists func(path string) bool, pid int) Platform {
	is := func(name string) Platform { p, _ := PlatformByName(name); return p }
	switch {
	case getenv("KUBERNETES_SERVICE_HOST") != "":
		if getenv("K_SERVICE") != "" && getenv("K_REVISION") != "" && !exists("/var/run/secrets/kubernetes.io/serviceaccount") {
			return is("cloudrun")
		}
		return is("kubernetes")
	case getenv("ECS_CONTAINER_METADATA_URI_V4") != "" || getenv("ECS_CONTAINER_METADATA_URI") != "":
		return is("ecs")
	case getenv("NOMAD_ALLOC_ID") != "":
		return is("nomad")
	case getenv("K_SERVICE") != "" && getenv("K_REVISION") != "", getenv("CLOUD_RUN_JOB") != "":
		return is("cloudrun")
	case getenv("FLY_ALLOC_ID") != "" || getenv("FLY_MACHINE_ID") != "":
		return is("fly")
	case getenv("RENDER") == "true":
		return is("render")
	case getenv("DYNO") != "":
		return is("heroku")
	case exists("/dev/termination-log"): // made by the kubelet for every container, also where service links are off
		return is("kubernetes")
	case getenv("container") == "podman" || exists("/run/.containerenv"):
		return is("podman")
	case exists("/.dockerenv"):
		return is("docker")
	case getenv("SYSTEMD_EXEC_PID") == strconv.Itoa(pid):
		return is("systemd")
	}
	return is("none")
}
