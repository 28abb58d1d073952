package record

import (
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
	out    sink

	mu     sync.Mutex  // never held across anything that can block
	queue  chan *Event // nil until there is something to write
	closed bool

	waiting atomic.Int64  // bytes of text in the queue
	dropped atomic.Uint64 // lines
	gaveUp  atomic.Bool   // Close does not wait any more: the writer ends

	done chan struct{} // closed at the writer's end
}

// NewLog makes a log of the events from level on, written to fd, which stays
// the caller's and may be blocking or not. It starts nothing: a log that is
// never used costs nothing.
func NewLog(fd int, format Format, level slog.Level) *Log {
	l := &Log{format: format, level: level}
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
	if l.closed || l.waiting.Load()+size > maxBytes {
		l.dropped.Add(1)
		return
	}
	l.start()
	select {
	case l.queue <- queued:
		l.waiting.Add(size)
	default:
		l.dropped.Add(1)
	}
}

// Dropped is how many lines were not written so far: the queue was full, the
// descriptor broken, or the log closed.
func (l *Log) Dropped() uint64 { return l.dropped.Load() }

// Close lets the writer write what is queued, for wait at most, and a last line
// that says how many were dropped, if any. It returns false if the time was
// over before; what remained is dropped. A line that the descriptor refused is
// dropped, but does not remain. A second Close says the same.
func (l *Log) Close(wait time.Duration) bool {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		if l.queue != nil {
			close(l.queue)
		}
	}
	done := l.done
	l.mu.Unlock()
	if done == nil {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
		return !l.gaveUp.Load()
	case <-timer.C:
	}
	select {
	case <-done: // both at once
		return !l.gaveUp.Load()
	default:
		l.gaveUp.Store(true)
		return false
	}
}

// start makes the queue and its writer, once. l.mu is held.
func (l *Log) start() {
	if l.queue != nil {
		return
	}
	l.queue = make(chan *Event, maxLines)
	l.done = make(chan struct{})
	go l.write()
}

// write is the writer: it alone touches the descriptor.
func (l *Log) write() {
	defer close(l.done)
	lines := newLines(l.format)
	var told uint64 // how many dropped lines the log has admitted
	admit := func() {
		n := l.dropped.Load()
		if n > told && l.Enabled(slog.LevelWarn) && l.put(lines.dropped(n-told)) == nil {
			told = n
		}
	}
	for e := range l.queue {
		err := l.put(lines.event(e))
		l.waiting.Add(-e.size()) // not before: a line that is being written takes up room
		switch {
		case err != nil:
			l.dropped.Add(1)
		case len(l.queue) == 0:
			admit()
		}
	}
	admit()
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
func (l *Log) put(line []byte) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var block, before unix.Sigset_t
	block.Val[0] = 1<<(unix.SIGTTOU-1) | 1<<(unix.SIGPIPE-1)
	// It fails only for a wrong argument, and the log is of use without it.
	if unix.PthreadSigmask(unix.SIG_BLOCK, &block, &before) == nil {
		defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) }()
	}
	return l.out.write(line)
}
