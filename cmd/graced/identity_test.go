package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"graced/reaper"
)

// program starts one and waits until it is executed and has begun.
func program(t *testing.T, argv ...string) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Stdin = os.Stdin
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if slices.Contains(argv, "sh") {
		_, _ = io.ReadFull(out, make([]byte, 1)) // it says something when it is ready
	}
	return cmd.Process.Pid
}

// A process is what its executable is, not what it calls itself.
func TestIdentify(t *testing.T) {
	id := identify(program(t, "sleep", "60"), true)
	if id.Exe != "sleep" || id.Comm != "sleep" || !id.Terminal {
		t.Errorf("%+v, want sleep", id)
	}
	// an upgrade has replaced the file under the running program
	file := filepath.Join(t.TempDir(), "nginx")
	if data, err := os.ReadFile("/bin/sleep"); err != nil || os.WriteFile(file, data, 0o755) != nil {
		t.Fatal(err)
	}
	pid := program(t, file, "60")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if id := identify(pid, false); id.Exe != "nginx" || id.Terminal {
		t.Errorf("%+v, want nginx", id)
	}
	if id := identify(1<<22+1, false); id.Exe != "" || id.Comm != "" || id.Title != nil {
		t.Errorf("nobody is %+v", id)
	}
}

// What is left behind is described with the signals that it ignores.
func TestLeftover(t *testing.T) {
	pid := program(t, "sh", "-c", "trap '' HUP TERM; echo; read x; read y < /dev/zero")
	got := leftover(reaper.Descendant{PID: pid, Start: 7, Comm: "sh"})
	if want := uint64(1<<(syscall.SIGHUP-1) | 1<<(syscall.SIGTERM-1)); got.Ignores != want || got.PID != pid || got.Start != 7 || got.Name != "sh" || got.ID.Comm != "sh" {
		t.Errorf("%+v, want %#x ignored", got, want)
	}
	if got := ignores(1<<22 + 1); got != 0 {
		t.Errorf("nobody ignores %#x", got)
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"nginx\x00-g\x00daemon off;\x00":  {"nginx", "-g", "daemon off;"},
		"unicorn master -c x\x00\x00\x00": {"unicorn master -c x"},
		"sh\x00\x00-c\x00":                {"sh", "", "-c"},
		"":                                nil,
		"\x00\x00":                        nil,
	} {
		if got := words([]byte(text)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A command line is in its process's memory, which can be on a dead file server.
// Reading it is given up soon, and does not take a thread for each process.
func TestTitleThatHangs(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "cmdline") // to open one for reading waits for a writer
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	if got := title(fifo); got != nil {
		t.Errorf("it was read: %q", got)
	}
	for range 100 {
		if got := title("/proc/self/cmdline"); got != nil {
			t.Errorf("read beside one that hangs: %q", got)
		}
	}
	if took := time.Since(before); took > 20*titleWithin {
		t.Errorf("it took %v, a hundred times the time for one", took)
	}
	writer, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	writer.Close()
	for end := time.Now().Add(20 * time.Second); ; {
		if got := title("/proc/self/cmdline"); slices.Equal(got, os.Args) {
			break
		} else if time.Now().After(end) {
			t.Fatalf("when it hangs no more: %q", got)
		}
	}
}

// A running graced is known by its command line: one that runs a program, not
// one that asks or explains.
func TestRunningFlags(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want []string // nil: it is none
	}{
		{[]string{"--", "web", ""}, []string{"--", "web"}},
		{[]string{"--listen", ":9", "--", "web"}, []string{"--listen", ":9", "--", "web"}},
		{[]string{"run", "--listen", ":9"}, []string{"--listen", ":9"}},
		{[]string{"run"}, []string{}},
		{[]string{"health"}, nil},
		{[]string{"plan", "--", "web"}, nil},
		{nil, []string{}}, // by a file that says all
	} {
		argv := append([]string{"/elsewhere/" + filepath.Base(os.Args[0])}, tt.args...)
		pid, end := waiting(t, "/proc/self/exe", argv...)
		got, ok := runningFlags(pid)
		if ok != (tt.want != nil) || ok && !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, %v; want %q", tt.args, got, ok, tt.want)
		}
		end()
	}
	if _, ok := runningFlags(program(t, "sleep", "60")); ok {
		t.Error("another program is one")
	}
	if _, ok := runningFlags(1<<22 + 1); ok {
		t.Error("nobody is one")
	}
}
