package docker_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What a platform takes away from a container takes nothing away from its stop:
// graced needs no privilege, no file and no room of its own.
func TestConfined(t *testing.T) {
	for _, tt := range []struct {
		name   string
		docker []string
		flags  []string
		state  []string // what the program says of itself
	}{
		{"read-only root", []string{"--read-only"}, nil, []string{"uid=0 gid=0"}},
		{"docker's --user", []string{"--user", "65532"}, nil, []string{"uid=65532 gid=0", "CapEff: 0000000000000000"}},
		{"docker's --user with a group", []string{"--user", "65532:65533"}, nil, []string{"uid=65532 gid=65533"}},
		{"no capabilities", []string{"--cap-drop", "ALL"}, nil, []string{"CapBnd: 0000000000000000"}},
		{"no new privileges", []string{"--security-opt", "no-new-privileges"}, nil, []string{"NoNewPrivs: 1"}},
		{"room for 20 processes", []string{"--pids-limit", "20"}, nil, nil},
		{"a twentieth of a processor", []string{"--cpus", "0.05"}, nil, nil},
		{"24 MiB of memory", []string{"--memory", "24m"}, nil, nil},
		{"everything at once", []string{"--read-only", "--user", "65532:65532", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pids-limit", "20"}, nil,
			[]string{"uid=65532 gid=65532", "CapBnd: 0000000000000000", "NoNewPrivs: 1"}},
		{"graced's --user", nil, []string{"--user", "65532"}, []string{"uid=65532 gid=65532 groups=[]", "CapEff: 0000000000000000", "HOME=/ USER=65532"}},
		{"graced's --user with a group", []string{"--read-only"}, []string{"--user", "65532:65533"}, []string{"uid=65532 gid=65533"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inDocker(t, 1)
			s := spec{docker: tt.docker, flags: tt.flags, cmd: []string{"/app", "state"}}
			c := start(t, s)
			c.ends(0)
			if tt.state == nil {
				tt.state = []string{"uid=0"}
			}
			// as if started without graced: nothing blocked, nothing ignored, and its
			// streams can be opened by name
			for _, want := range append(tt.state, "SigBlk: 0000000000000000", "SigIgn: 0000000000000000",
				"open /dev/stdout: <nil>", "open /dev/stderr: <nil>") {
				if !strings.Contains(c.transcript(), want) {
					t.Errorf("the program does not say %q", want)
				}
			}

			s.cmd = []string{"/app", "serve", "-addr", ":8080", "-code", "3"}
			c = start(t, s)
			c.hears("up")
			if !slices.Contains(tt.docker, "--pids-limit") { // there is no room for another program then
				if out, code := c.exec("/graced", "health", "ready"); code != 0 {
					t.Errorf("graced health ready: %d %s", code, out)
				}
			}
			c.stop()
			c.ends(3)
			end := c.told()
			end.has("overruns", "0")
			end.has("killed", "0")
			if complaints := c.lines.find(func(l line) bool { return l.attr("level") == "WARN" || l.attr("level") == "ERROR" }); len(complaints) > 0 {
				t.Errorf("graced complains: %s", complaints[0].raw)
			}
		})
	}
}

// Names of users and groups are those of the container's /etc/passwd and
// /etc/group, and bring the user's other groups, HOME and USER.
func TestUserByName(t *testing.T) {
	inDocker(t, 1)
	dir := t.TempDir()
	passwd := write(t, dir, "passwd", "root:x:0:0:root:/root:/bin/sh\nweb:x:1001:1002:Web:/srv/web:/bin/sh\n")
	group := write(t, dir, "group", "root:x:0:\nweb:x:1002:\nlogs:x:1003:other,web\nnone:x:1004:\n")
	files := []string{"--volume", passwd + ":/etc/passwd:ro", "--volume", group + ":/etc/group:ro"}
	for _, tt := range []struct{ user, want string }{
		{"web", "uid=1001 gid=1002 groups=[1002 1003]"},
		{"1001", "uid=1001 gid=1002 groups=[1002 1003]"},
		{"web:none", "uid=1001 gid=1004 groups=[]"},
		{"web:1005", "uid=1001 gid=1005 groups=[]"},
	} {
		c := start(t, spec{docker: files, flags: []string{"--user", tt.user}, cmd: []string{"/app", "state"}})
		c.ends(0)
		for _, want := range []string{tt.want, "HOME=/srv/web USER=web LOGNAME=web", "open /dev/stderr: <nil>"} {
			if !strings.Contains(c.transcript(), want) {
				t.Errorf("--user %s: the program does not say %q:\n%s", tt.user, want, c.transcript())
			}
		}
	}
	c := start(t, spec{docker: files, flags: []string{"--user", "nobody"}, cmd: []string{"/app", "state"}})
	c.ends(125)
	c.prints(`unknown user "nobody"`)
}

// Without the capability to change users --user cannot be had, and that is said.
func TestUserWithoutCapability(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{docker: []string{"--cap-drop", "ALL"}, flags: []string{"--user", "65532"}, cmd: []string{"/app", "state"}})
	c.ends(126)
	c.prints("may not change users")
}

// Where graced may not signal its program, another user's, it says so once and
// ends in its time all the same: with PID 1 everything goes.
func TestProgramThatMayNotBeSignalled(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{
		docker: []string{"--cap-drop", "ALL", "--cap-add", "SETUID", "--cap-add", "SETGID"},
		flags:  []string{"--user", "65532", "--grace", "3s"},
		cmd:    []string{"/app", "serve"},
	})
	c.hears("up")
	c.stop()
	c.ends(137)
	end := c.told()
	within(t, "the shutdown", end.phase("took"), 3*time.Second)
	c.prints("operation not permitted")
	if got := c.heard("signal SIGTERM"); len(got) > 0 { // SIGCONT is allowed within a session; kill(2)
		t.Error("the program was signalled: this test tests nothing")
	}
}

// A program that forks without end, in a container that is full of it: graced
// goes on, and ends everything in its time.
func TestForkBomb(t *testing.T) {
	for _, limit := range []string{"20", "200"} {
		t.Run("room for "+limit, func(t *testing.T) {
			inDocker(t, 1)
			c := start(t, spec{docker: []string{"--pids-limit", limit, "--memory", "256m"}, flags: []string{"--grace", "6s"}, cmd: []string{"/app", "bomb"}})
			c.hears("up")
			time.Sleep(500 * time.Millisecond) // nothing tells that it is full
			c.stop("--time", "20")
			c.ends(137)
			end := c.told()
			within(t, "the shutdown", end.phase("took"), 6*time.Second)
			if end.attr("killed") == "0" {
				t.Error("nothing was killed")
			}
		})
	}
}

// The kernel kills a program that takes too much memory, and not graced: the
// container's code says by what its program ended.
func TestOutOfMemory(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{docker: []string{"--memory", "64m", "--memory-swap", "64m"}, flags: []string{"--log-level", "debug"}, cmd: []string{"/app", "eat"}})
	c.ends(137)
	exit := c.logs("process_exit")
	if exit.attr("signal") != "SIGKILL" || exit.attr("code") != "137" {
		t.Errorf("the end is told as %s", exit.raw)
	}
}

// write makes a file that every user may read and write.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}
