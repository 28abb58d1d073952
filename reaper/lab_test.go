package reaper

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// lab is a Reaper with what it told.
type lab struct {
	*Reaper
	t      *testing.T
	events []Event
	ids    ID
}

func newLab(t *testing.T, o Options) *lab {
	t.Helper()
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	o.Children = children
	if o.Most == 0 {
		o.Most = 4096
	}
	o.Fault = func(where string, v any) { fmt.Println("PANIC in", where, v); os.Exit(2) }
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &lab{Reaper: r, t: t}
}

const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// spawn asks for a program, and gives the name under which it was asked for.
func (l *lab) spawn(argv ...string) ID {
	l.t.Helper()
	return l.spawnAs(Command{Argv: argv, Env: []string{path}, Stderr: 2})
}

func (l *lab) spawnAs(cmd Command) ID {
	l.t.Helper()
	l.ids++
	if !l.Spawn(l.ids, cmd) {
		l.t.Fatalf("process %d: refused", l.ids)
	}
	return l.ids
}

// spawnRole asks for a program of roles.
func (l *lab) spawnRole(role string, args ...string) ID {
	l.t.Helper()
	return l.spawnAs(roleCommand(role, args...))
}

func roleCommand(role string, args ...string) Command {
	return Command{Argv: append([]string{"/proc/self/exe"}, args...), Env: []string{path, roleEnv + "=" + role, "GORACE=atexit_sleep_ms=0"}, Stderr: 2}
}

// nextOwner asks for a program that has a pid that was another's before. false:
// a thread of this process has it now, and keeps it.
func (l *lab) nextOwner(pid int, argv ...string) (ID, bool) {
	l.t.Helper()
	for range 20 {
		// the next number that the kernel gives is one more, if that is free
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0); err != nil {
			skip(l.t, err.Error())
		}
		id := l.spawn(argv...)
		if l.event(Started, id).PID == pid {
			return id, true
		}
		_ = l.Signal(id, syscall.SIGKILL, false)
		l.event(Exited, id)
	}
	return 0, false
}

// await waits until done. It is woken as graced is, and by nothing else.
func (l *lab) await(what string, done func() bool) {
	l.t.Helper()
	timeout := time.After(40 * time.Second)
	for {
		l.events = append(l.events, l.Take()...)
		if done() {
			return
		}
		select {
		case <-l.Wake():
		case <-timeout:
			l.t.Fatalf("no %s; events: %v", what, l.events)
		}
	}
}

// find gives the first event of a kind about a process.
func (l *lab) find(kind EventKind, id ID) (Event, bool) {
	for _, e := range l.events {
		if e.Kind == kind && e.ID == id {
			return e, true
		}
	}
	return Event{}, false
}

// event waits for one.
func (l *lab) event(kind EventKind, id ID) (found Event) {
	l.t.Helper()
	l.await(fmt.Sprintf("event %d of process %d", kind, id), func() (ok bool) {
		found, ok = l.find(kind, id)
		return ok
	})
	return found
}

// none waits until there is no child left.
func (l *lab) none() {
	l.t.Helper()
	l.await("end of all children", l.Childless)
}

// output is what a process says on its standard error.
type output struct {
	*bufio.Reader
	file *os.File
}

// speaking asks for a program whose standard error can be read.
func (l *lab) speaking(cmd Command) (ID, output) {
	l.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		l.t.Fatal(err)
	}
	cmd.Stderr = int(w.Fd())
	id := l.spawnAs(cmd)
	l.await("start", func() bool {
		_, ok := l.find(Started, id)
		_, failed := l.find(NotStarted, id)
		return ok || failed
	})
	w.Close()
	return id, output{bufio.NewReader(r), r}
}

// line waits for a line of a program.
func (l *lab) line(o output) string {
	l.t.Helper()
	_ = o.file.SetReadDeadline(time.Now().Add(30 * time.Second))
	text, err := o.ReadString('\n')
	if err != nil {
		l.t.Fatalf("the program said no line: %q, %v", text, err)
	}
	return strings.TrimSuffix(text, "\n")
}

// says gives all that a program says.
func (l *lab) says(cmd Command) string {
	l.t.Helper()
	id, out := l.speaking(cmd)
	var text strings.Builder
	_ = out.file.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := out.WriteTo(&text); err != nil {
		l.t.Fatal(err)
	}
	out.file.Close()
	l.event(Exited, id)
	return text.String()
}
