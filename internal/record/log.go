package record

import (
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Format is how a log line looks.
type Format string

const (
	Text Format = "text" // key=value, for people
	JSON Format = "json" // one object a line
)

// Formats has every Format, for messages and checks.
var Formats = []Format{Text, JSON}

// What may wait for the writer. Together they bound the log's memory, whatever
// is emitted while nobody reads stderr.
const (
	maxLines = 256
	maxBytes = 64 << 10 // of text in the waiting events; one event has less, see Event.clipped
)

// Log writes events to a descriptor, a line each, and never makes the emitter
// wait: a container's stderr is a pipe to a daemon that may stall or die, and
// PID 1 has deadlines to keep. Lines that nobody takes are dropped and counted.
//
// Events are formatted by the writer, so that emitting costs the same few
// hundred nanoseconds whatever the format. An Event that was emitted, with what
// its Attrs refer to, must not be changed any more.
type Log struct {
	format Format
	level  slog.Level

	mu     sync.Mutex // never held across anything that can block
	queue  []*Event
	closed bool
	work   chan struct{} // has an entry when the queue has; closed with the log; nil before the first event

	waiting atomic.Int64  // bytes of text in the queue
	dropped atomic.Uint64 // lines
	gaveUp  atomic.Bool   // Close does not wait any more: what is left is dropped

	// turn has its one entry when nobody writes. Who takes it may use what follows.
	turn  chan struct{}
	out   sink
	lines *lines
	told  uint64 // how many dropped lines the log has admitted

	done chan struct{} // closed at the writer's end
}

// NewLog makes a log of the events from level on, written to fd, which stays
// the caller's and may be blocking or not. It starts nothing: a log that is
// never used costs nothing.
func NewLog(fd int, format Format, level slog.Level) *Log {
	l := &Log{format: format, level: level, turn: make(chan struct{}, 1)}
	l.turn <- struct{}{}
	l.out = sink{fd: fd, gaveUp: &l.gaveUp}
	return l
}

// Enabled says whether an event of this level is written: whether its words
// are worth making.
func (l *Log) Enabled(level slog.Level) bool { return level >= l.level }

// Emit queues e as a line. It never blocks and may be called on any goroutine.
// The line is dropped and counted where the queue is full or the log closed.
// An Event without a Time gets the present one.
func (l *Log) Emit(e Event) {
	if e.Level < l.level {
		return
	}
	queued := new(Event) // not &e: that would cost an allocation below the level too
	*queued = e.clipped()
	if queued.Time.IsZero() {
		queued.Time = time.Now()
	}
	size := queued.size()

	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.queue) == maxLines || l.waiting.Load()+size > maxBytes {
		l.dropped.Add(1)
		return
	}
	l.start()
	l.queue = append(l.queue, queued)
	l.waiting.Add(size)
	select {
	case l.work <- struct{}{}:
	default:
	}
}

// Dropped is how many lines were not written so far: the queue was full, the
// descriptor broken, or the log closed.
func (l *Log) Dropped() uint64 { return l.dropped.Load() }

// Close writes what is queued, for wait at most, and a last line that says how
// many were dropped, if any. It returns false if the time was over before; what
// remained is dropped. A line that the descriptor refused is dropped, but does
// not remain. A second Close says the same.
//
// It writes by itself where a write cannot block. To leave the last line to the
// writer would be to wait until the kernel gives another thread the processor,
// which can be later than the process has to be gone.
func (l *Log) Close(wait time.Duration) bool {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		if l.work != nil {
			close(l.work)
		}
	}
	begun := l.work != nil
	l.mu.Unlock()
	if !begun {
		return true
	}
	deadline := time.Now().Add(wait)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	turn := l.turn
	if !l.out.nonblocking() {
		turn = nil
	}
	select {
	case <-turn:
		l.flush(deadline)
		l.turn <- struct{}{}
		return !l.gaveUp.Load()
	case <-l.done:
		return !l.gaveUp.Load()
	case <-timer.C:
	}
	select {
	case <-l.done: // both at once
		return !l.gaveUp.Load()
	default:
		l.gaveUp.Store(true)
		return false
	}
}

// start makes the writer, once. l.mu is held.
func (l *Log) start() {
	if l.work != nil {
		return
	}
	l.work = make(chan struct{}, 1)
	l.done = make(chan struct{})
	go l.write()
}

// write is the writer.
func (l *Log) write() {
	defer close(l.done)
	for open := true; open; {
		_, open = <-l.work
		<-l.turn
		l.flush(time.Time{})
		l.turn <- struct{}{}
	}
}

// flush writes what is queued, until the deadline if there is one. The caller has
// the turn.
func (l *Log) flush(deadline time.Time) {
	if l.lines == nil {
		l.lines = newLines(l.format)
	}
	var err error
	for e := l.pop(); e != nil; e = l.pop() {
		err = l.writeEvent(e, deadline)
		l.waiting.Add(-e.size()) // not before: a line that is being written takes up room
		if err != nil {
			l.dropped.Add(1)
		}
	}
	n := l.dropped.Load()
	if n > l.told && l.Enabled(slog.LevelWarn) && (err == nil || l.over()) && l.put(l.lines.dropped(n-l.told), deadline) == nil {
		l.told = n
	}
}

// writeEvent writes an event as a line. One that cannot be made into words is
// dropped, and not the end of the first process.
func (l *Log) writeEvent(e *Event, deadline time.Time) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return l.put(l.lines.event(e), deadline)
}

// pop takes the first event out of the queue; nil: there is none.
func (l *Log) pop() *Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.queue = nil
		return nil
	}
	e := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	return e
}

func (l *Log) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// put writes a line with the two signals blocked that the kernel sends to the
// thread that writes. Only meanwhile does the writer keep its thread: a thread
// of its own would be one that waits nearly always, and one that has to be
// given the processor, on a busy machine, before the last line is written.
//
// SIGTTOU: graced is in the background of its terminal while the program holds
// the foreground. With TOSTOP set, a write from there fails with EIO or stops
// the whole group, unless the writing thread blocks the signal (tty_check_change
// in the kernel's tty_jobctrl.c; termios(3)). Ignoring it instead would be
// inherited by the children.
//
// SIGPIPE: a broken pipe is told by EPIPE; the signal would only wake up the
// others.
func (l *Log) put(line []byte, deadline time.Time) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var block, before unix.Sigset_t
	block.Val[0] = 1<<(unix.SIGTTOU-1) | 1<<(unix.SIGPIPE-1)
	// It fails only for a wrong argument, and the log is of use without it.
	if unix.PthreadSigmask(unix.SIG_BLOCK, &block, &before) == nil {
		defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) }()
	}
	return l.out.write(line, deadline)
}
