package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func openPTY(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		skipped(t, err.Error())
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		skipped(t, err.Error())
	}
	slave, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		skipped(t, err.Error())
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// terminalHelper says whether graced would hand its terminal on. If so, it gives
// the foreground to a group, takes it back, and says what is then.
func terminalHelper(args []string) int {
	if len(args) > 0 { // as a background job of this process
		pid, err := syscall.ForkExec("/proc/self/exe", []string{"helper"}, &syscall.ProcAttr{
			Env: os.Environ(), Files: []uintptr{0, 1, 2, 3}, Sys: &syscall.SysProcAttr{Setpgid: true},
		})
		if err != nil {
			say("%v", err)
			return 1
		}
		for {
			if _, err := syscall.Wait4(pid, nil, 0, nil); err != syscall.EINTR {
				return 0
			}
		}
	}
	term := findTerminal()
	say("held %v", term.held)
	if !term.held {
		term.giveBack() // which is nothing
		return 0
	}
	pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "60"}, &syscall.ProcAttr{
		Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Foreground: true, Ctty: 0},
	})
	if err != nil {
		say("%v", err)
		return 1
	}
	front, _ := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	say("child in front %v", front == pid)
	term.giveBack() // in the background: SIGTTOU must not stop this process
	front, _ = unix.IoctlGetInt(0, unix.TIOCGPGRP)
	status, _ := os.ReadFile("/proc/self/status")
	say("back %v masked %v", front == unix.Getpgrp(), !strings.Contains(string(status), "SigBlk:\t0000000000000000"))
	// once given back, it is never taken again
	_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, pid)
	term.giveBack()
	front, _ = unix.IoctlGetInt(0, unix.TIOCGPGRP)
	say("taken again %v", front != pid)
	_ = syscall.Kill(pid, syscall.SIGKILL)
	return 0
}

// The terminal is handed on where it is graced's own and graced is in front, as
// in docker run -it; and nowhere else.
func TestFindTerminalAndGiveBack(t *testing.T) {
	_, slave := openPTY(t)
	cmd, run := helper(t, "terminal")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if got, want := run(), "held true\nchild in front true\nback true masked false\ntaken again false\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}

	_, slave = openPTY(t)
	cmd, run = helper(t, "terminal", "in the background")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if got := run(); got != "held false\n" {
		t.Errorf("in the background: %q", got)
	}

	_, slave = openPTY(t)
	cmd, run = helper(t, "terminal")
	cmd.Stdin, cmd.SysProcAttr = slave, &syscall.SysProcAttr{Setsid: true}
	if got := run(); got != "held false\n" {
		t.Errorf("somebody else's terminal: %q", got)
	}

	_, run = helper(t, "terminal") // standard input is /dev/null
	if got := run(); got != "held false\n" {
		t.Errorf("no terminal: %q", got)
	}
}
