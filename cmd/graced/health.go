package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"graced/internal/config"
	"graced/probe"
)

// healthWithin bounds `graced health`: Docker's HEALTHCHECK and the kubelet's
// exec probes have limits of their own, and a late answer is none.
const healthWithin = 2 * time.Second

const healthUsage = `Usage: graced health [ready|live|startup] [flags]

It asks the graced that runs in this container, over its port of the probes.

  ready      is it ready? 503 from the first moment of a shutdown on
  live       does graced answer? It does until its end
  startup    has it been ready once?
             without a word: startup and live, which is good while it drains

The running graced is found by itself. If it cannot be, or there are several,
--listen ADDR (or GRACED_LISTEN) or --config FILE says which is meant.

Its exit code: 0 if the answer is yes; 1, and why, if it is no or none comes.

  HEALTHCHECK CMD ["/graced", "health"]
`

// health is `graced health`: it asks the graced that runs in this container.
// Without a word the question is whether it has been ready once and is alive,
// so that a container that drains is not restarted for it.
func health(args []string, stdout, stderr io.Writer) int {
	words := map[string]func(*config.Config) []string{
		"":        func(c *config.Config) []string { return []string{first(c.LivePaths), first(c.StartupPaths)} },
		"ready":   func(c *config.Config) []string { return []string{first(c.ReadyPaths)} },
		"live":    func(c *config.Config) []string { return []string{first(c.LivePaths)} },
		"startup": func(c *config.Config) []string { return []string{first(c.StartupPaths)} },
	}
	if helpAsked(args) {
		fmt.Fprint(stdout, healthUsage)
		return 0
	}
	word := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		word, args = args[0], args[1:]
	}
	paths, ok := words[word]
	if !ok {
		fmt.Fprintf(stderr, "graced: health knows no %q; ask for ready, live or startup, or for nothing; graced health --help\n", word)
		return 1 // there are no other codes for a HEALTHCHECK than 0 and 1; Dockerfile reference
	}
	cfg := running(args, stderr)
	if cfg == nil {
		return 1
	}
	if cfg.Listen.V == config.Off {
		fmt.Fprintln(stderr, "graced: the running graced serves no probes (--listen off)")
		return 1
	}
	for _, path := range paths(cfg) {
		if err := askHealth(cfg.Listen.V, path); err != nil {
			fmt.Fprintf(stderr, "graced: %v\n", err)
			return 1
		}
	}
	return 0
}

func first(paths []string) string {
	if len(paths) == 0 {
		return "/"
	}
	return paths[0]
}

// askHealth asks one path; nil if the answer is 200.
func askHealth(listen, path string) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("cannot read the address %q: %w", listen, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	client := &http.Client{Timeout: healthWithin, Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil}}
	req, err := http.NewRequest(http.MethodGet, "http://"+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", probe.HealthAgent+ownVersion())
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("no graced answers at %s: %w; set --listen or GRACED_LISTEN as for the running one", listen, err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1024))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, strings.TrimSpace(string(body)))
	}
	return nil
}
