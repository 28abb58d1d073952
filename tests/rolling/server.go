package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// comeUpLimit is how long a server may take to become healthy.
const comeUpLimit = 20 * time.Second

// server is one place behind the balancer: an address at which one container
// after the other lives.
type server struct {
	job        *job
	index      int
	dir        string
	argv       []string
	generation int
	now        *container
}

func newServer(j *job, index int, apps string) (*server, error) {
	s := &server{job: j, index: index, dir: filepath.Join(j.dir(), fmt.Sprintf("s%d", index))}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	var err error
	s.argv, err = prepareServer(j, s.dir, apps)
	return s, err
}

func (s *server) name() string { return fmt.Sprintf("s%d", s.index) }

// target is where the program is.
func (s *server) target() string { return fmt.Sprintf("%s:%d", containerAddr(s.index), appPort) }

// start begins the server's next life and waits until it is healthy.
func (s *server) start() error {
	s.generation++
	log := filepath.Join(s.dir, fmt.Sprintf("life%d.log", s.generation))
	var err error
	if s.now, err = startContainer(s.job.Self, s.index, s.generation, s.argv, log); err != nil {
		return err
	}
	for end := time.Now().Add(comeUpLimit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if s.healthy() {
			return nil
		}
		select {
		case <-s.now.done:
			return fmt.Errorf("server %d ended at once with %s: %s", s.index, s.now.exit(), s.output())
		default:
		}
	}
	return fmt.Errorf("server %d is not healthy: %s", s.index, s.output())
}

// healthy asks the program itself, on a connection of its own: readiness is not
// asked, so that nobody but the balancer does.
func (s *server) healthy() bool {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + s.target() + "/healthz")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// output is the end of what the present life has written.
func (s *server) output() string {
	text, err := os.ReadFile(s.now.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}
