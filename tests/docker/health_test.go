package docker_test

import (
	"strings"
	"testing"
	"time"
)

// A HEALTHCHECK in a scratch image with a read-only root: unhealthy until it is
// ready, healthy from then on, and also while it drains, so that nobody
// restarts it for that.
func TestHealthcheck(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{
		image:  "whole",
		docker: []string{"--read-only", "--user", "65532", "--cap-drop", "ALL", "--env", "GRACED_GRACE=2m"},
		cmd:    []string{"/app", "serve", "-addr", ":8080", "-deaf"},
	})
	c.hears("up")
	health := func() string {
		return c.docker("inspect", "--format", "{{.State.Health.Status}} {{.State.Health.FailingStreak}}", c.name)
	}
	eventually(t, "the container is healthy", func() bool { return health() == "healthy 0" })
	c.kill("TERM")
	c.hears("signal SIGTERM")
	if out, code := c.exec("/graced", "health", "ready"); code != 1 || !strings.Contains(out, "stopping") {
		t.Errorf("while it stops, graced health ready: %d %s", code, out)
	}
	for range 3 {
		time.Sleep(300 * time.Millisecond)
		if got := health(); got != "healthy 0" {
			t.Errorf("while it stops the container is %s", got)
		}
	}
	c.kill("KILL")
	c.ends(137)
}

// graced health finds out by itself where the running graced answers, also as
// another user, who may not read the environment of PID 1 but has the same.
func TestHealthFindsGraced(t *testing.T) {
	inDocker(t, 1)
	for _, tt := range []struct {
		docker []string
		flags  []string
	}{
		{nil, []string{"--listen", "127.0.0.1:9001"}},
		{nil, []string{"run", "--listen=[::1]:9001", "--grace", "5s"}},
		{[]string{"--env", "GRACED_LISTEN=127.0.0.1:9001"}, nil},
		{[]string{"--init"}, []string{"--listen", "127.0.0.1:9001"}},
	} {
		c := start(t, spec{docker: append(tt.docker, "--sysctl", "net.ipv6.conf.all.disable_ipv6=0"), flags: tt.flags, cmd: []string{"/app", "serve", "-addr", ":8080"}})
		c.hears("up")
		for _, user := range []string{"0", "65532"} {
			if out, code := c.execAs(user, "/graced", "health", "ready"); code != 0 {
				t.Errorf("%v %v, as user %s: %d %s", tt.docker, tt.flags, user, code, out)
			}
		}
		c.stop()
		c.ends(0)
	}
}

// Before its program has ever listened a container is not healthy.
func TestHealthcheckBeforeReady(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{image: "whole", cmd: []string{"/app", "serve"}})
	c.hears("up")
	for word, want := range map[string]int{"": 1, "ready": 1, "startup": 1, "live": 0} {
		args := []string{"/graced", "health"}
		if word != "" {
			args = append(args, word)
		}
		if out, code := c.exec(args...); code != want {
			t.Errorf("graced health %s: %d, want %d: %s", word, code, want, out)
		}
	}
	eventually(t, "the container is unhealthy", func() bool {
		return c.docker("inspect", "--format", "{{.State.Health.Status}}", c.name) == "unhealthy"
	})
	c.stop()
	c.ends(0)
}
