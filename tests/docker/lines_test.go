package docker_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// line is one that came out of the container.
type line struct {
	at    time.Time // when it was written, by its writer's word
	text  string    // what the program announced
	event string    // or the event of graced's line,
	attrs map[string]any
	raw   string // or neither
}

// attr is a field of graced's line, as text.
func (l line) attr(key string) string {
	if v, ok := l.attrs[key]; ok {
		return fmt.Sprint(v)
	}
	return ""
}

func parse(raw string) line {
	l := line{at: time.Now(), raw: raw}
	if strings.HasPrefix(raw, "{") {
		if json.Unmarshal([]byte(raw), &l.attrs) == nil {
			l.event = l.attr("event")
			if at, err := time.Parse(time.RFC3339Nano, l.attr("time")); err == nil {
				l.at = at
			}
		}
		return l
	}
	first, rest, _ := strings.Cut(raw, " ")
	if ns, err := strconv.ParseInt(first, 10, 64); err == nil && len(first) == 19 {
		l.at, l.text = time.Unix(0, ns), rest
	}
	return l
}

// lines are what came so far, and a way to wait for more.
type lines struct {
	mu   sync.Mutex
	more *sync.Cond
	got  []line
	over bool
}

func newLines() *lines {
	l := &lines{}
	l.more = sync.NewCond(&l.mu)
	return l
}

func (l *lines) read(r io.Reader) {
	scanner := bufio.NewScanner(r)
	for scanner.Scan() {
		l.mu.Lock()
		l.got = append(l.got, parse(scanner.Text()))
		l.more.Broadcast()
		l.mu.Unlock()
	}
}

func (l *lines) close() {
	l.mu.Lock()
	l.over = true
	l.more.Broadcast()
	l.mu.Unlock()
}

func (l *lines) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for _, line := range l.got {
		fmt.Fprintln(&b, line.raw)
	}
	return b.String()
}

func (l *lines) find(is func(line) bool) (found []line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.got {
		if is(line) {
			found = append(found, line)
		}
	}
	return found
}

// await waits for a line.
func (l *lines) await(is func(line) bool) (line, bool) {
	overdue := time.AfterFunc(patience, func() { // the lock orders it after a Wait that has begun
		l.mu.Lock()
		defer l.mu.Unlock()
		l.more.Broadcast()
	})
	defer overdue.Stop()
	deadline := time.Now().Add(patience)
	l.mu.Lock()
	defer l.mu.Unlock()
	for next := 0; ; {
		for ; next < len(l.got); next++ {
			if is(l.got[next]) {
				return l.got[next], true
			}
		}
		if l.over || !time.Now().Before(deadline) {
			return line{}, false
		}
		l.more.Wait()
	}
}

func says(text string) func(line) bool {
	return func(l line) bool { return l.text == text || strings.HasPrefix(l.text, text+" ") }
}

func tells(event string) func(line) bool { return func(l line) bool { return l.event == event } }
