package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// nginx as a balancer. The open one has no health checks: it learns of a server
// by failing on it ("nginx-passive", max_fails), so that readiness says nothing
// to it. What is done in practice is to write its list of servers anew when
// readiness changes, and to reload it, as ingress controllers and
// consul-template do ("nginx").
type nginx struct {
	*checker
	servers []*server
	dir     string
	cmd     *exec.Cmd
	done    chan struct{}

	mu  sync.Mutex
	out map[int]bool
}

func startNginx(j *job, servers []*server) (*nginx, error) {
	n := &nginx{checker: newChecker(&j.Spec), servers: servers, dir: filepath.Join(j.dir(), "balancer"),
		done: make(chan struct{}), out: make(map[int]bool)}
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return nil, err
	}
	if err := n.write(); err != nil {
		return nil, err
	}
	n.cmd = exec.Command("nginx", "-p", n.dir, "-e", filepath.Join(n.dir, "error.log"), "-c", filepath.Join(n.dir, "nginx.conf"), "-g", "daemon off;")
	if err := startOwned(n.cmd); err != nil {
		return nil, err
	}
	go func() {
		_ = n.cmd.Wait() // it was killed
		close(n.done)
	}()
	if err := waitListening(fmt.Sprintf("%s:%d", labAddr, frontPort)); err != nil {
		n.stop()
		return nil, fmt.Errorf("nginx: %w; see %s", err, n.dir)
	}
	if j.Spec.Front == "nginx" {
		n.onTurn = n.reload
		for _, s := range servers {
			go n.watch(s)
		}
	}
	return n, nil
}

// reload gives nginx the servers that are up.
func (n *nginx) reload() {
	if err := n.write(); err != nil {
		fmt.Fprintln(os.Stderr, "rolling:", err)
		return
	}
	_ = n.cmd.Process.Signal(syscall.SIGHUP)
}

// write writes the configuration. Connections of clients are not kept: those
// that are idle at a reload are closed, and a client that uses one at this
// moment would see a failure that no server has to do with.
func (n *nginx) write() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list strings.Builder
	for _, s := range n.servers {
		if up, _ := n.checker.told.up(s.name()); up && !n.out[s.index] {
			fmt.Fprintf(&list, "\t\tserver %s;\n", s.target())
		}
	}
	if list.Len() == 0 {
		list.WriteString("\t\tserver 127.0.0.1:1; # none is up\n")
	}
	var names strings.Builder
	for _, s := range n.servers {
		fmt.Fprintf(&names, "\t\t%q %s;\n", s.target(), s.name())
	}
	text := fmt.Sprintf(`worker_processes 1;
user root;
pid %[1]s/nginx.pid;
events { worker_connections 8192; }
http {
	access_log off;
	keepalive_timeout 0;
	client_body_temp_path %[1]s/t1;
	proxy_temp_path %[1]s/t2;
	fastcgi_temp_path %[1]s/t3;
	uwsgi_temp_path %[1]s/t4;
	scgi_temp_path %[1]s/t5;
	map $upstream_addr $server_short {
%[2]s	}
	upstream app {
%[3]s		keepalive 64;
	}
	server {
		listen %[4]s:%[5]d backlog=1024;
		location / {
			proxy_pass http://app;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_buffering off;
			proxy_next_upstream off;
			proxy_connect_timeout 1s;
			add_header %[6]s $server_short always;
		}
	}
}
`, n.dir, names.String(), list.String(), labAddr, frontPort, serverHeader)
	return os.WriteFile(filepath.Join(n.dir, "nginx.conf"), []byte(text), 0o644)
}

func (n *nginx) pick() (addr, server string) { return fmt.Sprintf("%s:%d", labAddr, frontPort), "" }
func (n *nginx) history() *history           { return n.checker.told }

func (n *nginx) setOut(index int, out bool) error {
	n.mu.Lock()
	n.out[index] = out
	n.mu.Unlock()
	n.reload()
	return nil
}

func (n *nginx) stop() {
	n.checker.stop()
	_ = n.cmd.Process.Signal(syscall.SIGTERM) // it stops its workers, and at once
	<-n.done
}
