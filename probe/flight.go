package probe

import (
	"context"
	"runtime/debug"
	"sync"
	"time"
)

// flight asks a question that can take its time, once for all who want to know:
// at most one call is under way, and whoever comes meanwhile waits for that
// one. A call that never returns costs one goroutine, however many ask.
type flight struct {
	ctx      context.Context // of the server
	ask      func(context.Context) bool
	limit    time.Duration // for one call
	gap      time.Duration // from the end of a call to the next one
	where    string
	panicked func(where string, v any, stack []byte)

	mu   sync.Mutex
	last *call // under way or over; nil: none yet
}

type call struct {
	ctx   context.Context // ends at the limit
	done  chan struct{}   // closed when it is over; then ok and ended are set
	ok    bool
	ended time.Time
}

// do returns the answer, or false at the limit of the call, or when ctx (of the
// one who asks) ends. Within the gap it is the last answer.
func (f *flight) do(ctx context.Context) bool {
	c := f.join()
	select {
	case <-c.done:
		return c.ok
	case <-ctx.Done():
		return false
	case <-c.ctx.Done():
	}
	// The end of a call ends its context too: of the two, done counts.
	select {
	case <-c.done:
		return c.ok
	default:
		return false
	}
}

// join returns the call that answers now, a new one if need be.
func (f *flight) join() *call {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.last; c != nil {
		select {
		case <-c.done:
			if time.Since(c.ended) < f.gap {
				return c
			}
		default:
			return c
		}
	}
	ctx, cancel := context.WithTimeout(f.ctx, f.limit)
	c := &call{ctx: ctx, done: make(chan struct{})}
	f.last = c
	go func() {
		defer cancel()
		defer close(c.done)
		defer func() {
			c.ended = time.Now()
			if v := recover(); v != nil {
				c.ok = false
				f.panicked(f.where, v, debug.Stack())
			}
		}()
		c.ok = f.ask(ctx)
	}()
	return c
}
