package docker_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The everyday uses, each with the default settings: graced -- and the program.

// docker run -it a shell, and stop it. A shell that a person types into does
// not heed SIGTERM; it gets SIGHUP, and does not use up the grace.
func TestEverydayInteractiveShell(t *testing.T) {
	mounts := userland(t, "/bin/bash")
	inDocker(t, 1)
	for attempt := 1; ; attempt++ { // see TestStop
		c := start(t, spec{pty: true, docker: append(mounts, "--env", "TERM=dumb"), cmd: []string{"/bin/bash", "--norc", "--noprofile"}})
		c.term.types("echo $((20+2))\n")
		c.term.expect(`\r\n22\r\n`)
		within(t, "docker stop", c.stop(), 8*time.Second)
		c.ends(128 + int(syscall.SIGHUP))
		// the terminal was given back: graced's last words are on it
		took := c.term.expect(`shutdown done.* took=(\S+)`)[1]
		if d, err := time.ParseDuration(took); err == nil && d < 500*time.Millisecond || t.Failed() {
			return
		}
		if attempt == 3 {
			t.Errorf("the shutdown took %s at best, want less than 0.5s", took)
			return
		}
	}
}

// Compose's Ctrl-C is a docker stop of each container: SIGTERM, and ten seconds.
func TestEverydayComposeInterrupt(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{cmd: []string{"/app", "serve", "-addr", ":8080", "-clean", "500ms"}})
	c.hears("up")
	took := c.stop("--time", "10")
	c.ends(0)
	end := c.told()
	end.has("cause", "SIGTERM")
	end.has("killed", "0")
	within(t, "docker stop", took, 6*time.Second)
}

// nginx with its image's STOPSIGNAL: a download that is under way when the stop
// comes is finished.
func TestEverydayNginx(t *testing.T) {
	for _, signal := range []string{"SIGQUIT", "SIGTERM"} { // its image's, and any other image's
		t.Run(signal, func(t *testing.T) {
			mounts := userland(t, "/usr/sbin/nginx")
			inDocker(t, 1)
			port := freePort(t)
			dir := t.TempDir()
			write(t, dir, "slow", strings.Repeat("0123456789abcde\n", 16<<10)) // 256 KiB
			write(t, dir, "nginx.conf", `user root;
worker_processes 1;
error_log stderr;
pid /tmp/nginx.pid;
events {}
http {
	access_log off;
	client_body_temp_path /tmp/body; proxy_temp_path /tmp/proxy; fastcgi_temp_path /tmp/fastcgi; uwsgi_temp_path /tmp/uwsgi; scgi_temp_path /tmp/scgi;
	server {
		listen `+port+`;
		root /srv;
		location /slow { limit_rate 80k; }
		location / { return 200 "hello\n"; }
	}
}
`)
			c := start(t, spec{
				docker: append(mounts, "--network", "host", "--stop-signal", signal, "--tmpfs", "/tmp", "--tmpfs", "/var",
					"--volume", "/etc/passwd:/etc/passwd:ro", "--volume", "/etc/group:/etc/group:ro", "--volume", dir+":/srv:ro"),
				flags: []string{"--listen", "off", "--log-level", "debug"},
				cmd:   []string{"/usr/sbin/nginx", "-c", "/srv/nginx.conf", "-g", "daemon off;"},
			})
			eventually(t, "nginx answers", func() bool { return status("http://"+port+"/") == 200 })
			answered := make(chan int, 1)
			var whole time.Time
			go func() {
				code := status("http://" + port + "/slow")
				whole = time.Now()
				answered <- code
			}()
			time.Sleep(300 * time.Millisecond) // it is under way, and takes 3s in all
			c.stop()
			if got := <-answered; got != 200 {
				t.Errorf("the download was answered %d, want 200 and all of it", got)
			}
			c.ends(0)
			c.told().has("killed", "0")
			inOrder(t, c.logs("shutdown_start"), line{at: whole, raw: "the end of the download"})
			if first := c.logs("escalate"); first.attr("signal") != "SIGQUIT" {
				t.Errorf("nginx was stopped by %s", first.raw)
			}
		})
	}
}

// kubernetes gives what the kubelet gives a container: the environment of its
// services, and a termination log, a file of the node's that is mounted.
func kubernetes(t *testing.T) (flags []string, log string) {
	t.Helper()
	log = write(t, t.TempDir(), "termination-log", "")
	return []string{"--env", "KUBERNETES_SERVICE_HOST=10.96.0.1", "--env", "KUBERNETES_SERVICE_PORT=443", "--read-only", "--user", "65532", "--cap-drop", "ALL",
		"--volume", log + ":/dev/termination-log"}, log
}

// fixedDelay checks a stop with the five seconds of a platform whose load
// balancers lag behind.
func fixedDelay(t *testing.T, c *container) {
	t.Helper()
	c.kill("TERM")
	sig := c.hears("signal SIGTERM")
	waited := sig.at.Sub(c.logs("shutdown_start").at)
	atLeast(t, "the delay", waited, 4990*time.Millisecond)
	within(t, "the delay", waited, 10*time.Second)
	c.ends(0)
	end := c.told()
	end.has("budget", "27s")
	end.has("overruns", "0")
}

// Kubernetes, with no probe at all.
func TestEverydayKubernetes(t *testing.T) {
	inDocker(t, 1)
	flags, _ := kubernetes(t)
	c := start(t, spec{docker: flags, cmd: []string{"/app", "serve", "-addr", ":8080"}})
	c.hears("up")
	fixedDelay(t, c)
}

// With a probe on the program's own port: it answers in the delay as before.
func TestEverydayKubernetesProbeOfProgram(t *testing.T) {
	inDocker(t, 1)
	flags, _ := kubernetes(t)
	c := start(t, spec{docker: flags, cmd: []string{"/app", "serve", "-addr", ":8080", "-poll", "http://127.0.0.1:8080/", "-every", "200ms", "-close"}})
	c.hears("answer 200")
	fixedDelay(t, c)
	if answers := c.heard("answer"); len(answers) != 1 {
		t.Errorf("the probe saw %q", answers[1].text)
	}
}

// With a probe on graced's: 503 from the first moment, in all of the delay.
func TestEverydayKubernetesProbeOfGraced(t *testing.T) {
	inDocker(t, 1)
	flags, _ := kubernetes(t)
	c := start(t, spec{docker: flags, cmd: []string{"/app", "serve", "-addr", ":8080", "-poll", "http://127.0.0.1:8990/readyz", "-every", "200ms", "-close"}})
	c.hears("answer 200 ok")
	fixedDelay(t, c)
	if answers := c.heard("answer"); len(answers) != 2 || !strings.HasPrefix(answers[1].text, "answer 503") {
		t.Errorf("the probe saw %d different answers", len(answers))
	} else {
		within(t, "not ready", answers[1].at.Sub(c.logs("shutdown_start").at), 2*time.Second)
		inOrder(t, answers[1], c.hears("signal SIGTERM"))
	}
}

// ECS: the same delay, and the grace of its stopTimeout.
func TestEverydayECS(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{
		docker: []string{"--env", "ECS_CONTAINER_METADATA_URI_V4=http://169.254.170.2/v4/0123", "--env", "AWS_EXECUTION_ENV=AWS_ECS_FARGATE"},
		cmd:    []string{"/app", "serve", "-addr", ":8080"},
	})
	c.hears("up")
	fixedDelay(t, c)
}

// A worker listens on nothing: nobody is to look away, and it must take no new
// job, so its signal comes at once.
func TestEverydayWorker(t *testing.T) {
	inDocker(t, 1)
	flags, _ := kubernetes(t)
	c := start(t, spec{docker: flags, cmd: []string{"/app", "serve", "-clean", "200ms"}})
	c.hears("up")
	c.stop("--time", "30")
	c.ends(0)
	within(t, "the way to the signal", c.hears("signal SIGTERM").at.Sub(c.logs("shutdown_start").at), 2*time.Second)
}

// A job that ends by itself: its code, no word, no report, and no time lost.
func TestEverydayJob(t *testing.T) {
	inDocker(t, 1)
	flags, log := kubernetes(t)
	began := time.Now()
	c := start(t, spec{docker: flags, cmd: []string{"/app", "exit", "0"}})
	c.ends(0)
	within(t, "the job", time.Since(began), 10*time.Second)
	if c.transcript() != "" {
		t.Errorf("graced said %s", c.transcript())
	}
	if text := read(t, log); text != "" {
		t.Errorf("graced reported %s", text)
	}
}

// A JVM takes SIGQUIT for a question: it prints its threads. So that is passed
// on and stops nothing; SIGTERM stops it, and it exits with 143.
func TestEverydayJVM(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{cmd: []string{"/opt/bin/java", "serve", "-addr", ":8080", "-deaf"}, flags: []string{"--grace", "3s"}})
	c.hears("up")
	c.kill("QUIT")
	c.hears("signal SIGQUIT")
	if got := c.logged("shutdown_start"); len(got) != 0 {
		t.Errorf("SIGQUIT started the shutdown: %s", got[0].raw)
	}
	c.stop("--time", "10")
	c.hears("signal SIGTERM")
	c.ends(137)
	if n := len(c.heard("signal SIGQUIT")); n != 1 {
		t.Errorf("the program got SIGQUIT %d times", n)
	}
}

// postgres, which gives up root by itself, so that graced may not look at its
// executable. With sessions open a SIGTERM would wait for them without end;
// SIGINT ends them and closes the data base cleanly.
func TestEverydayPostgres(t *testing.T) {
	bin := postgresBin(t)
	mounts := userland(t, "/usr/bin/setpriv", "/bin/sh")
	inDocker(t, 1)
	drop := "setpriv --reuid=postgres --regid=postgres --init-groups "
	c := start(t, spec{
		docker: append(mounts, "--tmpfs", "/data:mode=1777", "--tmpfs", "/tmp:mode=1777", "--shm-size", "64m",
			"--volume", "/etc/passwd:/etc/passwd:ro", "--volume", "/etc/group:/etc/group:ro", "--volume", "/etc/ld.so.cache:/etc/ld.so.cache:ro"),
		flags: []string{"--log-level", "debug"},
		cmd: []string{"/bin/sh", "-c", drop + bin + "/initdb -D /data/db --auth trust --no-sync --no-locale >/dev/null &&" +
			" exec " + drop + bin + "/postgres -D /data/db -k /tmp -c listen_addresses="},
	})
	c.prints("database system is ready to accept connections")
	session := bin + "/psql -h /tmp -U postgres -c 'select pg_sleep(60)' >/dev/null"
	c.docker("exec", "--detach", c.name, "/bin/sh", "-c", drop+session)
	eventually(t, "the session is open", func() bool {
		out, _ := c.exec("/bin/sh", "-c", drop+bin+"/psql -h /tmp -U postgres -Atc \"select count(*) from pg_stat_activity where query like '%pg_sleep(60)%' and state='active' and pid<>pg_backend_pid()\"")
		return out == "1"
	})
	took := c.stop()
	c.ends(0)
	within(t, "docker stop", took, 9*time.Second)
	c.prints("received fast shutdown request")
	c.prints("database system is shut down")
	end := c.told()
	end.has("killed", "0")
	if first := c.logs("escalate"); first.attr("signal") != "SIGINT" || first.attr("program") != "postgres" {
		t.Errorf("postgres was stopped by %s", first.raw)
	}
}

// sh -c with a server in the background, as CI jobs have: the shell has the
// signal and is gone; the server gets it too, and its time to clean up.
func TestEverydayShellWithBackgroundServer(t *testing.T) {
	mounts := userland(t, "/bin/sh")
	inDocker(t, 1)
	c := start(t, spec{docker: mounts, cmd: []string{"/bin/sh", "-c", "/app serve -addr :8080 -clean 1s & sleep 300"}})
	c.hears("up")
	c.stop()
	c.ends(128 + int(syscall.SIGTERM)) // the shell's
	end := c.told()
	end.has("killed", "0")
	atLeast(t, "the rest", end.phase("rest"), 900*time.Millisecond)
	inOrder(t, c.hears("signal SIGTERM"), c.hears("exit 0"), end.line)
}

// postgresBin is where the programs of the newest PostgreSQL are, on Debian.
func postgresBin(t *testing.T) string {
	t.Helper()
	versions, _ := os.ReadDir("/usr/lib/postgresql")
	if len(versions) == 0 {
		skip(t, "postgresql is not installed")
	}
	return "/usr/lib/postgresql/" + versions[len(versions)-1].Name() + "/bin"
}
