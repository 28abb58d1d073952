package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// beHelper names what the test binary is to be where only a process of its own
// will do that has other descriptors, mounts or a terminal.
const beHelper = "BE_HELPER"

// helpers say what they find on descriptor 3.
var helpers = map[string]func(args []string) int{
	"account":  accountHelper,
	"hand":     handHelper,
	"stderr":   stderrHelper,
	"crash":    crashHelper,
	"terminal": terminalHelper,
	"tight":    tightHelper,
	"wait":     func([]string) int { _, _ = io.Copy(io.Discard, os.Stdin); return 0 },
}

var said = os.NewFile(3, "said")

func say(format string, args ...any) { fmt.Fprintf(said, format+"\n", args...) }

// helper is the command that runs one, and gives what it says.
func helper(t *testing.T, name string, args ...string) (*exec.Cmd, func() string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), beHelper+"="+name, "GORACE=atexit_sleep_ms=0")
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{w}
	t.Cleanup(func() { out.Close() })
	return cmd, func() string {
		t.Helper()
		err := cmd.Start()
		w.Close()
		if err != nil {
			skipped(t, err.Error())
		}
		timer := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
		text := make([]byte, 0, 4096)
		for buf := make([]byte, 4096); ; {
			n, err := out.Read(buf)
			text = append(text, buf[:n]...)
			if err != nil {
				break
			}
		}
		if err := cmd.Wait(); err != nil || !timer.Stop() {
			t.Fatalf("%s: %v, it said %q", name, err, text)
		}
		return string(text)
	}
}

// ownMounts gives a command mounts of its own.
func ownMounts(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
}

// bind shows dir in the place of at, to this process only.
func bind(dir, at string) error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	return unix.Mount(dir, at, "", unix.MS_BIND, "")
}

// skipped ends a test that cannot run here; where nothing may be skipped, it fails.
func skipped(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("GRACED_TEST_NO_SKIP") == "1" {
		t.Fatal("cannot be tested here, and GRACED_TEST_NO_SKIP=1: " + why)
	}
	t.Skip("SKIPPED: " + why)
}
