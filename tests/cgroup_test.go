package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// cgroup is a control group of the test's own, of version 1 or 2.
type cgroup struct {
	dir string
	v2  bool
}

var cgroups atomic.Int32

// newCgroup makes one with a controller: "cpu", "pids", "freezer".
func newCgroup(t testing.TB, controller string) cgroup {
	t.Helper()
	name := fmt.Sprintf("graced-test-%d-%d", os.Getpid(), cgroups.Add(1))
	v1 := filepath.Join("/sys/fs/cgroup", controller)
	c := cgroup{dir: filepath.Join(v1, name)}
	if _, err := os.Stat(filepath.Join(v1, "cgroup.procs")); err != nil {
		root := "/sys/fs/cgroup"
		have, err := os.ReadFile(filepath.Join(root, "cgroup.subtree_control"))
		if err != nil || controller != "freezer" && !strings.Contains(string(have), controller) {
			skip(t, "there is no control group with "+controller)
		}
		c = cgroup{filepath.Join(root, name), true}
	}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		skip(t, "control groups cannot be made: "+err.Error())
	}
	t.Cleanup(func() {
		// the last process may be on its way out
		eventually(5*time.Second, func() bool { return syscall.Rmdir(c.dir) == nil })
	})
	return c
}

func (c cgroup) set(t testing.TB, file, value string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, file), []byte(value), 0); err != nil {
		t.Fatal(err)
	}
}

func (c cgroup) limitProcesses(t testing.TB, n int) {
	t.Helper()
	c.set(t, "pids.max", fmt.Sprint(n))
}

// limitCPU gives it percent of one processor.
func (c cgroup) limitCPU(t testing.TB, percent int) {
	t.Helper()
	if c.v2 {
		c.set(t, "cpu.max", fmt.Sprintf("%d 100000", percent*1000))
		return
	}
	c.set(t, "cpu.cfs_period_us", "100000")
	c.set(t, "cpu.cfs_quota_us", fmt.Sprint(percent*1000))
}

func (c cgroup) freeze(t testing.TB, frozen bool) {
	t.Helper()
	switch {
	case c.v2 && frozen:
		c.set(t, "cgroup.freeze", "1")
	case c.v2:
		c.set(t, "cgroup.freeze", "0")
	case frozen:
		c.set(t, "freezer.state", "FROZEN")
	default:
		c.set(t, "freezer.state", "THAWED")
	}
}

// in has setups join the groups.
func in(groups ...cgroup) []string {
	var dirs []string
	for _, c := range groups {
		dirs = append(dirs, c.dir)
	}
	return []string{"-cgroups", strings.Join(dirs, ":")}
}

// A program that forks until the container's limit of processes is reached must
// not take its first process down: graced goes on answering, and ends it all.
func TestForkBombAtThePidsLimit(t *testing.T) {
	sandbox(t)
	for _, limit := range []int{64, 24} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			group := newCgroup(t, "pids")
			group.limitProcesses(t, limit)
			r := setup{enter: in(group)}.start(t, "graced", "--grace", "4s", "--ready", "started", "--", "start_as", "ignore=1", "fork_tree", "500", "30", "ignore", "group")
			r.prints(t, "^ready", 10*time.Second)
			r.ready(t)
			// as many things at once as there may be: none may need a further thread
			var watchers []*watcher
			for range 16 {
				watchers = append(watchers, r.watch("/metrics", time.Millisecond), r.watch("/readyz", time.Millisecond))
			}
			for range times(200, 50, 20) {
				time.Sleep(20 * time.Millisecond)
				r.signal(t, syscall.SIGHUP)
			}
			for _, w := range watchers {
				w.end()
			}
			stopped := r.signal(t, syscall.SIGTERM)
			r.answers(t, "/readyz", 503, time.Second)
			r.exits(t, 137, 10*time.Second)
			if took := r.ended.Sub(stopped); took > 4*time.Second {
				t.Errorf("it took %v of the 4s", took)
			}
			for _, bad := range []string{"newosproc", "runtime:", "goroutine "} {
				if strings.Contains(r.stderr.text(), bad) {
					t.Errorf("the runtime broke down:\n%s", r.stderr.text())
				}
			}
		})
	}
}

// The same where nobody is in a group that could be signalled at once.
func TestForkBombInSessionsOfItsOwn(t *testing.T) {
	sandbox(t)
	r := start(t, "graced", "--grace", "4s", "--", "fork_tree", "800", "30", "ignore", "session")
	r.prints(t, "^ready", 20*time.Second)
	stopped := r.signal(t, syscall.SIGTERM)
	r.exits(t, 137, 10*time.Second)
	if took := r.ended.Sub(stopped); took > 4*time.Second {
		t.Errorf("it took %v of the 4s", took)
	}
}

// graced's threads are bounded and all there before the program is started,
// however many probers there are and however busy the machine.
func TestThreadsAreBounded(t *testing.T) {
	sandbox(t)
	for _, busy := range []int{0, 60} {
		others := beside(t, busy)
		started, most := threadsOf(t)
		others()
		t.Logf("%d threads at the start, %d at 200 probers, beside %d busy processes", started, most, busy)
		if most > 12 {
			t.Errorf("%d threads at the start, %d at 200 probers, beside %d busy processes; want at most 12", started, most, busy)
		}
	}
}

// threadsOf counts the threads of a graced at its start and under many probers.
func threadsOf(t *testing.T) (started, most int) {
	r := start(t, "graced", "--", "http_abrupt", "8080")
	defer r.kill()
	r.ready(t)
	started = status(t, r.pid, "Threads")
	var watchers []*watcher
	for range 200 {
		watchers = append(watchers, r.watch("/readyz", 50*time.Millisecond))
	}
	for range 20 {
		time.Sleep(50 * time.Millisecond)
		most = max(most, status(t, r.pid, "Threads"))
	}
	for _, w := range watchers {
		w.end()
	}
	return started, most
}
