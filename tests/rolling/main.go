// Command rolling measures what a rolling replace of servers costs the requests
// that run through a load balancer at the time.
//
// Each server is a container in small: an init as PID 1 of a process, network
// and mount namespace of its own, with an address on a bridge. They are replaced
// one after the other, in place, as a platform does it: the stop signal to the
// init, SIGKILL once the grace is over, then a new one. A balancer with health
// checks stands in front; through it runs a steady open-loop load whose client
// never repeats anything. Every request that failed is counted and told.
//
// All of it lives in a network namespace that the run makes for itself, so that
// nothing else on the machine is in its way, nor it in anybody's.
//
//	go run ./tests/rolling -list                      the protocol: what is measured, in its order
//	go run ./tests/rolling                            measures what the results file does not have yet
//	go run ./tests/rolling haproxy/graced/python      this piece (a pattern works too), again
//	go run ./tests/rolling -doc docs/rolling.md       … and writes the page
//
// It needs root, iproute2, HAProxy and the programs of the pieces.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	if stage() {
		return
	}
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rolling:", err)
		os.Exit(1)
	}
}

// settings are the command line.
type settings struct {
	results, document, graced string
	commit                    string // that graced was built from
	list, realtime, keep      bool
	patterns                  []string
}

func parse(args []string) (*settings, error) {
	var s settings
	set := flag.NewFlagSet("rolling", flag.ContinueOnError)
	set.StringVar(&s.results, "results", "dist/rolling.jsonl", "the file that each measured piece is appended to")
	set.StringVar(&s.document, "doc", "", "write the page of all results to this file")
	set.StringVar(&s.graced, "graced", "", "the binary (default: built from this module)")
	set.BoolVar(&s.list, "list", false, "print the protocol and end")
	set.BoolVar(&s.realtime, "realtime", true, "run at real-time priority where that is allowed, so that other work on the machine is not measured")
	set.BoolVar(&s.keep, "keep", false, "keep the folders with configurations and logs")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	s.patterns = set.Args()
	return &s, nil
}

// command measures the pieces that were asked for and writes the page.
func command(args []string) error {
	s, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.list {
		for _, spec := range protocol() {
			fmt.Printf("%-36s %s\n", spec.Name, spec.About)
		}
		return nil
	}
	for range attempts { // void runs are made again
		done, err := readRecords(s.results)
		if err != nil {
			return err
		}
		todo, err := choose(protocol(), done, s.patterns)
		if err != nil {
			return err
		}
		if len(todo) == 0 {
			break
		}
		if err := measureAll(s, todo); err != nil {
			return err
		}
		if len(s.patterns) > 0 {
			break
		}
	}
	if s.document == "" {
		return nil
	}
	done, err := readRecords(s.results)
	if err != nil {
		return err
	}
	return writeDocument(s.document, done)
}

func measureAll(s *settings, todo []Spec) error {
	// an interrupted run leaves nothing behind: all it started dies with it
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	work, err := os.MkdirTemp("", "graced-rolling-")
	if err != nil {
		return err
	}
	if s.keep {
		fmt.Println("logs are kept in", work)
	} else {
		defer os.RemoveAll(work)
	}
	if s.graced == "" {
		s.graced = filepath.Join(work, "graced")
		if err := buildGraced(ctx, s.graced); err != nil {
			return err
		}
		s.commit = commit(ctx)
	}
	if err := os.MkdirAll(filepath.Dir(s.results), 0o755); err != nil {
		return err
	}
	return inLanes(ctx, s, work, todo)
}

// lanes is how many pieces are measured side by side: none needs half of a core,
// and most of their time they wait.
const lanes = 2

// inLanes measures the pieces in their order, but for those that are side by side.
func inLanes(ctx context.Context, s *settings, work string, todo []Spec) error {
	next := make(chan Spec)
	go func() {
		defer close(next)
		for _, spec := range todo {
			select {
			case next <- spec:
			case <-ctx.Done():
				return
			}
		}
	}()
	var (
		all  sync.WaitGroup
		mu   sync.Mutex // of what follows, and the results file
		done int
		errs []error
	)
	for range lanes {
		all.Go(func() {
			for spec := range next {
				record, err := measure(ctx, job{Spec: spec, Graced: s.graced, Commit: s.commit, Work: work, Realtime: s.realtime})
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					record = &Record{Spec: spec, When: time.Now().UTC().Truncate(time.Second), Void: "it broke off: " + err.Error()}
				}
				mu.Lock()
				done++
				fmt.Printf("[%d/%d] %s\n", done, len(todo), record.line())
				errs = append(errs, appendRecord(s.results, record))
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return errors.Join(append(errs, ctx.Err())...)
}

// buildGraced builds the binary under test as the project ships it.
func buildGraced(ctx context.Context, out string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, "graced/cmd/graced")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building graced: %w\n%s", err, text)
	}
	return nil
}

// commit names what the binary was built from, "" where that is not known.
func commit(ctx context.Context) string {
	text, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
