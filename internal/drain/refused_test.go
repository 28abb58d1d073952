package drain

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// procLab has no socket diagnostics.
func procLab(t *testing.T, host string) *lab {
	l := newLab(t, host)
	l.looker.refused = errors.New("refused by the test")
	return l
}

// What /proc alone can tell.
func TestProcOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		make  func(l *lab)
		rules Rules
		want  want
	}{
		{"slow", func(l *lab) {
			client, server := l.pair()
			exchange(client, server, 0)
			client.say("request")
			server.hear("request")
		}, caseRules, want{Unsure, "cannot be told", nil}},
		{"slow for longer than the unsure time", func(l *lab) { // a limit
			client, server := l.pair()
			client.say("request")
			server.hear("request")
		}, shortUnsure, want{Idle, "cannot be told", nil}},
		{"unread", func(l *lab) {
			client, _ := l.pair()
			client.say("request")
		}, shortUnsure, want{Busy, "unread request", nil}},
		{"answer under way", func(l *lab) {
			_, server := l.pair()
			l.flood(server)
		}, shortUnsure, want{Busy, "answer under way", nil}},
		{"not delivered", func(l *lab) {
			_, server := l.pair()
			l.flood(server)
			server.Close()
		}, shortUnsure, want{Busy, "answer not delivered", func(c Census) bool { return c.Undelivered == 1 }}},
		{"in the accept queue", func(l *lab) {
			l.dial()
		}, caseRules, want{Busy, "in the accept queue", func(c Census) bool { return c.Unaccepted == 1 }}},
		{"closed", func(l *lab) {
			client, server := l.pair()
			client.Close()
			server.Close()
		}, caseRules, want{Gone, "", nil}},
	} {
		for _, host := range []string{"127.0.0.1", "::1", "::"} {
			t.Run(c.name+" "+host, func(t *testing.T) {
				t.Parallel()
				l := procLab(t, host)
				c.make(l)
				l.becomes(c.rules, c.want)
			})
		}
	}
}

// An answer within the delayed-ACK time leaves the bit. A starved machine may be too
// slow for that, and so it has more than one try.
func TestProcAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	l := procLab(t, "::")
	client, server := l.pair()
	for range 20 {
		exchange(client, server, 0)
		for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if c, list := l.look(caseRules); c.Idle == 1 && list[0].Rule == ruleInTime {
				return
			}
		}
	}
	_, list := l.look(caseRules)
	t.Errorf("never idle: %+v", list)
}

// Without /proc ties wait for the unsure time; nothing else is missed.
func TestWithoutProc(t *testing.T) {
	t.Parallel()
	l := newLab(t, "127.0.0.1")
	l.looker.proc.dir = t.TempDir()
	client, server := l.pair()
	exchange(client, server, 0)
	client.say("request")
	server.hear("request")
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if c, list := l.look(caseRules); c.Idle != 0 || c.Open != 1 {
			t.Fatalf("%+v", list)
		}
	}
	if err := l.looker.Refused(); err != nil {
		t.Errorf("refused: %v", err)
	}
}

// Neither source: an error that says so, and nothing that is quiet.
func TestWithoutAnything(t *testing.T) {
	t.Parallel()
	l := procLab(t, "127.0.0.1")
	l.looker.proc.dir = t.TempDir()
	c, err := l.looker.Census(DefaultRules)
	if err == nil || c.Quiet(UntilIdle) || c.Quiet(UntilClosed) {
		t.Errorf("%+v, %v", c, err)
	}
	if !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, l.looker.Refused()) {
		t.Errorf("the error does not say why: %v", err)
	}
	if list, err := l.looker.Listeners(); err == nil {
		t.Errorf("listeners: %v", list)
	}
	if want := "cannot see connections: refused by the test; open " + l.looker.proc.dir + "/tcp: no such file"; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%q, want %q", err, want)
	}
}

// A seccomp filter that refuses the socket: /proc serves, and it is said why.
func TestSeccompRefuses(t *testing.T) {
	t.Parallel()
	l := newLab(t, "127.0.0.1")
	client, _ := l.pair()
	client.say("request")
	var c Census
	err := onThread(func() error {
		if err := refuseNetlink(); err != nil {
			return err
		}
		var err error
		c, err = l.looker.Census(DefaultRules)
		return err
	})
	if err != nil || c.Source != SourceProc || c.Busy != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := l.looker.Refused(); !errors.Is(err, unix.EPERM) {
		t.Errorf("refused: %v", err)
	}
}

// refuseNetlink makes socket(AF_NETLINK) fail on this thread (seccomp(2)).
func refuseNetlink() error {
	const number, argument = 0, 16 // offsets in struct seccomp_data
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SOCKET, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: argument},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.AF_NETLINK, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
}

// Nobody, without a capability, sees as much.
func TestUnprivileged(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: not root, so that every other test shows it")
	}
	l := newLab(t, "127.0.0.1")
	for range 3 {
		client, server := l.pair()
		client.say("request")
		server.hear("request")
	}
	client, server := l.pair()
	exchange(client, server, 0)
	time.Sleep(500 * time.Millisecond)
	var c Census
	var listeners []Listener
	err := onThread(func() error {
		const nobody = 65534
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
		// The raw call is for this thread alone. It fails in a user namespace, where there
		// is no nobody, and for a root without capabilities, who is as good as one.
		unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody)
		header, none := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, make([]unix.CapUserData, 2)
		if err := unix.Capset(&header, &none[0]); err != nil {
			return err
		}
		var err error
		if listeners, err = l.looker.Listeners(); err != nil {
			return err
		}
		c, err = l.looker.Census(caseRules)
		return err
	})
	if err != nil || len(listeners) != 1 || c.Source != SourceDiag || c.Busy != 3 || c.Idle != 1 {
		t.Errorf("%v, listeners %v, %+v", err, listeners, c)
	}
}

// A kernel that does not answer: an error in bounded time, and /proc after the
// second one.
func TestSilentKernel(t *testing.T) {
	t.Parallel()
	l := newLab(t, "127.0.0.1")
	client, _ := l.pair()
	client.say("request")
	for i := range 2 {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fds[1])
		if err := unix.SetsockoptTimeval(fds[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 50_000}); err != nil {
			t.Fatal(err)
		}
		d := &l.looker.diag
		d.open, d.fd, d.receive = true, fds[0], make([]byte, 4096)
		c, err := l.looker.Census(DefaultRules)
		switch {
		case i == 0 && (!errors.Is(err, unix.EAGAIN) || c.Quiet(UntilIdle) || l.looker.Refused() != nil):
			t.Errorf("the first time: %+v, %v, refused %v", c, err, l.looker.Refused())
		case i == 1 && (err != nil || c.Busy != 1 || c.Source != SourceProc || l.looker.Refused() == nil):
			t.Errorf("the second time: %+v, %v", c, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	var d diag
	for err, want := range map[error]bool{
		unix.EPERM: true, unix.EACCES: true, unix.ENOENT: true, unix.EPROTONOSUPPORT: true, unix.ENOSYS: true,
		errNoInfo: true, errMalformed: true,
		unix.EMFILE: false, unix.ENOBUFS: false, unix.ENOMEM: false, unix.EAGAIN: false, errInterrupted: false,
	} {
		if got := d.refuses(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
