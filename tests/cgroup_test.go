package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
				if statuses := w.end(); !slices.Equal(statuses, []int{200}) {
					t.Errorf("the answers were %v (0: none), want 200 all the time", statuses)
				}
			}
			stopped := r.signal(t, syscall.SIGTERM)
			r.answers(t, "/readyz", 503, time.Second)
			r.exits(t, 137, 10*time.Second)
			r.inBudget(t, stopped, 3500*time.Millisecond, 4*time.Second)
			for _, bad := range []string{"newosproc", "runtime:", "goroutine "} {
				if strings.Contains(r.stderr.text(), bad) {
					t.Errorf("the runtime broke down:\n%s", r.stderr.text())
				}
			}
		})
	}
}

// inBudget checks that graced was done within its budget, and that all was over
// within the grace: the kernel has hundreds of processes to end after graced.
func (r *running) inBudget(t *testing.T, stopped time.Time, budget, grace time.Duration) {
	t.Helper()
	if took := r.ended.Sub(stopped); took > grace {
		t.Errorf("it took %v of the %v", took, grace)
	}
	if took := r.logs(t, time.Second, "event=shutdown_end").duration(t, "took"); took > budget {
		t.Errorf("graced took %v, more than its budget, %v", took, budget)
	}
}

// The same where nobody is in a group that could be signalled at once.
func TestForkBombInSessionsOfItsOwn(t *testing.T) {
	sandbox(t)
	r := start(t, "graced", "--grace", "4s", "--", "fork_tree", "800", "30", "ignore", "session")
	r.prints(t, "^ready", 20*time.Second)
	stopped := r.signal(t, syscall.SIGTERM)
	r.exits(t, 137, 10*time.Second)
	r.inBudget(t, stopped, 3500*time.Millisecond, 4*time.Second)
}

// A limit that is used up before the program is there: it cannot be started, and
// the reason is told.
func TestNoRoomForTheProgram(t *testing.T) {
	t.Parallel()
	sandbox(t)
	group := newCgroup(t, "pids")
	group.limitProcesses(t, 12) // graced's own threads
	r := setup{enter: in(group)}.start(t, "graced", "--", "die", "exit", "0")
	r.exits(t, 126, 5*time.Second)
	if text := r.stderr.text(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "pids limit") {
		t.Errorf("the message is %q, want one line that names the pids limit", text)
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
		if most > 12 || most > started {
			t.Errorf("%d threads when the program was there, %d at 200 probers, beside %d busy processes; want at most 12, and none that came later", started, most, busy)
		}
	}
}

// threadsOf counts the threads of a graced at its start and under many probers.
func threadsOf(t *testing.T) (started, most int) {
	r := start(t, "graced", "--", "http_abrupt", "8080")
	defer r.kill()
	if !eventually(10*time.Second, func() bool { return len(childrenOf(r.pid)) > 0 }) {
		t.Fatal("the program is not started")
	}
	started = status(t, r.pid, "Threads")
	r.ready(t)
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
