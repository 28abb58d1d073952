package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	rate  = 20 // requests a second
	check = 300 * time.Millisecond
	fall  = 3 // so many failing checks, and a server gets no request any more
)

// balancer is a load balancer, as they all are: it finds out by its health
// checks, and late, that a server is going.
type balancer struct {
	over sync.WaitGroup
	gone chan struct{} // closed when the server is out of rotation

	mu   sync.Mutex
	sent int
	lost int
}

func balance(app, health string, clock *clock) *balancer {
	lb := &balancer{gone: make(chan struct{})}
	lb.over.Go(func() {
		for failed := 0; failed < fall; time.Sleep(check) {
			err := get(health)
			if err == nil {
				failed = 0
				continue
			}
			failed++
			switch failed {
			case 1:
				clock.tell(time.Now(), "the load balancer's health check fails: %v", err)
			case fall:
				clock.tell(time.Now(), "it has failed %d times: no more requests", fall)
			}
		}
		close(lb.gone)
	})
	lb.over.Go(func() {
		for tick := time.Tick(time.Second / rate); ; {
			select {
			case <-lb.gone:
				return
			case <-tick:
			}
			lb.over.Go(func() {
				err := get(app + "/")
				lb.mu.Lock()
				defer lb.mu.Unlock()
				lb.sent++
				if err != nil {
					lb.lost++
				}
			})
		}
	})
	return lb
}

// finish waits until the load balancer has nothing to do any more.
func (lb *balancer) finish() { lb.over.Wait() }

var client = http.Client{
	Timeout:   20 * time.Second,
	Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil},
}

// get asks for url, and wants a whole answer, 200.
func get(url string) error {
	resp, err := client.Get(url)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "dial" {
			return errors.New("connection refused")
		}
		return errors.New("the connection was cut off")
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%d", resp.StatusCode)
	}
	return nil
}

// await waits until url is answered with 200.
func await(url string, ended <-chan int) error {
	var err error
	for range 100 {
		if err = get(url); err == nil {
			return nil
		}
		select {
		case code := <-ended:
			return fmt.Errorf("the server ended at its start, with code %d", code)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s: %w", url, err)
}

// freeAddrs gives two addresses that were free a moment ago.
func freeAddrs() (a, b string, err error) {
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer first.Close()
	second, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer second.Close()
	return first.Addr().String(), second.Addr().String(), nil
}
