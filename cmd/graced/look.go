package main

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"graced/internal/drain"
	"graced/internal/plan"
	"graced/internal/record"
	"graced/supervisor"
)

// looker is the one that looks at the processes' connections, for whoever
// asks. A look can take as long as the kernel wants, so it is never made on the
// loop.
type looker struct {
	rules drain.Rules

	mu     sync.Mutex
	drain  *drain.Looker
	cached record.Connections
	at     time.Time // when cached was looked at
}

// holders is reaper.Reaper.Holders.
type holders func(inodes []uint32) (held map[uint32]bool, all bool)

// newLooker makes one for the listeners of the processes: not own, those of
// graced; also inherited, which came from whoever started graced.
func newLooker(p *plan.Plan, own, inherited []uint32, held holders) *looker {
	return &looker{
		rules: drain.Rules{Quiet: p.Quiet, Unsure: p.Unsure},
		drain: drain.New(drain.Scope{Ports: p.Ports, Own: func() []uint32 { return own }, Holders: held, Inherited: inherited}),
	}
}

// listening gives the inodes of the processes' listening sockets.
func (l *looker) listening() ([]uint32, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, err := l.drain.Listeners()
	var inodes []uint32
	for _, listener := range list {
		inodes = append(inodes, listener.Inode)
	}
	return inodes, err
}

// inspect looks at the connections for the drain.
func (l *looker) inspect(until plan.Drain) supervisor.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.looked(until)
}

// looked is inspect for who has the lock.
func (l *looker) looked(until plan.Drain) supervisor.Event {
	census, err := l.drain.Census(l.rules)
	mode := drain.UntilIdle
	if until == plan.DrainClosed {
		mode = drain.UntilClosed
	}
	look := supervisor.Look{Err: err, Quiet: err == nil && census.Quiet(mode), Undelivered: census.Undelivered, Connections: connections(census)}
	if refused := l.drain.Refused(); refused != nil {
		look.Fallback = refused.Error()
	}
	for _, c := range census.Worst {
		look.Busy = append(look.Busy, supervisor.Busy{Peer: c.Peer.String(), Rule: c.Rule.String(), Age: c.Age})
	}
	return supervisor.Event{Kind: supervisor.Looked, Look: look, Next: time.Now().Add(drain.NextPoll(census.Took))}
}

// undelivered looks for answers that are written and not delivered. Where nobody
// has ever looked whose listeners there are, those connections count that no
// process has any more; unless graced is no PID 1: their network outlives it.
func (l *looker) undelivered() supervisor.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.drain.Watches() {
		return l.looked(plan.DrainIdle)
	}
	if os.Getpid() != 1 {
		return supervisor.Event{Kind: supervisor.Looked}
	}
	n, took, err := l.drain.Orphans()
	return supervisor.Event{Kind: supervisor.Looked, Look: supervisor.Look{Err: err, Undelivered: n}, Next: time.Now().Add(drain.NextPoll(took))}
}

// scrapeCache is how long a look made for a scrape is good for.
const scrapeCache = time.Second

// count counts the connections for a scrape.
func (l *looker) count() record.Connections {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) < scrapeCache {
		return l.cached
	}
	census, err := l.drain.Census(l.rules)
	l.at, l.cached = time.Now(), record.Connections{}
	if err == nil {
		// a scrape wants the requests in flight, not what a drain would wait for
		// to be sure that there are none
		l.cached = connections(census)
		l.cached.Busy = census.Busy - census.Recent
		l.cached.Idle = census.Open - l.cached.Busy
	}
	return l.cached
}

// connections are the counts as a drain sees them: what cannot be told, or was
// quiet for too short a time, is busy.
func connections(c drain.Census) record.Connections {
	return record.Connections{Known: true, Busy: c.Busy + c.Unsure, Idle: c.Idle, CloseWait: c.CloseWait, Unaccepted: c.Unaccepted}
}

// inheritedInodes are those of the sockets that were handed over to graced.
func inheritedInodes(environ []string) []uint32 {
	var inodes []uint32
	for fd := listenFDsStart; fd < listenFDsStart+listenFDs(environ); fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK {
			inodes = append(inodes, uint32(st.Ino))
		}
	}
	return inodes
}

// inode is that of graced's own listener, which is none of the processes'.
func inode(c syscall.Conn) []uint32 {
	n, err := drain.Inode(c)
	if err != nil {
		return nil
	}
	return []uint32{n}
}
