package reaper

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// listen has a listening socket and says its inode; with "hidden" nobody may
// read its descriptors who has not CAP_SYS_PTRACE; prctl(2), PR_SET_DUMPABLE.
func listen(args []string) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		return 1
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(int(file.Fd()), &st); err != nil {
		return 1
	}
	if len(args) > 0 {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return 1
		}
	}
	fmt.Fprintln(os.Stderr, st.Ino)
	time.Sleep(time.Minute)
	return 0
}

func (l *lab) inode(cmd Command) uint32 {
	l.t.Helper()
	_, out := l.speaking(cmd)
	n, err := strconv.ParseUint(l.line(out), 10, 32)
	if err != nil {
		l.t.Fatal(err)
	}
	return uint32(n)
}

// Of many sockets of the namespace, those that graced's processes have are found.
func TestHolders(t *testing.T) {
	asPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		one, two := l.inode(roleCommand("listen")), l.inode(roleCommand("listen"))
		if held, all := l.Holders([]uint32{one, two}); !held[one] || !held[two] || !all {
			t.Errorf("%v, %v; want both, and all", held, all)
		}
		// a stranger's is not found, and that is certain
		if held, all := l.Holders([]uint32{one, 1}); !held[one] || held[1] || len(held) != 1 || !all {
			t.Errorf("%v, %v; want %d, and all", held, all, one)
		}
		if held, all := l.Holders(nil); len(held) != 0 || !all {
			t.Errorf("%v, %v", held, all)
		}
	})
}

// A process whose descriptors cannot be read may have any socket that was not
// found, so it is not known that it is a stranger's.
func TestHoldersThatCannotBeRead(t *testing.T) {
	place{session: true, more: []string{fmt.Sprintf("drop=%d", unix.CAP_SYS_PTRACE)}}.run(t, func(t *testing.T) {
		l := newLab(t, Options{})
		open, hidden := l.inode(roleCommand("listen")), l.inode(roleCommand("listen", "hidden"))
		if held, all := l.Holders([]uint32{open, hidden}); !held[open] || held[hidden] || all {
			t.Errorf("%v, %v; want %d, and not all", held, all, open)
		}
		// where everything was found, nothing is left that it could have
		if held, all := l.Holders([]uint32{open}); !held[open] || !all {
			t.Errorf("%v, %v; want %d, and all", held, all, open)
		}
		_ = l.SignalAll(syscall.SIGKILL)
		l.none()
	})
}

func TestAProcessThatIsGoneHasNoSockets(t *testing.T) {
	if !sockets("/proc/0/fd", func(uint32) { t.Error("a socket") }) {
		t.Error("it counts as one that cannot be read")
	}
	if sockets(strings.Repeat("/x", 3000), nil) {
		t.Error("an error that says something else counts as gone")
	}
}
