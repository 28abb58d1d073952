package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal, as `docker run -it` gives one.
type terminal struct {
	fd            int // the master's: File.Fd would make it block, and then Close waits
	master, slave *os.File
	screen        *stream // what is shown
}

func newTerminal(t testing.TB) *terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		skip(t, "there are no pseudo-terminals here: "+err.Error())
	}
	master := os.NewFile(uintptr(fd), "ptmx")
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	tty := &terminal{fd, master, slave, new(stream)}
	go tty.screen.readFrom(master) // it ends when the last one closes the slave, or the test does
	t.Cleanup(func() { slave.Close(); master.Close() })
	return tty
}

// types presses keys: "^C", "^Z", "^D", "^\\" or text.
func (tty *terminal) types(t testing.TB, keys string) {
	t.Helper()
	if len(keys) == 2 && keys[0] == '^' {
		keys = string(keys[1] & 0x1f)
	}
	if _, err := tty.master.WriteString(keys); err != nil {
		t.Fatalf("cannot type %q: %v", keys, err)
	}
}

// resize changes the window.
func (tty *terminal) resize(t testing.TB, rows, columns uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(tty.fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		t.Fatal(err)
	}
}

// A program in a terminal is in its foreground: it may set modes and read, and
// one Ctrl-C is one SIGINT, not one by the terminal and one passed on.
func TestTerminalCtrlCReachesTheProgramOnce(t *testing.T) {
	t.Parallel()
	sandbox(t)
	tty := newTerminal(t)
	r := setup{tty: tty}.start(t, "graced", "--", "tty_child", "1.5")
	r.prints(t, "mode set", 10*time.Second)
	r.prints(t, "foreground true", time.Second)
	tty.types(t, "hello\n")
	r.prints(t, `line "hello`, 5*time.Second)
	tty.types(t, "^C")
	r.prints(t, "interrupt 1", 5*time.Second)
	r.exits(t, 31, 10*time.Second)
}

// A signal by kill(1) comes once too. SIGINT is a stop signal: the program
// gets it as its stop.
func TestTerminalInterruptFromOutsideComesOnce(t *testing.T) {
	t.Parallel()
	sandbox(t)
	tty := newTerminal(t)
	r := setup{tty: tty}.start(t, "graced", "--", "tty_child", "1.5")
	r.prints(t, "mode set", 10*time.Second)
	tty.types(t, "hello\n")
	r.prints(t, `line "hello`, 5*time.Second)
	r.signal(t, unix.SIGINT)
	r.exits(t, 31, 10*time.Second)
}

// PID 1 has no shell to go back to: a program that Ctrl-Z stops would hang the
// container, so it is continued.
func TestTerminalCtrlZDoesNotHang(t *testing.T) {
	t.Parallel()
	sandbox(t)
	tty := newTerminal(t)
	r := setup{tty: tty}.start(t, "graced", "--", "tty_child", "1.5")
	r.prints(t, "mode set", 10*time.Second)
	tty.types(t, "hello\n")
	r.prints(t, `line "hello`, 5*time.Second)
	tty.types(t, "^Z")
	r.prints(t, "continued", 5*time.Second)
	r.exits(t, 30, 10*time.Second)
}

// A new window size reaches the program that holds the terminal.
func TestTerminalResizeArrives(t *testing.T) {
	t.Parallel()
	sandbox(t)
	tty := newTerminal(t)
	r := setup{tty: tty}.start(t, "graced", "--", "tty_child", "1.5")
	r.prints(t, "mode set", 10*time.Second)
	tty.types(t, "hello\n")
	r.prints(t, `line "hello`, 5*time.Second)
	tty.resize(t, 40, 100)
	r.prints(t, "resized", 5*time.Second)
	r.exits(t, 30, 10*time.Second)
}

// While the program holds the terminal graced is in its background, and may
// write there nevertheless: with TOSTOP set the kernel would stop whoever does.
// After the program's end it takes the terminal back without being stopped.
func TestTerminalIsWrittenToFromTheBackground(t *testing.T) {
	t.Parallel()
	sandbox(t)
	tty := newTerminal(t)
	mode, err := unix.IoctlGetTermios(tty.fd, unix.TCGETS)
	if err == nil {
		mode.Lflag |= unix.TOSTOP
		err = unix.IoctlSetTermios(tty.fd, unix.TCSETS, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := setup{tty: tty}.start(t, "graced", "--log-level", "debug", "--log-format", "text", "--", "tty_child", "1")
	r.prints(t, "mode set", 10*time.Second)
	tty.types(t, "hello\n")
	r.prints(t, `line "hello`, 5*time.Second)
	r.signal(t, unix.SIGWINCH)
	r.prints(t, "event=forward .*signal=SIGWINCH", 5*time.Second)
	r.prints(t, "resized", 5*time.Second)
	r.exits(t, 30, 10*time.Second)
}

// `docker run -it … bash`, and then `docker stop`: an interactive shell
// ignores SIGTERM, so it gets SIGHUP.
func TestTerminalStopOfAShellIsQuick(t *testing.T) {
	t.Parallel()
	sandbox(t)
	need(t, "bash")
	tty := newTerminal(t)
	r := setup{tty: tty}.start(t, "graced", "--", "bash", "--norc", "-i")
	tty.types(t, "echo here=$((40+2))\n")
	r.prints(t, "here=42", 10*time.Second)
	tty.types(t, "sleep 50 & jobs\n")
	r.prints(t, `\[1\]\+ +Running`, 5*time.Second)
	stopped := r.signal(t, unix.SIGTERM)
	r.exits(t, 128+int(unix.SIGHUP), 5*time.Second)
	if took := r.ended.Sub(stopped); took > 500*time.Millisecond {
		t.Errorf("it took %v, want under 0.5s", took)
	}
}

// So is a stop of what a script has started a shell in: the shell is left behind,
// and ignores SIGTERM as every interactive one does.
func TestTerminalStopOfAShellInAScriptIsQuick(t *testing.T) {
	t.Parallel()
	sandbox(t)
	need(t, "bash")
	tty := newTerminal(t)
	r := setup{tty: tty}.start(t, "graced", "--", "sh", "-c", "bash --norc -i; echo cleanup")
	tty.types(t, "echo here=$((40+2))\n")
	r.prints(t, "here=42", 10*time.Second)
	stopped := r.signal(t, unix.SIGTERM)
	r.exits(t, 128+int(unix.SIGTERM), 5*time.Second)
	if took := r.ended.Sub(stopped); took > time.Second {
		t.Errorf("it took %v", took)
	}
}

// Job control works: Ctrl-C ends the shell's foreground job and not the shell.
func TestTerminalJobControl(t *testing.T) {
	t.Parallel()
	sandbox(t)
	need(t, "bash")
	tty := newTerminal(t)
	r := setup{tty: tty}.start(t, "graced", "--", "bash", "--norc", "-i")
	tty.types(t, "echo here=$((40+2))\n")
	r.prints(t, "here=42", 10*time.Second)
	if r.stdout.count("no job control") > 0 {
		t.Error("the shell has no job control")
	}
	tty.types(t, "sleep 50; echo code=$?\n")
	if !eventually(5*time.Second, func() bool {
		shell := childrenOf(r.pid)
		return len(shell) == 1 && slices.ContainsFunc(childrenOf(shell[0]), sleepsInForeground)
	}) {
		t.Fatal("the job does not run in the foreground")
	}
	tty.types(t, "^C")
	// what is typed before the shell's next prompt may be thrown away
	if !eventually(10*time.Second, func() bool {
		tty.types(t, "echo after=$((1+1))\n")
		_, ok := r.stdout.match("after=2", time.Second)
		return ok
	}) {
		t.Fatal("the shell does not go on")
	}
	if !eventually(10*time.Second, func() bool {
		if !r.over() {
			tty.types(t, "exit 7\n")
		}
		return eventually(time.Second, r.over)
	}) {
		t.Fatal("the shell does not end")
	}
	r.exits(t, 7, time.Second)
}

// A program at a terminal is in the state that it would be in without graced, and
// is in the foreground.
func TestTerminalStateOfTheProgram(t *testing.T) {
	t.Parallel()
	sandbox(t)
	states := map[string]map[string]string{}
	for _, init := range []string{"", "graced"} {
		tty := newTerminal(t)
		argv := []string{which(t, "probe_state")}
		if init != "" {
			argv = append([]string{init, "--"}, argv...)
		}
		r := setup{tty: tty}.start(t, argv...)
		r.exits(t, 0, 10*time.Second)
		if _, ok := tty.screen.match("^env .*\n", 5*time.Second); !ok {
			t.Fatalf("it does not say all: %q", tty.screen.text())
		}
		states[init] = parseState(tty.screen.text())
	}
	for name, want := range map[string]string{"blocked": "", "ignored": "", "terminal": "foreground", "group": "own", "session": "inherited", "pdeathsig": "0", "subreaper": "0"} {
		if got := states["graced"][name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	// each terminal is another one
	number := regexp.MustCompile(`ino=.*`)
	for name, want := range states[""] {
		if slices.Contains([]string{"group", "session", "pdeathsig"}, name) {
			continue
		}
		if got := states["graced"][name]; number.ReplaceAllString(got, "") != number.ReplaceAllString(want, "") {
			t.Errorf("%s: %s without graced, %s under it", name, shownState(want), shownState(got))
		}
	}
}

// sleepsInForeground says whether a process has become sleep, until when its shell
// may swallow a Ctrl-C, and its group has the foreground of its terminal: comm, pgrp
// and tpgid of proc_pid_stat(5).
func sleepsInForeground(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return strings.Contains(string(stat), "(sleep)") && fields[2] == fields[5]
}

// Where the terminal hangs up (the person's connection is cut), the program is
// told, and continued if it was stopped.
func TestTerminalHangUpIsPassedOn(t *testing.T) {
	t.Parallel()
	sandbox(t)
	tty := newTerminal(t)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	told := new(stream)
	go told.readFrom(out)
	r := setup{tty: tty, extra: []*os.File{in}}.start(t, "graced", "--", "sh", "-c", "exec sig_logger 1 1 20 >&4")
	in.Close()
	if _, ok := told.match("ready", 10*time.Second); !ok {
		t.Fatal("the program does not run")
	}
	tty.slave.Close()
	tty.master.Close()
	r.exits(t, 0, 10*time.Second)
	if _, ok := told.match("sig 1 from", time.Second); !ok {
		t.Errorf("no SIGHUP:\n%s", told.text())
	}
}

// One that is stopped as well: without a SIGCONT it would stay for ever, as its
// SIGHUP waits until then.
func TestTerminalHangUpOfAStoppedProgram(t *testing.T) {
	t.Parallel()
	sandbox(t)
	tty := newTerminal(t)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	told := new(stream)
	go told.readFrom(out)
	r := setup{tty: tty, extra: []*os.File{in}}.start(t, "graced", "--", "sh", "-c", "exec stop_self stop default >&4")
	in.Close()
	if !eventually(10*time.Second, func() bool {
		program := childrenOf(r.pid)
		if len(program) != 1 {
			return false
		}
		stat, _ := os.ReadFile(filepath.Join("/proc", fmt.Sprint(program[0]), "stat"))
		return strings.Contains(string(stat), "(stop_self) T ")
	}) {
		t.Fatalf("the program is not stopped:\n%s", told.text())
	}
	tty.slave.Close()
	tty.master.Close()
	r.exits(t, 128+int(unix.SIGHUP), 10*time.Second)
}
