package record

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// graced is in the background of a terminal whose owner asked, by TOSTOP, that
// nobody writes from there. The log's line comes out; a plain write, the
// control, fails with EIO.
func TestLogFromTheBackgroundOfATerminal(t *testing.T) {
	master, tty := openPTY(t)
	cmd := helper(t, "background")
	cmd.Stdin, cmd.Stderr = tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if want := "closed true dropped 0 plain input/output error\n"; string(out) != want {
		t.Fatalf("got %q, want %q", out, want)
	}
	buf := make([]byte, 4096)
	n, _ := master.Read(buf)
	if got := string(buf[:n]); !strings.Contains(got, "from the background") || strings.Contains(got, "plainly") {
		t.Errorf("the terminal shows %q", got)
	}
}

func openPTY(t *testing.T) (master, tty *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skip(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip(err)
	}
	tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { tty.Close() })
	return master, tty
}

// backgroundHelper is a session leader in the background of its terminal,
// which has TOSTOP. It writes to it as the log does, and then plainly. What
// came of that it says on stdout.
func backgroundHelper() int {
	const tty = 2
	term, err := unix.IoctlGetTermios(tty, unix.TCGETS)
	if err != nil {
		return 10
	}
	term.Lflag |= unix.TOSTOP
	if err := unix.IoctlSetTermios(tty, unix.TCSETS, term); err != nil {
		return 11
	}
	// Somebody else has the foreground.
	front := exec.Command("/proc/self/exe")
	front.Env = append(os.Environ(), helperVar+"=wait")
	held, hold, err := os.Pipe()
	if err != nil {
		return 12
	}
	front.Stdin, front.Stderr = held, os.Stderr
	front.SysProcAttr = &syscall.SysProcAttr{Foreground: true, Ctty: tty}
	if err := front.Start(); err != nil {
		return 13
	}
	l := NewLog(tty, Text, 0)
	l.Emit(Event{Msg: "from the background", Kind: Start, Offset: Before})
	ok := l.Close(5 * time.Second)
	_, err = unix.Write(tty, []byte("plainly\n"))
	fmt.Printf("closed %v dropped %d plain %v\n", ok, l.Dropped(), err)
	hold.Close()
	_ = front.Wait()
	return 0
}
