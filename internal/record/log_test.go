package record

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Long enough that a loaded machine does not fail a test.
const patience = 10 * time.Second

func TestLogWritesALineAnEvent(t *testing.T) {
	for _, flags := range []int{0, unix.O_NONBLOCK} {
		r, w := newPipe(t, flags)
		lines := collectBlocking(t, r)
		l := NewLog(w, Text, slog.LevelInfo)
		const n = 200 // more than the pipe takes
		for i := range n {
			l.Emit(Event{Kind: PhaseStart, Msg: fmt.Sprint(i)})
		}
		l.Emit(Event{Kind: Start, Level: slog.LevelDebug, Msg: "below the level"})
		if !l.Close(patience) {
			t.Error("Close: something remained")
		}
		unix.Close(w)
		got := <-lines
		if len(got) != n || l.Dropped() != 0 {
			t.Fatalf("%d lines, %d dropped, want %d and 0", len(got), l.Dropped(), n)
		}
		for i, line := range got {
			if !strings.Contains(line, fmt.Sprintf(" msg=%d event=phase_start ", i)) {
				t.Fatalf("line %d is %q", i, line)
			}
		}
	}
}

// collectBlocking makes r blocking for collect, whatever the writing end is.
func collectBlocking(t *testing.T, r int) <-chan []string {
	setFlags(t, r, 0)
	return collect(r)
}

func TestLogUnusedCostsNothing(t *testing.T) {
	l := NewLog(-1, Text, slog.LevelInfo)
	e := Event{Level: slog.LevelDebug, Kind: Reaped, Msg: "below the level", Process: "web"}
	if n := testing.AllocsPerRun(1000, func() { l.Emit(e) }); n != 0 {
		t.Errorf("an event below the level costs %v allocations", n)
	}
	if l.queue != nil {
		t.Error("an event below the level started the writer")
	}
	if !l.Close(0) {
		t.Error("Close of an unused log: something remained")
	}
	l.Emit(Event{Msg: "too late"})
	if l.Dropped() != 1 || l.queue != nil {
		t.Errorf("after Close: dropped %d, want 1, and no writer", l.Dropped())
	}
}

// The faults of real stderrs: nobody reads the pipe, with a blocking and with a
// non-blocking descriptor. Emit never waits, and Close no longer than it may.
func TestLogNobodyReads(t *testing.T) {
	for _, flags := range []int{0, unix.O_NONBLOCK} {
		r, w := newPipe(t, flags)
		fill(t, w)
		l := NewLog(w, Text, slog.LevelInfo)
		const n = 2000
		within(t, patience/2, "emitting into a full pipe", func() {
			for i := range n {
				l.Emit(Event{Msg: fmt.Sprint("line ", i), Kind: Signal})
			}
		})
		// One is with the writer, maxLines are queued.
		if got := l.Dropped(); got < n-maxLines-1 || got >= n {
			t.Errorf("dropped %d of %d, the queue has %d", got, n, maxLines)
		}
		within(t, patience/2, "Close(20ms)", func() {
			if l.Close(20 * time.Millisecond) {
				t.Error("Close: nothing remained, in a pipe that nobody reads")
			}
		})
		before := l.Dropped()
		l.Emit(Event{Msg: "after Close"})
		if l.Dropped() <= before {
			t.Error("a line after Close was not counted")
		}
		// The reader comes back: nothing is written any more but the line that
		// a blocking descriptor holds, and the writer ends.
		lines := collectBlocking(t, r)
		<-l.done
		unix.Close(w)
		if got := <-lines; len(got) > 1 {
			t.Errorf("%d lines were written after Close had given up", len(got))
		}
		if got := l.Dropped(); got < n-1 {
			t.Errorf("%d of %d lines counted as dropped at the end", got, n)
		}
		if l.Close(patience) {
			t.Error("a second Close does not say the same")
		}
	}
}

// The control to TestLogNobodyReads: the same, but the reader comes back while
// Close waits. All that was queued comes out whole, and the log admits the rest.
func TestLogReaderComesBack(t *testing.T) {
	for _, flags := range []int{0, unix.O_NONBLOCK} {
		r, w := newPipe(t, flags)
		fill(t, w)
		l := NewLog(w, JSON, slog.LevelInfo)
		const n = maxLines + 50
		for range n {
			l.Emit(Event{Msg: "line", Kind: Signal})
		}
		dropped := l.Dropped()
		lines := collectBlocking(t, r)
		if !l.Close(patience) {
			t.Error("Close: something remained")
		}
		unix.Close(w)
		got := <-lines
		if want := n - int(dropped) + 1; len(got) < want {
			t.Errorf("%d lines, want %d", len(got), want)
		}
		for _, line := range got {
			object(t, []byte(line))
		}
		if m := object(t, []byte(got[len(got)-1])); m["dropped"] != float64(dropped) {
			t.Errorf("the last line is %v, want dropped=%d", m, dropped)
		}
	}
}

func TestLogBoundsBytes(t *testing.T) {
	r, w := newPipe(t, 0)
	fill(t, w)
	l := NewLog(w, Text, slog.LevelInfo)
	msg := strings.Repeat("m", 100<<10)
	for range maxLines {
		l.Emit(Event{Msg: msg, Err: msg, Attrs: []slog.Attr{slog.String("a", msg)}})
	}
	if queued := l.waiting.Load(); queued > maxBytes || queued < maxBytes/2 {
		t.Errorf("%d bytes are queued, want %d at most", queued, maxBytes)
	}
	l.Close(0)
	unix.Close(r)
	<-l.done
	unix.Close(w)
}

func TestLogBrokenDescriptor(t *testing.T) {
	r, w := newPipe(t, 0)
	unix.Close(r) // EPIPE
	defer unix.Close(w)
	for _, fd := range []int{w, 1 << 20 /* EBADF */} {
		l := NewLog(fd, Text, slog.LevelInfo)
		for range 10 {
			l.Emit(Event{Msg: "lost"})
		}
		if !l.Close(patience) {
			t.Error("Close: something remained; it should have been dropped")
		}
		if l.Dropped() != 10 {
			t.Errorf("dropped %d, want 10", l.Dropped())
		}
	}
}

// A reader of a FIFO can go and another one come: each line is tried.
func TestLogBreaksAndRecovers(t *testing.T) {
	path := t.TempDir() + "/fifo"
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(flags int) int {
		fd, err := unix.Open(path, flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	r := open(unix.O_RDONLY)
	w := open(unix.O_WRONLY)
	unix.Close(r)
	l := NewLog(w, Text, slog.LevelInfo)
	l.Emit(Event{Msg: "lost"})
	until(t, "the line is lost", func() bool { return l.Dropped() == 1 })
	lines := collectBlocking(t, open(unix.O_RDONLY))
	l.Emit(Event{Msg: "found"})
	l.Close(patience)
	unix.Close(w)
	got := <-lines
	if len(got) != 2 || !strings.Contains(got[0], "msg=found") || !strings.HasSuffix(got[1], "dropped=1") {
		t.Errorf("got %q", got)
	}
}

func TestLogSlowReader(t *testing.T) {
	r, w := newPipe(t, unix.O_NONBLOCK)
	setFlags(t, r, 0)
	l := NewLog(w, JSON, slog.LevelInfo)
	go func() {
		for range 20 {
			// Longer than PIPE_BUF: the kernel takes them in parts.
			l.Emit(Event{Msg: strings.Repeat("é", 500), Attrs: wide(8)})
			for l.waiting.Load() > maxBytes/2 {
				time.Sleep(time.Millisecond)
			}
		}
		l.Close(patience)
		unix.Close(w)
	}()
	var all []byte
	buf := make([]byte, 777)
	for {
		n, err := unix.Read(r, buf)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			break
		}
		all = append(all, buf[:n]...)
	}
	unix.Close(r)
	lines := strings.SplitAfter(string(all), "\n")
	if len(lines) != 21 {
		t.Fatalf("%d lines, want 20", len(lines)-1)
	}
	for _, line := range lines[:20] {
		if len(line) < 4096 {
			t.Fatalf("a line of %d bytes does not test this", len(line))
		}
		object(t, []byte(line))
	}
}

func wide(n int) (attrs []slog.Attr) {
	for i := range n {
		attrs = append(attrs, slog.String(fmt.Sprint("key", i), strings.Repeat("v", 900)))
	}
	return attrs
}

// The last words do not wait for the writer's turn on the processor, where a write
// cannot block.
func TestLogCloseWritesByItself(t *testing.T) {
	for flags, want := range map[int]bool{unix.O_NONBLOCK: true, 0: false} {
		r, w := newPipe(t, flags)
		l := NewLog(w, Text, slog.LevelInfo)
		l.work, l.done = make(chan struct{}, 1), make(chan struct{}) // a writer that never gets a turn
		l.Emit(Event{Msg: "last words"})
		if got := l.Close(20 * time.Millisecond); got != want {
			t.Errorf("flags %#x: Close says %v", flags, got)
		}
		unix.Close(w)
		got := <-collectBlocking(t, r)
		if (len(got) == 1) != want {
			t.Errorf("flags %#x: %q", flags, got)
		}
	}
}

// It does so until its time is over.
func TestLogCloseGivesUpByItself(t *testing.T) {
	r, w := newPipe(t, unix.O_NONBLOCK)
	defer unix.Close(r)
	defer unix.Close(w)
	fill(t, w)
	l := NewLog(w, Text, slog.LevelInfo)
	l.work, l.done = make(chan struct{}, 1), make(chan struct{})
	for range 3 {
		l.Emit(Event{Msg: "nobody reads"})
	}
	within(t, patience/2, "Close(20ms)", func() {
		if l.Close(20 * time.Millisecond) {
			t.Error("Close: nothing remained, in a pipe that nobody reads")
		}
	})
	if l.Dropped() != 3 || l.waiting.Load() != 0 {
		t.Errorf("%d dropped, %d bytes still counted", l.Dropped(), l.waiting.Load())
	}
}

// The two signals are blocked on the one thread that writes, while it writes.
func TestLogBlocksSignalsWhileItWrites(t *testing.T) {
	until(t, "nobody writes", func() bool { return writerThreads(t) == 0 })
	r, w := newPipe(t, 0)
	fill(t, w)
	l := NewLog(w, Text, slog.LevelInfo)
	l.Emit(Event{Msg: "waits for a reader"})
	until(t, "the writer writes", func() bool { return writerThreads(t) == 1 })
	lines := collectBlocking(t, r)
	until(t, "it has written", func() bool { return writerThreads(t) == 0 })
	if !l.Close(patience) {
		t.Error("Close: something remained")
	}
	unix.Close(w)
	if got := <-lines; len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

func TestLogFromManyGoroutinesWhileClosing(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	l := NewLog(int(null.Fd()), Text, slog.LevelInfo)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				l.Emit(Event{Msg: "line"})
			}
		})
	}
	for range 3 {
		wg.Go(func() { l.Close(patience) })
	}
	wg.Wait()
	if l.waiting.Load() != 0 {
		t.Errorf("%d bytes still counted as queued", l.waiting.Load())
	}
}
