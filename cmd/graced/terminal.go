package main

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// terminal is the terminal on standard input, if it is graced's own.
type terminal struct {
	held  bool // the main process's group was given the foreground
	group int  // graced's own group
}

// findTerminal says whether standard input is graced's controlling terminal
// and graced's group is in its foreground: only then may it be handed on.
// TIOCGPGRP fails on any other terminal; ioctl_tty(2).
func findTerminal() terminal {
	front, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	group := unix.Getpgrp()
	return terminal{held: err == nil && front == group, group: group}
}

// giveBack makes graced's group the foreground again, so that what graced
// writes last, and a shell that waits for it, have the terminal. A process in
// the background that asks for that gets SIGTTOU, unless its thread blocks it.
func (t *terminal) giveBack() {
	if !t.held {
		return
	}
	t.held = false
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var block, old unix.Sigset_t
	block.Val[(unix.SIGTTOU-1)/64] |= 1 << ((unix.SIGTTOU - 1) % 64)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &block, &old); err != nil {
		return
	}
	_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, t.group) // it fails where the terminal hung up
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
}
