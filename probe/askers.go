package probe

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

const (
	// askerWindow: who did not ask twice in this time is no asker.
	askerWindow = 2 * time.Minute
	// tellings is how often an asker has to be told "not ready": as many
	// failures as take a server out of rotation by the usual defaults
	// (Kubernetes' failureThreshold, HAProxy's fall).
	tellings = 3
	// lastWord bounds the wait after the last telling, in which the asker acts.
	lastWord = time.Second

	maxAskers = 256
	maxAsks   = 16 // remembered of each asker
)

// Askers are those who ask for readiness: balancers and platforms that send
// traffic by the answer. A shutdown's delay lasts until each of them knows
// that there is to be none any more. The zero value has none, and is ready.
//
// An asker is an address (without the port), a User-Agent and a path that
// asked at least twice in the last two minutes. Several probers behind one
// address look like one.
type Askers struct {
	mu    sync.Mutex
	seed  maphash.Seed
	known map[asker]*asks
}

// asker identifies one. Agent and path are hashed: they are the client's own
// words, as long as it likes.
type asker struct {
	from        netip.Addr
	agent, path uint64
}

// asks are the last asks of one asker, oldest first, all within askerWindow
// before the last of them.
type asks struct {
	list [maxAsks]ask
	n    int
}

type ask struct {
	at   time.Time
	told bool // "not ready"
}

// Ask notes that somebody asked at now, and was told "not ready" or not.
func (a *Askers) Ask(from netip.Addr, agent, path string, now time.Time, told bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil {
		a.seed = maphash.MakeSeed()
		a.known = make(map[asker]*asks)
	}
	who := asker{from.Unmap(), maphash.String(a.seed, agent), maphash.String(a.seed, path)}
	e := a.known[who]
	if e == nil {
		if len(a.known) >= maxAskers {
			a.forget()
		}
		e = new(asks)
		a.known[who] = e
	}
	e.add(ask{now, told})
}

// forget drops the one that asked longest ago; of those that asked once, as
// long as there are any, so that a client with ever new names does not push out
// the real ones.
func (a *Askers) forget() {
	var drop asker
	var oldest *asks
	for who, e := range a.known {
		if oldest == nil || e.before(oldest) {
			drop, oldest = who, e
		}
	}
	delete(a.known, drop)
}

// before says whether e is forgotten rather than f.
func (e *asks) before(f *asks) bool {
	if (e.n < 2) != (f.n < 2) {
		return e.n < 2
	}
	return e.last().at.Before(f.last().at)
}

// Away says whether everybody who asks can be taken to send no more traffic,
// at now, when not-ready began at since (Snapshot.NotReadySince). If nobody
// asks, that is so at once. An asker does not hold it up any more
//
//   - once it was told "not ready" three times since then, and its interval, at
//     most a second, has passed once more since the third;
//   - once it is overdue by its own interval: it has left;
//   - once it did not ask twice in the last two minutes.
//
// If not away, it will be at next unless somebody asks before; then it may be
// earlier or later.
func (a *Askers) Away(now, since time.Time) (away bool, next time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.known {
		if free := e.free(since); free.After(now) && free.After(next) {
			next = free
		}
	}
	return next.IsZero(), next
}

func (e *asks) add(k ask) {
	if e.n > 0 && k.at.Before(e.last().at) {
		k.at = e.last().at // two requests at once, noted in the other order
	}
	first := 0
	for first < e.n && k.at.Sub(e.list[first].at) >= askerWindow {
		first++
	}
	if first == 0 && e.n == maxAsks {
		first = 1
	}
	e.n = copy(e.list[:], e.list[first:e.n])
	e.list[e.n] = k
	e.n++
}

func (e *asks) last() ask { return e.list[e.n-1] }

// free is when the asker holds nothing up any more if it does not ask again;
// zero: it is no asker.
func (e *asks) free(since time.Time) time.Time {
	if e.n < 2 {
		return time.Time{}
	}
	interval := e.interval()
	free := e.last().at.Add(2 * interval)
	if out := e.list[e.n-2].at.Add(askerWindow); out.Before(free) {
		free = out
	}
	if third, ok := e.told(since); ok {
		if acted := third.Add(min(interval, lastWord)); acted.Before(free) {
			free = acted
		}
	}
	return free
}

// told is when the asker was told "not ready" for the third time since then.
// If more asks came than are remembered, it is later than that; but then more
// than ten asks lie between it and now.
func (e *asks) told(since time.Time) (third time.Time, ok bool) {
	count := 0
	for _, k := range e.list[:e.n] {
		if !k.told || k.at.Before(since) {
			continue
		}
		if count++; count == tellings {
			return k.at, true
		}
	}
	return time.Time{}, false
}

// interval is the time between two asks: the longest that was seen, or the
// second longest of four and more. Neither the median nor the mean, since
// several probers behind one address ask in a bunch, and the short times
// between them are not what one has to wait for. The second longest, since one
// ask that was late or lost does not change the rhythm.
func (e *asks) interval() time.Duration {
	var longest, second time.Duration
	for i := 1; i < e.n; i++ {
		switch gap := e.list[i].at.Sub(e.list[i-1].at); {
		case gap > longest:
			longest, second = gap, longest
		case gap > second:
			second = gap
		}
	}
	if e.n-1 < 4 {
		return longest
	}
	return second
}
