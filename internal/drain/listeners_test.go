package drain

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"
)

// These tests see every listener of the namespace, and so do not run beside
// others.

func listen(t *testing.T, addr string) *net.TCPListener {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln.(*net.TCPListener)
}

func inode(t *testing.T, ln *net.TCPListener) uint32 {
	t.Helper()
	n, err := Inode(ln)
	if err != nil || n == 0 {
		t.Fatalf("inode %d, %v", n, err)
	}
	return n
}

// labOf is a lab whose Looker has a scope of its own.
func labOf(t *testing.T, ln *net.TCPListener, scope Scope) *lab {
	t.Helper()
	l := New(scope)
	t.Cleanup(l.Close)
	return &lab{t, ln, l}
}

// hold makes a connection that holds a request.
func (l *lab) hold() (client, server end) {
	l.t.Helper()
	client, server = l.pair()
	client.say("request")
	server.hear("request")
	return client, server
}

// counts expects n connections, all of which are waited for: /proc is not sure.
func (l *lab) counts(n int) {
	l.t.Helper()
	c, err := l.looker.Census(caseRules)
	if err != nil || c.Busy+c.Unsure != n || c.Open != n || c.Source == "" {
		l.t.Errorf("%d busy, %d unsure of %d, %v; want %d; worst %+v", c.Busy, c.Unsure, c.Open, err, n, c.Worst)
	}
}

// bothSources runs a test with the socket diagnostics and with /proc.
func bothSources(t *testing.T, f func(t *testing.T, use func(*lab) *lab)) {
	t.Run("sock_diag", func(t *testing.T) { f(t, func(l *lab) *lab { return l }) })
	t.Run("proc", func(t *testing.T) {
		f(t, func(l *lab) *lab {
			l.looker.refused = errNoInfo
			return l
		})
	})
}

func TestNoListener(t *testing.T) {
	alone(t)
	bothSources(t, func(t *testing.T, use func(*lab) *lab) {
		l := use(labOf(t, nil, Scope{}))
		if list, err := l.looker.Listeners(); err != nil || len(list) != 0 {
			t.Errorf("%v, %v", list, err)
		}
		if c, err := l.looker.Census(DefaultRules); err != nil || !c.Quiet(UntilClosed) {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

func TestListeners(t *testing.T) {
	alone(t)
	bothSources(t, func(t *testing.T, use func(*lab) *lab) {
		var want []Listener
		for _, addr := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0", "0.0.0.0:0"} {
			ln := listen(t, addr)
			at := ln.Addr().(*net.TCPAddr).AddrPort()
			if addr[0] == '0' {
				at = netip.AddrPortFrom(netip.IPv4Unspecified(), at.Port())
			}
			want = append(want, Listener{Addr: at, Inode: inode(t, ln)})
		}
		slices.SortFunc(want, byPort)
		got, err := use(labOf(t, nil, Scope{})).looker.Listeners()
		for i := range got {
			got[i].Cgroup = 0
		}
		// net.Listen has 0.0.0.0 as dual stack too: what is meant is the port.
		for i := range min(len(got), len(want)) {
			if a := got[i].Addr; a.Addr().IsUnspecified() && want[i].Addr.Addr().IsUnspecified() {
				got[i].Addr = want[i].Addr
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v\ngot  %v\nwant %v", err, got, want)
		}
	})
}

func TestOwnListenersAreNotTheirs(t *testing.T) {
	alone(t)
	bothSources(t, func(t *testing.T, use func(*lab) *lab) {
		own, app := listen(t, "127.0.0.1:0"), listen(t, "127.0.0.1:0")
		scope := Scope{Own: func() []uint32 { return []uint32{inode(t, own)} }}
		use(labOf(t, own, Scope{Ports: []uint16{1}})).hold()
		l := use(labOf(t, app, scope))
		if list, err := l.looker.Listeners(); err != nil || len(list) != 1 || list[0].Inode != inode(t, app) {
			t.Errorf("%v, %v", list, err)
		}
		l.counts(0)
		l.hold()
		l.counts(1)
	})
}

// The same port on another address is another's.
func TestSharedPort(t *testing.T) {
	alone(t)
	bothSources(t, func(t *testing.T, use func(*lab) *lab) {
		own := listen(t, "127.0.0.2:0")
		app := listen(t, "127.0.0.3:"+strconv.Itoa(own.Addr().(*net.TCPAddr).Port))
		scope := Scope{Own: func() []uint32 { return []uint32{inode(t, own)} }}
		l := use(labOf(t, app, scope))
		labOf(t, own, Scope{}).hold()
		l.counts(0)
		l.hold()
		l.counts(1)
	})
}

// A program that closes its listener first is still waited for.
func TestClosedListenerIsRemembered(t *testing.T) {
	alone(t)
	bothSources(t, func(t *testing.T, use func(*lab) *lab) {
		ln := listen(t, "127.0.0.1:0")
		l := use(labOf(t, ln, Scope{}))
		if _, err := l.looker.Listeners(); err != nil {
			t.Fatal(err)
		}
		client, server := l.hold()
		ln.Close()
		l.counts(1)
		use(labOf(t, ln, Scope{})).counts(0) // one that came too late
		if list, err := l.looker.Listeners(); err != nil || len(list) != 0 {
			t.Errorf("still listens: %v, %v", list, err)
		}
		l.looker.Forget()
		l.counts(0)
		client.Close()
		server.Close()
	})
}

// A listener that is new in the drain is found by the look itself.
func TestNewListenerIsFound(t *testing.T) {
	alone(t)
	l := labOf(t, listen(t, "127.0.0.1:0"), Scope{})
	l.counts(0)
	late := labOf(t, listen(t, "[::1]:0"), Scope{})
	late.hold()
	l.counts(1)
}

// A configured port needs no listener, and others do not count.
func TestConfiguredPorts(t *testing.T) {
	alone(t)
	bothSources(t, func(t *testing.T, use func(*lab) *lab) {
		for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
			ln, other := listen(t, addr), listen(t, addr)
			l := use(labOf(t, ln, Scope{Ports: []uint16{uint16(ln.Addr().(*net.TCPAddr).Port)}}))
			labOf(t, other, Scope{}).hold()
			l.hold()
			ln.Close()
			l.counts(1)
		}
	})
}

// More ports than the kernel's filter is given.
func TestManyPorts(t *testing.T) {
	alone(t)
	var last *net.TCPListener
	for range maxPorts + 6 {
		last = listen(t, "127.0.0.1:0")
	}
	l := labOf(t, last, Scope{})
	l.hold()
	l.counts(1)
	if len(l.looker.watched.ports) != maxPorts+6 {
		t.Errorf("%d ports", len(l.looker.watched.ports))
	}
}

// A few ports are one filter.
func TestFewPorts(t *testing.T) {
	alone(t)
	for n := 1; n <= 4; n++ {
		l := labOf(t, listen(t, "127.0.0.1:0"), Scope{})
		l.hold()
		l.counts(n)
	}
}

// What is remembered is bounded, and never at the cost of who still listens.
func TestRememberedIsBounded(t *testing.T) {
	var w watched
	for i := range 3 * maxRemembered {
		w.add(listener{port: uint16(1 + i), round: uint32(i)})
		if i == 0 {
			w.mine[0].round = 3*maxRemembered - 1 // the first still listens
		}
	}
	w.settle(nil, 3*maxRemembered-1)
	if len(w.mine) != maxRemembered || !w.has(1) || !w.has(3*maxRemembered) || w.has(2) {
		t.Errorf("remembers %d, the first %v, the last %v, the second %v", len(w.mine), w.has(1), w.has(3*maxRemembered), w.has(2))
	}
}

// A Looker holds one descriptor at most and gives it back.
func TestDescriptors(t *testing.T) {
	alone(t)
	ln := listen(t, "127.0.0.1:0")
	l := labOf(t, ln, Scope{})
	client, server := l.pair()
	exchange(client, server, 0)
	time.Sleep(300 * time.Millisecond)
	before := descriptors(t)
	for range 20 {
		if _, err := l.looker.Census(Rules{Unsure: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	if n := descriptors(t) - before; n > 1 {
		t.Errorf("holds %d descriptors", n)
	}
	l.looker.Close()
	if n := descriptors(t) - before; n != 0 {
		t.Errorf("keeps %d descriptors", n)
	}
	if _, err := l.looker.Census(DefaultRules); err != nil {
		t.Errorf("after Close: %v", err)
	}
}
