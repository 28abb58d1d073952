package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"graced/internal/boot"
	"graced/internal/config"
	"graced/probe"
)

// healthWithin bounds `graced health`: Docker's HEALTHCHECK and the kubelet's
// exec probes have limits of their own, and a late answer is none.
const healthWithin = 2 * time.Second

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
	word := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		word, args = args[0], args[1:]
	}
	paths, ok := words[word]
	if !ok {
		fmt.Fprintf(stderr, "graced: health knows no %q; ask for ready, live or startup, or for nothing\n", word)
		return codeFailed
	}
	cfg, from := running(args, stderr)
	if cfg == nil {
		return 1
	}
	if cfg.Listen.V == config.Off {
		fmt.Fprintf(stderr, "graced: %s serves no probes (--listen off)\n", from)
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

// running gives the settings of the graced that runs here: its command line
// says them, which everybody may read. Where it cannot be found, they are
// those of this command's own flags and variables.
func running(args []string, stderr io.Writer) (*config.Config, string) {
	own := config.Input{Args: args, Environ: boot.Environ(), PID: os.Getpid(), CommandOptional: true}
	if len(args) == 0 {
		if found, pid, ok := findRunning(); ok {
			own.Args, own.PID = found, pid
			if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil {
				own.Environ = strings.Split(strings.TrimRight(string(env), "\x00"), "\x00")
			}
		}
	}
	cfg, problems := config.Load(own)
	if cfg == nil {
		tell(problems, stderr)
		return nil, ""
	}
	return cfg, "the running graced"
}

// findRunning looks for a running graced, PID 1 first, and gives its flags. Where
// it is not PID 1 there may be several, of other containers (--pid host); the one
// that is meant is in this command's own cgroup.
func findRunning() (args []string, pid int, ok bool) {
	if args, ok = runningFlags(1); ok {
		return args, 1, true
	}
	own, _ := os.ReadFile("/proc/self/cgroup")
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if pid == os.Getpid() {
			continue
		}
		if args, ok = runningFlags(pid); !ok {
			continue
		}
		if theirs, err := os.ReadFile(dir + "/cgroup"); err == nil && bytes.Equal(own, theirs) {
			return args, pid, true
		}
	}
	return nil, 0, false
}

// runningFlags gives the words after `graced` or `graced run` of a process, if
// it is one that runs a program.
func runningFlags(pid int) ([]string, bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil, false
	}
	words := words(data)
	if len(words) < 2 || filepath.Base(words[0]) != filepath.Base(os.Args[0]) {
		return nil, false
	}
	switch {
	case words[1] == "run":
		return words[2:], true
	case strings.HasPrefix(words[1], "-"):
		return words[1:], true
	}
	return nil, false
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
	req.Header.Set("User-Agent", probe.HealthAgent+version)
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
