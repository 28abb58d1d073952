package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A setting stands where its variable was, whatever the others are; doubles and
// entries that are none stay.
func TestEnvironment(t *testing.T) {
	env := []string{"A=1", "HOME=/root", "", "NOEQUALS", "HOME=/second", "AB=2"}
	before := slices.Clone(env)
	got := environment(env, []string{"HOME=/srv", "NEW=x=y", "A=", "NOEQUALS=now"})
	want := []string{"A=", "HOME=/srv", "", "NOEQUALS", "HOME=/second", "AB=2", "NEW=x=y", "NOEQUALS=now"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !slices.Equal(env, before) {
		t.Errorf("the environment of another process was changed: %q", env)
	}
	if got := environment(env, nil); !slices.Equal(got, env) {
		t.Errorf("without settings: %q", got)
	}
}

// Sockets are graced's to hand on only if they were handed to it.
func TestListenFDs(t *testing.T) {
	own := "LISTEN_PID=" + strconv.Itoa(os.Getpid())
	for _, tt := range []struct {
		env  []string
		want int
	}{
		{nil, 0},
		{[]string{own, "LISTEN_FDS=2"}, 2},
		{[]string{"LISTEN_FDS=1", own}, 1},
		{[]string{"LISTEN_PID=1", "LISTEN_FDS=2"}, 0},
		{[]string{own + "0", "LISTEN_FDS=2"}, 0},
		{[]string{own}, 0},
		{[]string{own, "LISTEN_FDS="}, 0},
		{[]string{own, "LISTEN_FDS=-1"}, 0},
		{[]string{own, "LISTEN_FDS=many"}, 0},
		{[]string{own, "LISTEN_FDS=99999999999999999999"}, 0},
	} {
		if got := listenFDs(tt.env); got != tt.want {
			t.Errorf("%q: %d, want %d", tt.env, got, tt.want)
		}
	}
}

// accountHelper says who the user and the group are that its arguments name,
// with the first one's folder as /etc.
func accountHelper(args []string) int {
	if err := bind(args[0], "/etc"); err != nil {
		say("cannot: %v", err)
		return 0
	}
	for args := args[1:]; len(args) > 1; args = args[2:] {
		a, err := findAccount(args[0], args[1])
		if err != nil {
			say("%v", err)
			continue
		}
		if a.credential == nil {
			say("nobody else")
			continue
		}
		say("%d:%d %v %s", a.credential.Uid, a.credential.Gid, a.credential.Groups, strings.Join(a.env, " "))
	}
	return 0
}

// A user is one of /etc/passwd, or a number that needs no such file. Nobody's
// number makes him root's group.
func TestFindAccount(t *testing.T) {
	etc := t.TempDir()
	writeTo(t, filepath.Join(etc, "passwd"), "root:x:0:0:root:/root:/bin/sh\nweb:x:33:34:web:/srv/web:/bin/sh\n70:x:71:72:a name like a number:/seventy:\nbroken\n")
	writeTo(t, filepath.Join(etc, "group"), "root:x:0:\nweb:x:34:\nssl:x:104:web,other\nlog:x:105:other\n")
	ask := func(etc string, want map[[2]string]string) {
		t.Helper()
		args, order := []string{etc}, [][2]string{}
		for account := range want {
			args, order = append(args, account[0], account[1]), append(order, account)
		}
		cmd, run := helper(t, "account", args...)
		ownMounts(cmd)
		lines := strings.Split(run(), "\n")
		if strings.HasPrefix(lines[0], "cannot") {
			skipped(t, lines[0])
		}
		for i, account := range order {
			if lines[i] != want[account] {
				t.Errorf("%q: %s, want %s", account, lines[i], want[account])
			}
		}
	}
	own := fmt.Sprintf("%d:%%d [] ", 0)
	ask(etc, map[[2]string]string{
		{"", ""}:           "nobody else",
		{"web", ""}:        "33:34 [34 104] HOME=/srv/web USER=web LOGNAME=web",
		{"33", ""}:         "33:34 [34 104] HOME=/srv/web USER=web LOGNAME=web",
		{"web", "log"}:     "33:105 [] HOME=/srv/web USER=web LOGNAME=web",
		{"web", "7"}:       "33:7 [] HOME=/srv/web USER=web LOGNAME=web",
		{"65532", ""}:      "65532:65532 [] HOME=/ USER=65532 LOGNAME=65532",
		{"65532", "65533"}: "65532:65533 [] HOME=/ USER=65532 LOGNAME=65532",
		{"65532", "ssl"}:   "65532:104 [] HOME=/ USER=65532 LOGNAME=65532",
		{"70", ""}:         "71:72 [72] HOME=/seventy USER=70 LOGNAME=70", // a name comes first, as in chown(1)
		{"0", ""}:          "0:0 [0] HOME=/root USER=root LOGNAME=root",
		{"", "log"}:        fmt.Sprintf(own, 105),
		{"nobody", ""}:     `unknown user "nobody"; name one of /etc/passwd, or a number`,
		{"web", "nobody"}:  `unknown group "nobody"; name one of /etc/group, or a number`,
		{"-1", ""}:         `unknown user "-1"; name one of /etc/passwd, or a number`,
		{"4294967296", ""}: `unknown user "4294967296"; name one of /etc/passwd, or a number`,
	})
	// a scratch image has neither file
	ask(t.TempDir(), map[[2]string]string{
		{"65532", ""}: "65532:65532 [] HOME=/ USER=65532 LOGNAME=65532",
		{"7", "8"}:    "7:8 [] HOME=/ USER=7 LOGNAME=7",
		{"web", ""}:   `unknown user "web"; name one of /etc/passwd, or a number`,
		{"7", "web"}:  `unknown group "web"; name one of /etc/group, or a number`,
	})
}

// handHelper hands its standard streams over and says whose they are.
func handHelper([]string) int {
	handOver(65534, 2)
	for fd := range 3 {
		var st unix.Stat_t
		_ = unix.Fstat(fd, &st)
		say("%d", st.Uid)
	}
	return 0
}

// A program that becomes another user may still open /dev/stderr, whose pipe is
// root's; what others use too is not given away.
func TestHandOver(t *testing.T) {
	if os.Getuid() != 0 {
		skipped(t, "only root can give a pipe away")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd, run := helper(t, "hand")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r, file, w
	if got := run(); got != "65534\n0\n65534\n" {
		t.Errorf("pipe, file, pipe belong to %q", got)
	}
	_, run = helper(t, "hand") // with /dev/null for all three
	if got := run(); got != "0\n0\n0\n" {
		t.Errorf("/dev/null belongs to %q now", got)
	}
	_, slave := openPTY(t)
	cmd, run = helper(t, "hand")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	if got := run(); got != "65534\n65534\n65534\n" {
		t.Errorf("the terminal belongs to %q", got)
	}
}
