package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"graced/internal/boot"
	"graced/internal/config"
	"graced/internal/metrics"
	"graced/internal/plan"
	"graced/internal/record"
	"graced/probe"
	"graced/reaper"
	"graced/signals/takeover"
	"graced/supervisor"
)

// supervise is `graced run`: it starts what was asked for, and returns the
// code with which graced exits.
func supervise(args []string, stdout, stderr io.Writer) int {
	environ := boot.Environ()
	cfg, p, code := load(args, environ, stdout, stderr, func(*config.Input) {})
	if p == nil {
		return code
	}
	childStderr := protectStderr()
	settleRuntime()
	log := record.NewLog(2, record.Format(cfg.LogFormat.V), cfg.LogLevel.V)

	gone, leave := context.WithCancel(context.Background())
	defer leave()
	terminal := findTerminal()
	h := &host{
		plan: p, log: log, terminal: &terminal,
		report: cfg.Report.V, create: cfg.Report.From.ByPerson(),
		inbox: make(chan supervisor.Event, 64), gone: gone,
	}
	h.snap.Store(&record.Snapshot{Time: time.Now(), Started: time.Now(), Phase: record.Starting, Reason: "starting"})

	if err := listen(h, cfg, environ); err != nil {
		fmt.Fprintf(stderr, "graced: %v\n", err)
		return codeFailed
	}
	base := reaper.Command{Stderr: childStderr, Ignore: boot.Ignored}
	if os.Getpid() != 1 {
		base.ParentDeath = syscall.SIGKILL
	}
	var err error
	if h.procs, h.hooks, err = buildCommands(p, environ, base, terminal.held); err != nil {
		fmt.Fprintf(stderr, "graced: %v\n", err)
		return codeFailed
	}
	takeover.Wait()
	prewarm()
	askForShortSlices()
	h.reaper, err = reaper.New(reaper.Options{
		Children: takeover.Children(), Stops: terminal.held, Most: len(h.procs) + len(h.hooks),
		Fault: func(where string, v any) { h.fault(where, v, nil) },
	})
	if err != nil {
		fmt.Fprintf(stderr, "graced: cannot become the reaper of orphaned processes (PR_SET_CHILD_SUBREAPER): %v\n", err)
		return codeFailed
	}
	serve(h, cfg)
	h.trimSoon()

	loop := supervisor.Loop{
		Plan: p, Host: h,
		Signals: takeover.Wake(), TakeSignals: takeover.Take,
		Children: h.reaper.Wake(), TakeChildren: h.children,
		Inbox: h.inbox, Gone: gone,
	}
	code = loop.Run()
	terminal.giveBack()
	lastMetrics(h, cfg)
	log.Close(remaining(h))
	return code
}

// settle reads the settings. Without them the code is graced's exit code, and
// everything has been said.
func settle(args []string, environ []string, stdout, stderr io.Writer, with func(*config.Input), flags ...func(*flag.FlagSet)) (*config.Config, int) {
	in := config.Input{Args: args, Environ: environ, PID: os.Getpid(), StderrTerminal: isTerminal(2)}
	with(&in)
	cfg, problems := config.Load(in, flags...)
	switch {
	case cfg != nil:
		return cfg, 0
	case problems.Len() == 0 && errors.Is(problems, flag.ErrHelp):
		fmt.Fprint(stdout, config.Usage())
		return nil, 0
	}
	tell(problems, stderr)
	return nil, codeFailed
}

// load reads the settings and proves the plan. Without a plan the code is
// graced's exit code, and everything has been said.
func load(args []string, environ []string, stdout, stderr io.Writer, with func(*config.Input)) (*config.Config, *plan.Plan, int) {
	cfg, code := settle(args, environ, stdout, stderr, with)
	if cfg == nil {
		return nil, nil, code
	}
	p, err := plan.New(cfg.Spec)
	if err != nil {
		tell(cfg.Unfit(err), stderr)
		return cfg, nil, codeFailed
	}
	return cfg, p, 0
}

func tell(problems *config.Problems, stderr io.Writer) {
	_ = problems.Write(stderr, 0, isTerminal(2)) // to whom else could it be told?
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

// listen binds the port of the probes before anything is started: one that was
// asked for and is taken is an error, the default one is done without.
func listen(h *host, cfg *config.Config, environ []string) error {
	var own []uint32
	if cfg.Listen.V != config.Off {
		server, err := probe.Listen(cfg.Listen.V)
		switch {
		case err == nil:
			h.server = server
			own = inode(server)
		case cfg.Listen.Set():
			return err
		default:
			h.log.Emit(record.Event{Time: time.Now(), Kind: record.Start, Level: slog.LevelWarn, Offset: record.Before,
				Msg: "readiness and metrics are not served; --listen takes another address, or off", Err: err.Error()})
		}
	}
	h.look = newLooker(h.plan, own, inheritedInodes(environ), func(inodes []uint32) (map[uint32]bool, bool) { return h.reaper.Holders(inodes) })
	return nil
}

// serve answers probes from now on.
func serve(h *host, cfg *config.Config) {
	if h.server == nil {
		return
	}
	handler := func() http.Handler { // asked for once, by the first scrape
		return metrics.New(metrics.Source{Version: ownVersion(), Snapshot: h.snap.Load, Orphans: h.reaper.Orphans,
			Dropped: h.log.Dropped, Connections: h.look.count})
	}
	if cfg.MetricsPath == "" {
		handler = nil
	}
	var served atomic.Uint64
	h.server.Serve(probe.Config{
		Ready: cfg.ReadyPaths, Live: cfg.LivePaths, Startup: cfg.StartupPaths, MetricsPath: cfg.MetricsPath,
		Snapshot: func() *record.Snapshot { // asked at least once a request
			if served.Add(1)%trimEach == 0 {
				h.trimSoon()
			}
			return h.snap.Load()
		},
		Look: func(ctx context.Context) bool {
			found, err := h.look.listening()
			return err == nil && (len(found) == 0 || h.ask(ctx, supervisor.Event{Kind: supervisor.Listening, Listens: h.listens(found)}))
		},
		// that the loop takes an event in is a sign of life
		Alive:   func(ctx context.Context) bool { return h.ask(ctx, supervisor.Event{Kind: supervisor.Pinged}) },
		Metrics: handler, Connections: h.look.count,
		Told: func() {
			select {
			case h.inbox <- supervisor.Event{Kind: supervisor.Told}:
			default: // the inbox is full of reasons to look again
			}
		},
		Panic: h.fault,
	})
}

// ask sends an event to the loop and waits until it was taken in.
func (h *host) ask(ctx context.Context, e supervisor.Event) bool {
	e.Done = make(chan struct{})
	select {
	case h.inbox <- e:
	case <-ctx.Done():
		return false
	case <-h.gone.Done():
		return false
	}
	select {
	case <-e.Done:
		return true
	case <-ctx.Done():
	case <-h.gone.Done():
	}
	return false
}

// lastMetrics carries the last values out, since nobody scrapes a process that
// is about to exit.
func lastMetrics(h *host, cfg *config.Config) {
	if cfg.MetricsTextfile == "" {
		return
	}
	done := make(chan struct{})
	h.background("textfile", func() {
		defer close(done)
		page := metrics.New(metrics.Source{Version: ownVersion(), Snapshot: h.snap.Load, Orphans: h.reaper.Orphans, Dropped: h.log.Dropped})
		if err := page.WriteTextfile(cfg.MetricsTextfile); err != nil {
			h.log.Emit(record.Event{Time: time.Now(), Kind: record.Exit, Level: slog.LevelWarn, Msg: "the metrics could not be written", Offset: record.Before, Err: err.Error()})
		}
	})
	timer := time.NewTimer(remaining(h))
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// remaining is how long graced may still wait for its own last words: a
// stderr that nobody reads must not keep it, nor a slow disk past the budget.
func remaining(h *host) time.Duration {
	const most = 500 * time.Millisecond
	s := h.snap.Load()
	if s.T0.IsZero() {
		return most
	}
	return min(most, max(5*time.Millisecond, s.Remaining(time.Now())*9/10))
}
