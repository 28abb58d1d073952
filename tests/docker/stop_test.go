package docker_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The whole of a docker stop: readiness is 503 at once and never 200 again,
// load balancers are given time to see it, the program gets its signal, its
// code is the container's, and one line tells it all.
func TestStop(t *testing.T) {
	inDocker(t, 1)
	// A busy machine can be late by more than graced: one good run of three shows
	// what graced does.
	for attempt := 1; ; attempt++ {
		c := start(t, spec{
			docker: []string{"--network", "none"},
			cmd:    []string{"/app", "serve", "-addr", ":8080", "-code", "3", "-clean", "100ms", "-poll", "http://127.0.0.1:8990/readyz", "-every", "5ms"},
		})
		c.hears("answer 200 ok")
		took := c.stop()
		c.ends(3)

		end := c.told()
		end.has("level", "INFO")
		end.has("cause", "SIGTERM")
		end.has("budget", "9s")
		end.has("code", "3")
		end.has("overruns", "0")
		end.has("killed", "0")
		atLeast(t, "delay", end.phase("delay"), 10*time.Millisecond)
		atLeast(t, "stop", end.phase("stop"), 100*time.Millisecond)
		for _, phase := range []string{"drain", "rest", "cleanup"} {
			within(t, phase, end.phase(phase), 3*time.Second)
		}
		within(t, "docker stop", took, 8*time.Second)

		begin, unready, sig := c.logs("shutdown_start"), c.hears("answer 503"), c.hears("signal SIGTERM")
		inOrder(t, begin, unready, sig, c.hears("exit 3"), end.line)
		if answers := c.heard("answer"); answers[len(answers)-1].text != unready.text {
			t.Errorf("readiness went on to %q", answers[len(answers)-1].text)
		}
		if n := len(c.heard("signal")) - len(c.heard("signal SIGCONT")); n != 1 {
			t.Errorf("the program got %d signals beside SIGCONT, want 1", n)
		}
		late := unready.at.Sub(begin.at)
		if late <= 50*time.Millisecond || t.Failed() {
			return
		}
		if attempt == 3 {
			t.Errorf("readiness was 503 after %v at best, want 50ms", late)
			return
		}
	}
}

// The same, as a load balancer outside sees it: during the delay new
// connections are served, and a request that is being answered when the stop
// comes is answered. Readiness answers until graced's last moment.
func TestStopFromOutside(t *testing.T) {
	inDocker(t, 1)
	app, probes := freePort(t), freePort(t)
	c := start(t, spec{
		docker: []string{"--network", "host"},
		flags:  []string{"--listen", probes},
		cmd:    []string{"/app", "serve", "-addr", app, "-clean", "300ms"},
	})
	c.hears("up")
	eventually(t, "readiness is 200", func() bool { return status("http://"+probes+"/readyz") == 200 })

	answered := make(chan int, 1)
	go func() { answered <- status("http://" + app + "/?wait=1s") }()
	var seen []string // what readiness answered, each change of it
	looking, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for ; ; time.Sleep(20 * time.Millisecond) {
			select {
			case <-looking:
				return
			default:
			}
			answer := fmt.Sprint(status("http://" + probes + "/readyz"))
			if len(seen) == 0 || seen[len(seen)-1] != answer {
				seen = append(seen, answer)
			}
			// until the program has its signal, whoever still comes is served
			if got := status("http://" + app + "/"); got != 200 && len(c.heard("signal")) == 0 {
				t.Errorf("with readiness %s a new connection was answered %d", answer, got)
			}
		}
	}()
	time.Sleep(200 * time.Millisecond) // the slow request is on its way
	c.stop()
	c.ends(0)
	close(looking)
	<-over

	if got := <-answered; got != 200 {
		t.Errorf("the request that was being answered got %d, want 200", got)
	}
	if order := strings.Join(seen, " "); order != "200 503" && order != "200 503 0" {
		t.Errorf("readiness went %s, want 200, 503, and then nobody", order)
	}
}

// A program that knows nothing of SIGTERM dies of it at once. Without graced it
// takes what it is answering with it; with graced it has nothing to take.
func TestStopOfNaiveProgram(t *testing.T) {
	for _, tt := range []struct {
		name   string
		bare   bool
		answer int
	}{
		{"wrapped", false, 200},
		{"bare", true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inDocker(t, 1)
			app, probes := freePort(t), freePort(t)
			c := start(t, spec{
				docker: []string{"--network", "host"},
				bare:   tt.bare, flags: []string{"--listen", probes},
				cmd: []string{"/app", "serve", "-naive", "-addr", app},
			})
			c.hears("up")
			answered := make(chan int, 1)
			go func() { answered <- status("http://" + app + "/?wait=3s") }()
			time.Sleep(300 * time.Millisecond)
			c.stop()
			if got := <-answered; got != tt.answer {
				t.Errorf("the request that was being answered got %d, want %d", got, tt.answer)
			}
			if !tt.bare {
				c.ends(143)
				c.told().has("overruns", "0")
			}
		})
	}
}

// A program that does not stop is killed before the platform kills everything,
// and graced says so.
func TestStopOfProgramThatIgnoresIt(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{flags: []string{"--grace", "3s"}, cmd: []string{"/app", "serve", "-deaf"}})
	c.hears("up")
	took := c.stop("--time", "10")
	c.ends(137)
	within(t, "docker stop", took, 8*time.Second) // 3s of grace, and docker's own

	end := c.told()
	end.has("code", "137")
	end.has("killed", "1")
	end.has("overruns", "1")
	within(t, "the shutdown", end.phase("took"), 3*time.Second)
	overrun := c.logs("overrun")
	if overrun.attr("level") != "WARN" || overrun.attr("deadline") == "" {
		t.Errorf("the overrun is told as %s", overrun.raw)
	}
	inOrder(t, c.hears("signal SIGTERM"), overrun, end.line)
}

// Before it is stopped graced says nothing, as tini does not.
func TestSilentUntilStopped(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{cmd: []string{"/app", "serve", "-addr", ":8080"}})
	c.hears("up")
	if out, code := c.exec("/graced", "health", "ready"); code != 0 {
		t.Errorf("graced health ready: %d %s", code, out)
	}
	if all := c.lines.find(func(l line) bool { return l.text == "" }); len(all) != 0 {
		t.Errorf("graced said %s", all[0].raw)
	}
	c.stop()
	c.ends(0)
}

// Without a stop the last word is the program's: its code is the container's.
func TestExitCode(t *testing.T) {
	inDocker(t, 1)
	for _, code := range []int{0, 1, 42, 255} {
		c := start(t, spec{cmd: []string{"/app", "exit", fmt.Sprint(code)}})
		c.ends(code)
		if c.transcript() != "" {
			t.Errorf("graced said %s", c.transcript())
		}
	}
}

// The program has graced's own standard input: docker run -i is a filter, as
// without graced.
func TestFilter(t *testing.T) {
	mounts := userland(t, "/usr/bin/tr")
	inDocker(t, 1)
	c := start(t, spec{docker: mounts, stdin: "some words\n", cmd: []string{"/usr/bin/tr", "a-z", "A-Z"}})
	c.ends(0)
	if got := c.transcript(); got != "SOME WORDS\n" {
		t.Errorf("it printed %q", got)
	}
}

// The codes of a program that cannot be started are those of docker run itself.
func TestNotStarted(t *testing.T) {
	inDocker(t, 1)
	for _, tt := range []struct {
		flags []string
		cmd   string
		code  int
		says  string
	}{
		{nil, "/missing", 127, "no such file"},
		{nil, "/opt", 126, "directory"},
		{nil, "/etc/hostname", 126, "not executable"},
		{[]string{"--grace", "30"}, "/app", 125, "--grace"},
	} {
		c := start(t, spec{flags: tt.flags, cmd: []string{tt.cmd}})
		c.ends(tt.code)
		if !strings.Contains(c.transcript(), tt.says) {
			t.Errorf("%s: graced says %q, want something of %q", tt.cmd, c.transcript(), tt.says)
		}
	}
}

// An image's CMD is what runs after ENTRYPOINT ["/graced", "--"], and docker
// run's words replace it.
func TestEntrypointAndCmd(t *testing.T) {
	inDocker(t, 1)
	start(t, spec{image: "whole"}).ends(42)
	start(t, spec{image: "whole", cmd: []string{"/app", "exit", "7"}}).ends(7)
}

// freePort is an address of the loopback that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// status is the code that a GET is answered with, over a connection of its
// own; 0: none.
func status(url string) int {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0 // cut off
	}
	return resp.StatusCode
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not become so that %s", what)
		}
	}
}
