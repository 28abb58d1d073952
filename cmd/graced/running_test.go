package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// waiting runs a file, which is this one or reads its standard input, until end
// is called.
func waiting(t *testing.T, path string, argv ...string) (pid int, end func()) {
	t.Helper()
	cmd := &exec.Cmd{Path: path, Args: argv, Env: append(os.Environ(), beHelper+"=wait")}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	// execve(2) closes descriptors, which is how Start knows that it went well,
	// a moment before the new command line can be read
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid)); len(data) > 0 {
			break
		}
	}
	return cmd.Process.Pid, func() {
		in.Close()
		_ = cmd.Wait()
	}
}

// TestRunningByItsFile: a process is graced if its file is this one, whatever it
// is called; its name counts where the file cannot be told.
func TestRunningByItsFile(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(filepath.Dir(self), "init") // a hard link stays on its file system
	if err := os.Link(self, link); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(link) })
	elsewhere := filepath.Join(t.TempDir(), "graced")
	own := filepath.Base(os.Args[0])
	for _, tt := range []struct {
		name, path, as string
		replaced       bool
		found          bool
	}{
		{"the same path by another name", self, "/sbin/init", false, true},
		{"a hard link", link, "/sbin/init", false, true},
		{"a copy", elsewhere, "/sbin/init", false, false},
		{"a file that was replaced since", elsewhere, "/elsewhere/" + own, true, true},
		{"another one that was replaced since", elsewhere, "/sbin/init", true, false},
		{"another program of the same name", "/bin/cat", own, false, false},
	} {
		if tt.path == elsewhere {
			if err := os.WriteFile(elsewhere, data, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		argv := []string{tt.as, "--", "x"}
		if tt.path == "/bin/cat" {
			argv = []string{tt.as, "--", "-"}
		}
		pid, end := waiting(t, tt.path, argv...)
		if tt.replaced {
			if err := os.Remove(elsewhere); err != nil {
				t.Error(err)
			}
		}
		got, ok := runningFlags(pid)
		if ok != tt.found || ok && !slices.Equal(got, argv[1:]) {
			t.Errorf("%s: %q, %t", tt.name, got, ok)
		}
		end()
		_ = os.Remove(elsewhere)
	}
}
