package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// haproxy is the real one. It says on its standard output what it thinks of the
// servers and which requests failed.
type haproxy struct {
	cmd    *exec.Cmd
	socket string
	told   history
	done   chan struct{}
}

// haproxyConfig lets every failure through: no retries, no redispatch. Its own
// times are far beyond those of the run, so that none of them adds a failure.
func haproxyConfig(j *job, servers []*server, socket string) string {
	s := &j.Spec
	port, path := s.health()
	var b strings.Builder
	fmt.Fprintf(&b, `global
	maxconn 8000
	nbthread 1
	log stdout format raw local0
	stats socket %s mode 600 level admin
defaults
	log global
	mode http
	option httplog
	option dontlog-normal
	option log-health-checks
	retries 0
	no option redispatch
	timeout connect 1s
	timeout client 300s
	timeout server 60s
	timeout tunnel 300s
	timeout http-keep-alive 300s
	timeout check 1s
frontend front
	bind %s:%d
	default_backend app
backend app
	balance roundrobin
	http-reuse safe
	http-after-response set-header %s %%s
	option httpchk GET %s
	http-check expect status 200
`, socket, labAddr, frontPort, serverHeader, path)
	app := apps[s.App]
	words := app.server
	if !s.Pooled {
		words += " " + app.unpool
	}
	for _, srv := range servers {
		fmt.Fprintf(&b, "\tserver %s %s check port %d inter %dms fall %d rise %d %s\n",
			srv.name(), srv.target(), port, s.Inter.Milliseconds(), s.Fall, s.Rise, words)
	}
	return b.String()
}

func startHAProxy(j *job, servers []*server) (*haproxy, error) {
	h := &haproxy{socket: filepath.Join(j.dir(), "haproxy.sock"), done: make(chan struct{})}
	config := filepath.Join(j.dir(), "haproxy.cfg")
	if err := os.WriteFile(config, []byte(haproxyConfig(j, servers, h.socket)), 0o644); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(j.dir(), "haproxy.log"))
	if err != nil {
		return nil, err
	}
	h.cmd = exec.Command("haproxy", "-db", "-f", config)
	h.cmd.Stderr = log
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := startOwned(h.cmd); err != nil {
		return nil, err
	}
	go func() {
		h.listen(out, log)
		log.Close()
		_ = h.cmd.Wait() // it was killed
		close(h.done)
	}()
	if err := waitListening(fmt.Sprintf("%s:%d", labAddr, frontPort)); err != nil {
		h.stop()
		return nil, fmt.Errorf("haproxy: %w; see %s", err, log.Name())
	}
	return h, nil
}

// waitListening waits until somebody accepts connections.
func waitListening(addr string) error {
	var err error
	for range 100 {
		var c net.Conn
		if c, err = net.Dial("tcp", addr); err == nil {
			return c.Close()
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// Lines such as "Server app/s0 is DOWN, reason: Layer7 wrong status, code: 503, …"
// and, of a failed request, "… front app/s0 0/0/0/-1/2 502 …".
var turned = regexp.MustCompile(`Server app/(s\d+) is (UP|DOWN)[^,]*(?:, reason: ([^,]*(?:, code: \d+)?(?:, info: "[^"]*")?))?`)

// listen reads HAProxy's words and notes when each came.
func (h *haproxy) listen(out io.Reader, log io.Writer) {
	start := time.Now()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		now, line := time.Now(), lines.Text()
		fmt.Fprintf(log, "%.3f %s\n", now.Sub(start).Seconds(), line)
		if m := turned.FindStringSubmatch(line); m != nil {
			h.told.changed(change{Server: m[1], Up: m[2] == "UP", Why: m[3], at: now})
		}
		h.told.said(now, line)
	}
}

func (h *haproxy) pick() (addr, server string) { return fmt.Sprintf("%s:%d", labAddr, frontPort), "" }
func (h *haproxy) history() *history           { return &h.told }

// setOut uses the admin socket: "drain" lets nothing new in.
func (h *haproxy) setOut(index int, out bool) error {
	state := "ready"
	if out {
		state = "drain"
	}
	c, err := net.Dial("unix", h.socket)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	fmt.Fprintf(c, "set server app/s%d state %s\n", index, state)
	_, err = io.ReadAll(c)
	return err
}

func (h *haproxy) stop() {
	_ = h.cmd.Process.Kill()
	<-h.done
}
