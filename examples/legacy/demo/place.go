package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// place is where the server runs.
type place struct {
	what string // "PID 1 of …"
	how  string // it is stopped
	// command is what runs a program there; stop stops it.
	command func(wrapped bool, name string, env []string, args []string) *exec.Cmd
	stop    func(name string, cmd *exec.Cmd) error

	mu      sync.Mutex
	running map[*server]bool
	after   func()
}

// findPlace finds the best that this machine has: a container, else a PID
// namespace of root's or of a user's own, else neither.
func findPlace(dir string) (*place, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for _, binary := range []string{"graced", "legacy"} {
		if _, err := os.Stat(filepath.Join(dir, binary)); err != nil {
			return nil, fmt.Errorf("%w; run make demo", err)
		}
	}
	p, why := inDocker(dir)
	if p == nil {
		p = inNamespace(dir)
		fmt.Printf("(Docker is not used: %s.)\n\n", why)
	}
	p.running = map[*server]bool{}
	return p, nil
}

// inDocker makes an image of Dockerfile.example. The container is on the
// machine's network, so that its ports are reached on any machine.
func inDocker(dir string) (p *place, why string) {
	version, err := exec.Command("docker", "version", "--format", "{{.Server.Os}}").Output()
	if err != nil || strings.TrimSpace(string(version)) != "linux" {
		return nil, "it does not answer"
	}
	if host := os.Getenv("DOCKER_HOST"); host != "" && !strings.HasPrefix(host, "unix://") {
		return nil, "it runs elsewhere"
	}
	image := "graced-demo:" + strconv.Itoa(os.Getpid())
	if out, err := exec.Command("docker", "build", "--quiet", "--tag", image, "--file", "Dockerfile.example", dir).CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return nil, "docker build: " + lines[len(lines)-1]
	}
	// a daemon that builds may still not be able to run anything
	if out, err := exec.Command("docker", "run", "--rm", "--network", "none", "--entrypoint", "/graced", image, "version").CombinedOutput(); err != nil {
		_ = exec.Command("docker", "rmi", "--force", image).Run()
		line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return nil, "docker run: " + line
	}
	return &place{
		what: "PID 1 of a container (Dockerfile.example)",
		how:  "docker stop",
		command: func(wrapped bool, name string, env, args []string) *exec.Cmd {
			run := []string{"run", "--rm", "--name", name, "--network", "host", "--no-healthcheck"}
			for _, e := range env {
				run = append(run, "--env", e)
			}
			if !wrapped {
				run = append(run, "--entrypoint", "/legacy")
				return exec.Command("docker", append(append(run, image), args...)...)
			}
			return exec.Command("docker", append(append(run, image, "/legacy"), args...)...)
		},
		stop:  func(name string, _ *exec.Cmd) error { return exec.Command("docker", "stop", name).Start() },
		after: func() { _ = exec.Command("docker", "rmi", "--force", image).Run() },
	}, ""
}

// inNamespace uses unshare(1) of util-linux.
func inNamespace(dir string) *place {
	p := &place{how: "SIGTERM"}
	unshare := []string{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child"}
	switch {
	case os.Getuid() == 0 && works(unshare):
		p.what = "PID 1 of a PID namespace (unshare, as root)"
	case works(append(unshare, "--user", "--map-root-user")):
		unshare = append(unshare, "--user", "--map-root-user")
		p.what = "PID 1 of a PID namespace (unshare, in a user namespace)"
	default:
		unshare = nil
		p.what = "an ordinary process (no namespace is to be had)"
	}
	p.command = func(wrapped bool, _ string, env, args []string) *exec.Cmd {
		words := append([]string(nil), unshare...)
		if wrapped {
			words = append(words, filepath.Join(dir, "graced"), "--")
		}
		words = append(append(words, filepath.Join(dir, "legacy")), args...)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Env = append(os.Environ(), env...)
		return cmd
	}
	p.stop = func(_ string, cmd *exec.Cmd) error {
		pid := cmd.Process.Pid
		if unshare != nil { // PID 1 is its child
			children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
			if err != nil {
				return err
			}
			if pid, err = strconv.Atoi(string(bytes.TrimSpace(children))); err != nil {
				return err
			}
		}
		return syscall.Kill(pid, syscall.SIGTERM)
	}
	return p
}

func works(command []string) bool {
	return exec.Command(command[0], append(command[1:], "true")...).Run() == nil
}

// leave ends what still runs.
func (p *place) leave() {
	p.mu.Lock()
	var left []*server
	for s := range p.running {
		left = append(left, s)
	}
	p.mu.Unlock()
	for _, s := range left {
		s.kill()
	}
	if p.after != nil {
		p.after()
	}
}

// server is the program, wrapped or not.
type server struct {
	place *place
	name  string
	cmd   *exec.Cmd
	ended chan int
	gone  chan struct{}
}

func (p *place) start(wrapped bool, app, probes string, clock *clock) (*server, error) {
	s := &server{place: p, name: fmt.Sprintf("graced-demo-%d-%t", os.Getpid(), wrapped), ended: make(chan int, 1), gone: make(chan struct{})}
	// graced's own settings; --listen and --log-level would do the same
	env := []string{"GRACED_LISTEN=" + probes, "GRACED_LOG_LEVEL=debug", "GRACED_LOG_FORMAT=json"}
	s.cmd = p.command(wrapped, s.name, env, []string{"-listen", app})
	log, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.running[s] = true
	p.mu.Unlock()
	go func() {
		follow(log, clock)
		_ = s.cmd.Wait()
		code := s.cmd.ProcessState.ExitCode()
		if status, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			code = 128 + int(status.Signal())
		}
		p.mu.Lock()
		delete(p.running, s)
		p.mu.Unlock()
		s.ended <- code
		close(s.gone)
	}()
	return s, nil
}

func (s *server) stop() error { return s.place.stop(s.name, s.cmd) }

// kill ends it in any case.
func (s *server) kill() {
	select {
	case <-s.gone:
		return
	default:
	}
	if s.cmd.Args[0] == "docker" {
		_ = exec.Command("docker", "rm", "--force", s.name).Run()
	}
	_ = s.cmd.Process.Kill()
	<-s.gone
}

// follow reads graced's log, one event a line, and tells those of the shutdown.
func follow(log io.Reader, clock *clock) {
	for scanner := bufio.NewScanner(log); scanner.Scan(); {
		var e struct {
			Time                                           time.Time
			Event, Level, Msg, Phase, Signal, Took, Budget string
		}
		if json.Unmarshal(scanner.Bytes(), &e) != nil {
			continue // the server's own
		}
		switch {
		case e.Event == "shutdown_start":
			clock.tell(e.Time, "not ready: /readyz answers 503; new requests are still served")
		case e.Event == "phase_start" && e.Phase == "delay":
			clock.tell(e.Time, "delay: until the load balancer looks away")
		case e.Event == "phase_start" && e.Phase == "drain":
			clock.tell(e.Time, "drain: until what is being answered is answered")
		case e.Event == "escalate":
			clock.tell(e.Time, "%s to the server, and it dies at once", e.Signal)
		case e.Event == "shutdown_end":
			clock.tell(e.Time, "done, %s of a budget of %s", e.Took, e.Budget)
		case e.Level == "WARN" || e.Level == "ERROR":
			clock.tell(e.Time, "%s", e.Msg)
		}
	}
}
