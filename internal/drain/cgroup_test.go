package drain

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const cgroupsEnv = "DRAIN_TEST_CGROUPS"

// playCgroups goes through the cgroups of the test, has a listener made in each,
// and says what a Looker made in the first and in the last takes for its own. A
// socket stays of the cgroup that it was made in.
func playCgroups() error {
	dirs := strings.Split(os.Getenv(cgroupsEnv), ":")
	names := make(map[uint32]string)
	for _, dir := range dirs {
		if err := enter(dir); err != nil {
			return err
		}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer ln.Close()
		inode, err := Inode(ln.(*net.TCPListener))
		if err != nil {
			return err
		}
		names[inode] = filepath.Base(dir)
	}
	var a uint32
	for inode, name := range names {
		if name == "a" {
			a = inode
		}
	}
	for _, try := range []struct {
		dir   string
		scope Scope
	}{{dirs[0], Scope{}}, {dirs[1], Scope{}}, {dirs[2], Scope{}}, {dirs[2], Scope{Inherited: []uint32{a}}}} {
		if err := enter(try.dir); err != nil {
			return err
		}
		l := New(try.scope)
		list, err := l.Listeners()
		if err != nil {
			return err
		}
		l.Close()
		var seen []string
		for _, ln := range list {
			seen = append(seen, names[ln.Inode])
		}
		slices.Sort(seen)
		fmt.Println(filepath.Base(try.dir), len(try.scope.Inherited), seen)
	}
	return enter(filepath.Dir(dirs[0]))
}

func enter(dir string) error {
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0)
}

// cgroupDirs makes two cgroups and one below the first.
func cgroupDirs(t *testing.T) (a, sub, b string) {
	t.Helper()
	var mount string
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		var fsys unix.Statfs_t
		if unix.Statfs(dir, &fsys) == nil && fsys.Type == unix.CGROUP2_SUPER_MAGIC {
			mount = dir
		}
	}
	list, err := os.ReadFile("/proc/self/cgroup")
	path, ok := unified(list)
	if mount == "" || err != nil || !ok {
		t.Skip("SKIPPED: no cgroup v2 here")
	}
	root, err := os.MkdirTemp(filepath.Join(mount, path), "drain-test-")
	if err != nil {
		t.Skipf("SKIPPED: cannot make cgroups: %v", err)
	}
	a, sub, b = filepath.Join(root, "a"), filepath.Join(root, "a", "sub"), filepath.Join(root, "b")
	t.Cleanup(func() {
		for _, dir := range []string{sub, a, b, root} {
			if err := os.Remove(dir); err != nil {
				t.Log(err)
			}
		}
	})
	for _, dir := range []string{a, sub, b} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return a, sub, b
}

// Two containers in one network namespace, as in a pod: each takes its own
// listeners for its processes', those of a cgroup below, and those handed down.
func TestCgroups(t *testing.T) {
	alone(t)
	a, sub, b := cgroupDirs(t)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleEnv+"=cgroups", cgroupsEnv+"="+a+":"+sub+":"+b)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	const want = "a 0 [a sub]\nsub 0 [sub]\nb 0 [b]\nb 1 [a b]\n"
	if string(out) != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
}

// What the kernel does not tell is taken for the processes'.
func TestCgroupNotTold(t *testing.T) {
	for _, c := range []struct{ own, id uint64 }{{0, 0}, {0, 7}, {7, 0}, {7, 7}} {
		g := cgroups{own: c.own}
		if !g.owns(c.id) {
			t.Errorf("own %d, socket %d: a stranger's", c.own, c.id)
		}
	}
}

func TestUnifiedPath(t *testing.T) {
	for list, want := range map[string]string{
		"0::/\n":                        "/",
		"9:name=systemd:/\n0::/a.b/c\n": "/a.b/c",
		"4:memory:/x\n":                 "",
		"":                              "",
	} {
		if path, ok := unified([]byte(list)); path != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", list, path, ok)
		}
	}
}
