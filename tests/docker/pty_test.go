package docker_test

import (
	"strings"
	"testing"
	"time"
)

// A bash at a terminal has job control: Ctrl-C ends the job in front and not
// the shell, Ctrl-Z suspends it, and fg brings it back.
func TestTerminalJobControl(t *testing.T) {
	mounts := userland(t, "/bin/bash")
	inDocker(t, 1)
	c := start(t, spec{pty: true, docker: append(mounts, "--env", "TERM=dumb"), cmd: []string{"/bin/bash", "--norc", "--noprofile"}})
	c.term.types("PS1='ready> '\n")
	c.term.expect(`\r\nready> `)

	c.term.types("/app serve\n")
	c.term.expect(`up pid=`)
	c.term.types(ctrlC)
	c.term.expect(`signal SIGINT`)
	c.term.expect(`ready> `)

	c.term.types("sleep 100\n")
	c.term.expect(`sleep 100\r\n`)
	time.Sleep(300 * time.Millisecond) // until it is in front
	c.term.types(ctrlZ)
	c.term.expect(`Stopped`)
	c.term.expect(`ready> `)
	c.term.types("jobs\n")
	c.term.expect(`Stopped +sleep 100`)
	c.term.types("fg\n")
	c.term.expect(`fg\r\nsleep 100`)
	time.Sleep(300 * time.Millisecond)
	c.term.types(ctrlC)
	c.term.expect(`ready> `)
	c.term.types("echo code $?\n")
	c.term.expect(`code 130`)

	c.term.types("exit 3\n")
	c.ends(3)
	if text := c.term.text(); strings.Contains(text, "no job control") || strings.Contains(text, "event=") {
		t.Errorf("somebody complains")
	}
}

// One Ctrl-C is one SIGINT for a program that holds the terminal, and none for
// graced. Ctrl-Z would stop it for ever, as there is no shell to go back to, so
// it is continued. A new size of the window arrives, and stops nothing.
func TestTerminalKeys(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{pty: true, cmd: []string{"/app", "serve", "-deaf"}})
	c.term.expect(`up pid=`)

	c.term.resize(111, 44)
	c.term.expect(`signal SIGWINCH 111x44`)

	for range 2 {
		c.term.types(ctrlC)
		c.term.expect(`signal SIGINT`)
	}
	c.term.types(ctrlZ)
	c.term.expect(`signal SIGTSTP`)
	time.Sleep(300 * time.Millisecond) // for what should not come
	if n := strings.Count(c.term.text(), "signal SIGINT"); n != 2 {
		t.Errorf("two Ctrl-C were %d SIGINT", n)
	}
	if strings.Contains(c.term.text(), "shutdown") {
		t.Error("a key started the shutdown")
	}
}

// A program without a handler is stopped by Ctrl-Z, and goes on.
func TestTerminalSuspend(t *testing.T) {
	mounts := userland(t, "/bin/sh", "/bin/cat")
	inDocker(t, 1)
	c := start(t, spec{pty: true, docker: mounts, cmd: []string{"/bin/cat"}})
	c.term.types("one\n")
	c.term.expect(`one\r\none\r\n`)
	c.term.types(ctrlZ)
	c.term.expect(`\^Z`)
	c.term.types("two\n")
	c.term.expect(`two\r\ntwo\r\n`)
	c.term.types(ctrlC)
	c.ends(130)
}

// docker stop of a program at a terminal is as any other, and graced's log is on
// the terminal, as text.
func TestTerminalStop(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{pty: true, cmd: []string{"/app", "serve", "-code", "7"}})
	c.term.expect(`up pid=`)
	c.stop()
	c.term.expect(`signal SIGTERM`)
	c.term.expect(`event=shutdown_end code=7`)
	c.ends(7)
}

// A terminal is handed over to the user that --user names, who may open it
// anew.
func TestTerminalOfUser(t *testing.T) {
	inDocker(t, 1)
	c := start(t, spec{pty: true, flags: []string{"--user", "65532"}, cmd: []string{"/app", "state"}})
	c.term.expect(`uid=65532`)
	c.term.expect(`open /dev/stdout: <nil>`)
	c.term.expect(`open /dev/stderr: <nil>`)
	c.term.expect(`SigBlk: 0{16}`)
	c.term.expect(`SigIgn: 0{16}`)
	c.ends(0)
}
