package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func listen(port string) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		fail("%v", err)
	}
	say("ready %s", strings.TrimPrefix(l.Addr().String(), "127.0.0.1:"))
	return l
}

// httpAbrupt PORT: the legacy server. It does nothing about SIGTERM, so that
// signal cuts every request and connection off. "req N" for each request.
func httpAbrupt(args []string) int {
	var n atomic.Int64
	l := listen(arg(args, 0, "0"))
	err := http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		say("req %d", n.Add(1))
		fmt.Fprintln(w, "ok")
	}))
	fail("%v", err)
	return 1
}

// httpSlow PORT drain|linger|early: GET /N takes N seconds. At SIGTERM it
// finishes and leaves with 0 (drain), goes on as if nothing was (linger), or
// stops listening but never leaves (early).
func httpSlow(args []string) int {
	mode := arg(args, 1, "drain")
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	l := listen(arg(args, 0, "0"))
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		say("begin %s", r.URL.Path)
		time.Sleep(seconds([]string{strings.TrimPrefix(r.URL.Path, "/")}, 0, "0"))
		fmt.Fprintln(w, "done")
		say("end %s", r.URL.Path)
	})}
	go server.Serve(l)
	<-term
	say("term")
	switch mode {
	case "linger":
		select {}
	case "early":
		l.Close()
		select {}
	}
	done := make(chan struct{})
	time.AfterFunc(longest, func() { close(done) })
	server.SetKeepAlivesEnabled(false)
	_ = server.Shutdown(contextOf(done))
	return 0
}

// httpStream PORT: a stream of a line each 100 ms, without an end. At SIGTERM it
// stops listening and waits for all streams to end: for ever, if their
// readers do not hang up. "open", "close", "term".
func httpStream(args []string) int {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	l := listen(arg(args, 0, "0"))
	var streams sync.WaitGroup
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		streams.Add(1)
		defer streams.Done()
		say("open")
		defer say("close")
		for r.Context().Err() == nil {
			fmt.Fprintln(w, "data: tick")
			_ = http.NewResponseController(w).Flush() // the reader has hung up: the context tells
			time.Sleep(100 * time.Millisecond)
		}
	})}
	go server.Serve(l)
	<-term
	say("term")
	l.Close()
	streams.Wait()
	return 0
}

// slowBoot PORT BOOT SERVE crash|wedge [deaf]: listens after BOOT seconds. Until
// then SIGTERM kills it, or with `deaf` does nothing. After SERVE seconds it
// leaves with 23, or with `wedge` stops listening and stays.
func slowBoot(args []string) int {
	if arg(args, 4, "") == "deaf" {
		signal.Ignore(syscall.SIGTERM)
	}
	say("booting")
	time.Sleep(seconds(args, 1, "2"))
	l := listen(arg(args, 0, "0"))
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "ok") }))
	time.Sleep(seconds(args, 2, "5"))
	l.Close()
	say("port closed")
	if arg(args, 3, "crash") == "wedge" {
		time.Sleep(longest)
	}
	return 23
}

// lastAnswer PORT: answers one client with more than it takes at once, and
// leaves with 0 when the kernel has it.
func lastAnswer(args []string) int {
	c, err := listen(arg(args, 0, "0")).Accept()
	if err != nil {
		fail("%v", err)
	}
	_ = c.(*net.TCPConn).SetWriteBuffer(1 << 20)
	n, err := c.Write(make([]byte, 512<<10))
	if err != nil {
		fail("%v", err)
	}
	c.Close()
	say("leaving %d", n)
	return 0
}
