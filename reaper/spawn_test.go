package reaper

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Twenty children with a parent-death signal, while goroutines take threads and
// end with them: the kernel sends the signal when the thread that forked ends,
// so that thread never may.
func TestNoChildDiesOfAThread(t *testing.T) {
	notPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		churn := func() {
			ended := make(chan struct{})
			for range 50 {
				go func() {
					runtime.LockOSThread() // a goroutine that ends locked takes its thread along
					ended <- struct{}{}
				}()
			}
			for range 50 {
				<-ended
			}
		}
		for range 20 {
			churn()
			l.spawnAs(Command{Argv: []string{"sleep", "60"}, Env: []string{path}, Stderr: 2, ParentDeath: syscall.SIGKILL})
		}
		l.event(Started, l.ids)
		for range 10 {
			churn()
		}
		last := l.spawn("true") // its end comes after theirs, had they been killed
		l.event(Exited, last)
		for id := ID(1); id < last; id++ {
			if e, died := l.find(Exited, id); died {
				t.Errorf("process %d was killed: %#x", id, e.Status)
			}
		}
	})
}

// Where graced is not PID 1, its processes die with it.
func TestProcessesDieWithGraced(t *testing.T) {
	notPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		id, out := l.speaking(roleCommand("parent"))
		pid, err := strconv.Atoi(l.line(out))
		if err != nil {
			t.Fatal(err)
		}
		pidfd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Signal(id, syscall.SIGKILL, false); err != nil {
			t.Fatal(err)
		}
		fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
		for {
			if n, err := unix.Poll(fds, 20_000); err == nil && n == 0 {
				t.Fatal("the process outlives graced")
			} else if err != unix.EINTR {
				break
			}
		}
	})
}

// parent is a graced that has one process; it says that one's pid.
func parent([]string) int {
	r, err := New(Options{Most: 1})
	if err != nil {
		return 1
	}
	r.Spawn(1, Command{Argv: []string{"sleep", "60"}, Env: []string{path}, Stderr: 2, ParentDeath: syscall.SIGKILL})
	for range r.Wake() {
		for _, e := range r.Take() {
			os.Stderr.WriteString(strconv.Itoa(e.PID) + "\n")
		}
	}
	return 0
}

// Five thousand starts, good and bad, leave no descriptor, thread, goroutine or
// entry behind.
func TestStartsLeaveNothingBehind(t *testing.T) {
	asPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		shim := Command{Argv: []string{"true"}, Env: []string{path}, Stderr: 2, Ignore: []syscall.Signal{syscall.SIGHUP}}
		badShim := shim
		badShim.Argv = []string{"/no/such/program"}
		round := func(n int) {
			for i := range n {
				switch {
				case i%300 == 0:
					l.spawnAs(shim)
				case i%300 == 1:
					l.spawnAs(badShim)
				case i%2 == 0:
					l.spawn("/no/such/program")
				default:
					l.spawn("/bin/true")
				}
			}
			l.event(Exited, l.spawn("/bin/true"))
			l.none()
			l.events = nil
		}
		round(times(400))
		descriptors, threads, goroutines := count(t, "/proc/self/fd"), count(t, "/proc/self/task"), runtime.NumGoroutine()
		for range 4 {
			round(times(1200))
		}
		if now := count(t, "/proc/self/fd"); now > descriptors {
			t.Errorf("%d descriptors, %d before", now, descriptors)
		}
		if now := count(t, "/proc/self/task"); now > threads+2 { // the runtime may make some for itself
			t.Errorf("%d threads, %d before", now, threads)
		}
		if now := runtime.NumGoroutine(); now > goroutines {
			t.Errorf("%d goroutines, %d before", now, goroutines)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if n := len(l.procs) + len(l.byID) + len(l.early.young) + len(l.early.old); n != 0 || l.orphans.Load() != 0 {
			t.Errorf("%d entries are left in the registry, %d orphans", n, l.orphans.Load())
		}
	})
}

func count(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// The Go runtime raises its own limit of descriptors; its children have the
// one that graced was started with.
func TestTheLimitOfDescriptorsIsTheProgramsOwn(t *testing.T) {
	place{session: true, more: []string{"nofile=300"}}.run(t, func(t *testing.T) {
		l := newLab(t, Options{})
		cmd := Command{Argv: []string{"sh", "-c", "ulimit -Sn >&2"}, Env: []string{path}}
		if got := l.says(cmd); got != "300\n" {
			t.Errorf("the limit is %q, want 300", got)
		}
		cmd.Ignore = []syscall.Signal{syscall.SIGHUP}
		if got := l.says(cmd); got != "300\n" {
			t.Errorf("the limit through the shim is %q, want 300", got)
		}
	})
}

// What a program finds when it starts: its own group, its working folder, who
// it is, and the descriptors that graced was started with.
func TestWhatAProgramFinds(t *testing.T) {
	asPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		dir := t.TempDir()
		got := l.says(Command{
			Argv: []string{"sh", "-c", "{ pwd; id -u; id -g; id -G; } >&2"}, Env: []string{path}, Dir: dir,
			Credential: &syscall.Credential{Uid: 0, Gid: 0, NoSetGroups: true},
		})
		if want := dir + "\n0\n0\n0\n"; !strings.HasPrefix(got, want[:len(want)-1]) {
			t.Errorf("got %q, want %q", got, want)
		}
		id := l.spawn("sleep", "60")
		pid := l.event(Started, id).PID
		if group, err := unix.Getpgid(pid); group != pid {
			t.Errorf("its process group is %d, its pid %d; %v", group, pid, err)
		}
		for _, ignore := range [][]syscall.Signal{nil, {syscall.SIGHUP}} {
			got := l.says(Command{Argv: []string{"sh", "-c", "exec ls /proc/self/fd >&2"}, Env: []string{path}, Ignore: ignore})
			if want := inherited(t); got != want {
				t.Errorf("with ignored signals %v: descriptors %q, want %q", ignore, got, want)
			}
		}
	})
}

// inherited lists the descriptors that a child gets, and the one with which
// ls reads their folder, as ls does.
func inherited(t *testing.T) string {
	t.Helper()
	have := map[int]bool{}
	for fd := range 1024 {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		have[fd] = err == nil && flags&unix.FD_CLOEXEC == 0
	}
	for fd := range 1024 {
		if !have[fd] {
			have[fd] = true
			break
		}
	}
	var names []string
	for fd, ok := range have {
		if ok {
			names = append(names, strconv.Itoa(fd)+"\n")
		}
	}
	slices.Sort(names)
	return strings.Join(names, "")
}
