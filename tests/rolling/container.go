package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// container is one life of a server: an init, PID 1 of its own namespaces.
type container struct {
	cmd  *exec.Cmd
	log  string        // the file with its output
	done chan struct{} // closed once it has ended
}

// words are what a container's first stage has to know.
type words struct {
	Addr string
	Argv []string
}

// startContainer starts argv as PID 1 at the address of the index.
func startContainer(self string, index, generation int, argv []string, log string) (*container, error) {
	text, err := json.Marshal(words{containerAddr(index), argv})
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	// the end of this pipe tells the container that it has been plugged in
	wait, plugged, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer wait.Close()
	defer plugged.Close()
	c := &container{log: log, done: make(chan struct{})}
	c.cmd = exec.Command(self, string(text))
	c.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/root", stageVar + "=enter"}
	c.cmd.Stdout, c.cmd.Stderr = out, out
	c.cmd.ExtraFiles = []*os.File{wait}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC,
		Setsid:     true, // as a container has it
	}
	if err := startOwned(c.cmd); err != nil {
		return nil, err
	}
	go func() {
		_ = c.cmd.Wait() // how it ended is in the ProcessState
		close(c.done)
	}()
	if err := plug(c.cmd.Process.Pid, index, generation); err != nil {
		c.kill()
		return nil, err
	}
	return c, nil
}

// enter lays out a container from inside, and becomes its init.
func enter(text string) error {
	var w words
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return err
	}
	plugged := os.NewFile(3, "plugged")
	if _, err := io.ReadAll(plugged); err != nil {
		return err
	}
	plugged.Close()
	if err := errors.Join(
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("proc", "/proc", "proc", 0, ""),
		unix.Mount("tmpfs", "/run", "tmpfs", 0, "size=16m"),
	); err != nil {
		return fmt.Errorf("the container's mounts: %w", err)
	}
	if err := comeUp(w.Addr); err != nil {
		return err
	}
	path, err := exec.LookPath(w.Argv[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, w.Argv, []string{"PATH=" + os.Getenv("PATH"), "HOME=/root"})
}

func (c *container) signal(sig syscall.Signal) { _ = c.cmd.Process.Signal(sig) }

// stop does as the platform does: the stop signal, and SIGKILL once the grace
// is over. It tells whether that was needed.
func (c *container) stop(sig syscall.Signal, grace time.Duration) (killed bool) {
	c.signal(sig)
	select {
	case <-c.done:
		return false
	case <-time.After(grace):
		c.kill()
		return true
	}
}

func (c *container) kill() {
	c.signal(syscall.SIGKILL)
	<-c.done
}

// exit tells how it ended.
func (c *container) exit() string {
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return unix.SignalName(status.Signal())
	}
	return strconv.Itoa(c.cmd.ProcessState.ExitCode())
}
