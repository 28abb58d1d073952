package probe

import (
	"bytes"
	"context"
	"net"
	"sync"
	"time"
)

// sheltered is how long a connection is safe from being closed for a newer one:
// the time that a prober has to get its request through, from the accept or
// from its last answer. It also bounds what a flood can cost: no more than
// MaxConns connections are accepted in it, the others wait in the kernel.
//
// It is shorter while the kernel's queue of those that wait to be accepted is
// filling up. Once that is full the kernel drops whoever comes next, who asks again
// after a second (tcp(7), listen(2)); and who has waited in a long queue has most
// likely sent its request by the time it is accepted. With it 25,000 connections a
// second are accepted, about what two processors can do.
const (
	sheltered        = 20 * time.Millisecond
	shelteredInCrowd = 10 * time.Millisecond
)

// understood is how long the end of a stranger's header may have been read
// without its answer being computed: net/http waits for nobody in between, but
// for its turn.
const understood = time.Second

// conns is the bounded set of open connections. At its bound an old one that
// waits for its client makes room for the next. Time-outs alone would not do:
// MaxConns clients that say nothing would keep a prober out for headerTimeout,
// and could come back for ever.
type conns struct {
	max     int
	crowded func() bool // the kernel's queue is filling up

	mu   sync.Mutex
	open map[*conn]struct{}
	// changed has a token when a connection was closed, or can be, since
	// admit looked last. Only the accept loop waits for it.
	changed chan struct{}

	// closing: one socket is closed at a time. It is the one system call of a
	// connection that package net makes; see socket.
	closing sync.Mutex
}

// conn is a connection in the set until it is closed. Its fields are guarded
// by the lock of the set.
type conn struct {
	net.Conn
	socket *socket
	set    *conns
	// computing counts the requests on it whose answer has not begun: here it
	// waits for graced, otherwise for its client. (One, until there is HTTP/2.)
	computing int
	// answered: it has asked something, unlike one that only holds a place.
	answered bool
	since    time.Time // it was accepted, or its last answer began
	asked    time.Time // the end of a stranger's header was read
}

func newConns(max int, crowded func() bool) *conns {
	return &conns{max: max, crowded: crowded, open: make(map[*conn]struct{}), changed: make(chan struct{}, 1)}
}

// admit takes c into the set. It waits while there is neither room nor a
// connection that may be closed, at most until done is closed.
func (s *conns) admit(c net.Conn, done <-chan struct{}) (net.Conn, error) {
	for {
		s.mu.Lock()
		now := time.Now()
		if len(s.open) < s.max {
			admitted := &conn{Conn: c, socket: newSocket(c), set: s, since: now}
			s.open[admitted] = struct{}{}
			s.mu.Unlock()
			return admitted, nil
		}
		victim, wait := s.victim(now, s.shelter())
		s.mu.Unlock()
		if victim != nil {
			_ = victim.Close()
			continue
		}
		t := time.NewTimer(wait)
		select {
		case <-s.changed:
		case <-t.C:
		case <-done:
			t.Stop()
			_ = c.Close()
			return nil, net.ErrClosed
		}
		t.Stop()
	}
}

// evict closes one connection, if there is one that may be closed.
func (s *conns) evict() {
	s.mu.Lock()
	victim, _ := s.victim(time.Now(), s.shelter())
	s.mu.Unlock()
	if victim != nil {
		_ = victim.Close()
	}
}

func (s *conns) shelter() time.Duration {
	if s.crowded() {
		return shelteredInCrowd
	}
	return sheltered
}

// victim chooses the connection to close, of those that wait for their client:
// the oldest of the strangers, which never asked anything, or of the others,
// whichever are more. So neither a flood of silent connections pushes out those
// who ask now and then, nor do kept-alive ones leave no room for a newcomer. If
// none may be closed yet, wait is when one may, if nothing changes before. The
// caller has the lock.
func (s *conns) victim(now time.Time, shelter time.Duration) (victim *conn, wait time.Duration) {
	for {
		victim = s.oldest()
		if victim == nil {
			return nil, time.Second // all compute; no answer takes longer
		}
		if left := shelter - now.Sub(victim.since); left > 0 {
			return nil, left
		}
		if victim.answered || now.Sub(victim.asked) >= understood && !victim.unread() {
			return victim, 0
		}
		if victim.since == now { // so have all the others
			return nil, time.Millisecond
		}
		// It has asked, and graced is too short of processor time to have
		// read or understood it. Only a stranger's bytes count: one of the
		// others may send and send while it does not read its answers.
		victim.since = now
	}
}

func (s *conns) oldest() *conn {
	var strangers, others struct {
		oldest *conn
		count  int
	}
	for c := range s.open {
		if c.computing > 0 {
			continue
		}
		group := &strangers
		if c.answered {
			group = &others
		}
		group.count++
		if group.oldest == nil || c.since.Before(group.oldest.since) {
			group.oldest = c
		}
	}
	if strangers.count >= others.count {
		return strangers.oldest
	}
	return others.oldest
}

// unread says whether bytes of the client wait in the kernel.
func (c *conn) unread() bool { return c.socket != nil && c.socket.peek() }

// headerEnd ends the header of a request; RFC 9112, 2.1.
var headerEnd = []byte("\r\n\r\n")

func (c *conn) Read(p []byte) (int, error) {
	if c.socket == nil {
		return c.Conn.Read(p)
	}
	n, err := c.socket.read(p)
	if bytes.Contains(p[:n], headerEnd) {
		c.set.mu.Lock()
		c.asked = time.Now()
		c.set.mu.Unlock()
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	if c.socket == nil {
		return c.Conn.Write(p)
	}
	return c.socket.write(p)
}

// begin and end enclose the time in which an answer is computed.
func (c *conn) begin() {
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	c.computing++
}

func (c *conn) end() {
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	c.computing--
	c.answered = true
	c.since = time.Now()
	c.set.signal()
}

// signal tells the accept loop to look again.
func (s *conns) signal() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Close closes the connection and takes it out of the set.
func (c *conn) Close() error {
	c.set.mu.Lock()
	delete(c.set.open, c)
	c.set.signal()
	c.set.mu.Unlock()
	c.set.closing.Lock()
	defer c.set.closing.Unlock()
	return c.Conn.Close()
}

// SetReadDeadline gives a client that has asked before idleTimeout for its next
// request, in the place of headerTimeout. net/http sets one after the other with
// each request, and a deadline that is pushed back leaves a wake-up at the
// earlier time: each probe of a kept-alive connection would cost one, for
// nothing, seconds later.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.set.mu.Lock()
	known := c.answered
	c.set.mu.Unlock()
	if now := time.Now(); known && t.After(now) { // one that is past or zero is no time-out
		t = now.Add(idleTimeout)
	}
	return c.Conn.SetReadDeadline(t)
}

// CloseWrite is what net/http looks for when it answers a request that it did
// not read to the end: a close while bytes are unread becomes a reset, which may
// overtake the answer.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		c.set.closing.Lock()
		defer c.set.closing.Unlock()
		return half.CloseWrite()
	}
	return nil
}

type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// connOf is the connection that a request came in by; nil for one that no
// listener made, as in a test of the handler alone.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}
