package docker_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a person's: the near end of a pseudo terminal whose far end is
// what docker run -it sits at.
type terminal struct {
	t    *testing.T
	near *os.File
	far  *os.File

	mu   sync.Mutex
	got  []byte
	read int // what expect has consumed
}

// openTerminal puts cmd at a new terminal of 80 columns and 24 lines.
func openTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	t.Helper()
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		skip(t, err.Error())
	}
	t.Cleanup(func() { near.Close() })
	var number int
	conn, err := near.SyscallConn()
	if err == nil {
		err = errors.Join(conn.Control(func(fd uintptr) {
			err = errors.Join(unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0))
			number, _ = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}), err)
	}
	if err != nil {
		t.Fatal(err)
	}
	far, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = far, far, far
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	term := &terminal{t: t, near: near, far: far}
	term.resize(80, 24)
	return term
}

// begin reads what comes, once the far end is another process's.
func (term *terminal) begin(reading *sync.WaitGroup) {
	term.far.Close()
	reading.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := term.near.Read(buf)
			term.mu.Lock()
			term.got = append(term.got, buf[:n]...)
			term.mu.Unlock()
			if err != nil { // EIO: nobody is at the far end any more
				return
			}
		}
	})
}

// resize is what a window manager does; who is at the terminal gets SIGWINCH.
func (term *terminal) resize(columns, rows uint16) {
	term.t.Helper()
	conn, err := term.near.SyscallConn()
	if err != nil {
		term.t.Fatal(err)
	}
	_ = conn.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows})
	})
	if err != nil {
		term.t.Fatal(err)
	}
}

// types types.
func (term *terminal) types(keys string) {
	term.t.Helper()
	if _, err := term.near.WriteString(keys); err != nil {
		term.t.Fatal(err)
	}
}

const (
	ctrlC = "\x03"
	ctrlZ = "\x1a"
)

// expect waits until what was not yet expected matches, and gives the groups.
func (term *terminal) expect(pattern string) []string {
	term.t.Helper()
	re := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		term.mu.Lock()
		rest := string(term.got[term.read:])
		if at := re.FindStringIndex(rest); at != nil {
			term.read += at[1]
			term.mu.Unlock()
			return re.FindStringSubmatch(rest)
		}
		term.mu.Unlock()
		if time.Now().After(deadline) {
			term.t.Fatalf("the terminal does not show %q after:\n%s", pattern, rest)
		}
	}
}

// text is all that was shown.
func (term *terminal) text() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return strings.ReplaceAll(string(term.got), "\r\n", "\n")
}
