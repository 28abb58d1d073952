package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// serve is a Go server, of HTTP/1.1 and HTTP/2 without TLS and of WebSockets.
// With -lameduck it drains by itself: on SIGTERM its health turns 503, it serves
// on for so long, and then shuts down once the requests have ended. Without, it
// handles no signal. The paths are those of legacy.py.
func serve(args []string) error {
	set := flag.NewFlagSet("serve", flag.ContinueOnError)
	listen := set.String("listen", ":8080", "where")
	lameduck := set.Duration("lameduck", -1, "how long to serve on after SIGTERM")
	if err := set.Parse(args); err != nil {
		return err
	}
	var draining atomic.Bool
	server := &http.Server{Addr: *listen, Handler: routes(&draining), Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)

	ended := make(chan error, 1)
	if *lameduck >= 0 {
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		go func() {
			<-stop
			draining.Store(true)
			time.Sleep(*lameduck)
			ended <- server.Shutdown(context.Background())
		}()
	}
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

func routes(draining *atomic.Bool) http.Handler {
	fast := []byte(strings.Repeat("x", shortLen))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if draining.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, "health")
	})
	mux.HandleFunc("GET /fast", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(fast) })
	mux.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(asked(r))
		_, _ = w.Write(fast)
	})
	mux.HandleFunc("GET /stream", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Query().Get("n"))
		if err != nil {
			n = 10
		}
		for range n {
			_, _ = w.Write(fast)
			_ = http.NewResponseController(w).Flush()
			time.Sleep(asked(r) / time.Duration(n))
		}
	})
	mux.HandleFunc("GET /socket", func(w http.ResponseWriter, r *http.Request) { serveSocket(w, r, asked(r)) })
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
		fmt.Fprintf(w, "len=%d", n)
	})
	return mux
}

// asked is how long a request wants to wait.
func asked(r *http.Request) time.Duration {
	ms, err := strconv.Atoi(r.URL.Query().Get("ms"))
	if err != nil {
		ms = 1000
	}
	return time.Duration(ms) * time.Millisecond
}
