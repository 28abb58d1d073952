package main

import (
	"bufio"
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ttyChild [SECONDS]: what an interactive program needs of its terminal. It
// sets a mode, which stops a process in the background (SIGTTOU), reads a line,
// which does too (SIGTTIN), then counts interrupts for SECONDS and leaves with 30
// plus their number. It says "resized" at SIGWINCH and "continued" at SIGCONT.
func ttyChild(args []string) int {
	interrupts := make(chan os.Signal, 16)
	signal.Notify(interrupts, syscall.SIGINT)
	others := make(chan os.Signal, 16)
	signal.Notify(others, syscall.SIGWINCH, syscall.SIGCONT)
	front, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	say("foreground %t", err == nil && front == unix.Getpgrp())
	mode, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err == nil {
		err = unix.IoctlSetTermios(0, unix.TCSETSW, mode)
	}
	if err != nil {
		say("no mode: %v", err)
	} else {
		say("mode set")
	}
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	say("line %q", line)
	n := 0
	for end := time.After(seconds(args, 0, "2")); ; {
		select {
		case <-interrupts:
			n++
			say("interrupt %d", n)
		case sig := <-others:
			if sig == syscall.SIGWINCH {
				say("resized")
			} else {
				say("continued")
			}
		case <-end:
			return 30 + min(n, 9)
		}
	}
}

// contextOf is done when done is closed.
func contextOf(done <-chan struct{}) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-done
		cancel()
	}()
	return ctx
}
