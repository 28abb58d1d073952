// Demo shows in a quarter of a minute what graced does: a legacy server is
// stopped while it answers requests, first as it is, then wrapped by graced.
//
// It takes the folder with the binaries graced and legacy; `make demo` builds
// them.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"
)

func main() {
	dir := "dist"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := demo(dir); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func demo(dir string) error {
	where, err := findPlace(dir)
	if err != nil {
		return err
	}
	defer where.leave()
	go func() { // Ctrl-C leaves nothing behind
		interrupt := make(chan os.Signal, 1)
		signal.Notify(interrupt, os.Interrupt)
		<-interrupt
		where.leave()
		os.Exit(130)
	}()
	fmt.Printf(`A server that dies at once on SIGTERM is stopped, by %s, while a load
balancer sends it %d requests a second and a client downloads for 4s.
It runs as %s.

`, where.how, rate, where.what)
	if err := act(where, false); err != nil {
		return err
	}
	fmt.Println()
	return act(where, true)
}

// act is one stop of the server.
func act(where *place, wrapped bool) error {
	app, probes, err := freeAddrs()
	if err != nil {
		return err
	}
	health := "http://" + app + "/"
	if wrapped {
		health = "http://" + probes + "/readyz"
		fmt.Println("Wrapped: graced -- legacy")
	} else {
		fmt.Println("As it is: legacy")
	}
	clock := new(clock)
	server, err := where.start(wrapped, app, probes, clock)
	if err != nil {
		return err
	}
	defer server.kill()
	if err := await(health, server.ended); err != nil {
		return err
	}

	lb := balance("http://"+app, health, clock)
	whole := make(chan bool, 1)
	go func() { whole <- get("http://"+app+"/download") == nil }()
	time.Sleep(1200 * time.Millisecond)
	clock.start()
	clock.tell(time.Now(), "%s", where.how)
	if err := server.stop(); err != nil {
		return err
	}
	code := <-server.ended
	clock.tell(time.Now(), "gone, exit code %d", code)
	lb.finish()

	download := "the download was cut off"
	if <-whole {
		download = "the download is complete"
	}
	lost := "not one lost"
	if lb.lost > 0 {
		lost = fmt.Sprintf("%d LOST", lb.lost)
	}
	fmt.Printf("  = %d requests, %s; %s\n", lb.sent, lost, download)
	return nil
}

// clock tells what happens with the time since the stop.
type clock struct {
	mu sync.Mutex
	t0 time.Time
}

func (c *clock) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t0 = time.Now()
}

// tell prints a line, if the stop has begun.
func (c *clock) tell(at time.Time, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.t0.IsZero() {
		fmt.Printf("  T+%.2fs  %s\n", max(0, at.Sub(c.t0).Seconds()), fmt.Sprintf(format, args...))
	}
}
