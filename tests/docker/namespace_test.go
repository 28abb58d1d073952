package docker_test

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// With docker run --init graced is not PID 1: it makes itself the reaper of
// what its program leaves, and everything is as it was.
func TestInit(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{docker: []string{"--init"}, cmd: []string{"/app", "serve", "-addr", ":8080", "-code", "6"}})
	c.hears("up")
	if out, code := c.exec("/graced", "health", "ready"); code != 0 {
		t.Errorf("graced health ready: %d %s", code, out)
	}
	c.kill("USR1")
	c.hears("signal SIGUSR1")
	c.stop()
	c.ends(6)
	c.told().has("killed", "0")
}

// In the PID namespace of the machine graced stops its own and nobody else.
func TestPIDNamespaceOfHost(t *testing.T) {
	inDocker(t, 1)
	bystander := exec.Command("sleep", "60")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bystander.Process.Kill(); _ = bystander.Wait() }()

	c := start(t, spec{docker: []string{"--pid", "host"}, flags: []string{"--grace", "3s"}, cmd: []string{"/app", "serve", "-deaf"}})
	c.hears("up")
	c.stop("--time", "10")
	c.ends(137)
	end := c.told()
	end.has("killed", "1")
	within(t, "the shutdown", end.phase("took"), 3*time.Second)
	if err := bystander.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the bystander is gone: %v", err)
	}
}

// In the PID namespace of another container too.
func TestPIDNamespaceOfContainer(t *testing.T) {
	inDocker(t, 2)
	first := start(t, spec{cmd: []string{"/app", "serve"}})
	first.hears("up")
	second := start(t, spec{docker: []string{"--pid", "container:" + first.name}, cmd: []string{"/app", "serve", "-code", "8"}})
	second.hears("up")
	second.kill("HUP")
	second.hears("signal SIGHUP")
	second.stop()
	second.ends(8)
	second.told().has("killed", "0")
	if got := first.heard("signal"); len(got) != 0 {
		t.Errorf("the other container's program got %s", got[0].text)
	}
	first.stop()
	first.ends(0)
}

// A shell that docker exec opened does not hold up a stop, and what it leaves
// behind is reaped.
func TestExec(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{cmd: []string{"/app", "serve"}})
	c.hears("up")
	for range 3 {
		if out, code := c.exec("/app", "orphan", "10ms"); code != 0 {
			t.Fatalf("docker exec: %d %s", code, out)
		}
	}
	eventually(t, "no zombie and no orphan is left", func() bool {
		out, _ := c.exec("/app", "zombies")
		return strings.HasSuffix(out, " processes=3 zombies=0") // graced, the program, and the one that counts
	})

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	open := exec.CommandContext(ctx, "docker", "exec", c.name, "/app", "sleep", "60s")
	if err := open.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = open.Wait() }()
	eventually(t, "the other command runs", func() bool {
		out, _ := c.exec("/app", "zombies")
		return strings.Contains(out, " processes=4 ")
	})
	c.stop()
	c.ends(0)
	end := c.told()
	within(t, "the shutdown", end.phase("took"), 3*time.Second)
	end.has("overruns", "0")
}
