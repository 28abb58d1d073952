package record

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A termination log: an empty file that the platform made.
func terminationLog(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "termination-log")
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil { // whatever the umask
		t.Fatal(err)
	}
	return path
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// At t0 and at the exit, into the same file: a bind mount is not replaced.
func TestWriteReportTwice(t *testing.T) {
	path := terminationLog(t, "")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	long, short := sampleReport(), Report{Cause: "SIGTERM", Done: true}
	for _, r := range []Report{short, long, short, long} {
		if err := WriteReport(path, false, r); err != nil {
			t.Fatal(err)
		}
		if got, want := content(t, path), string(r.JSON())+"\n"; got != want {
			t.Errorf("got %q\nwant %q", got, want)
		}
	}
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was replaced (%v)", err)
	}
}

func TestWriteReportKeepsAnothersMessage(t *testing.T) {
	own := string(sampleReport().JSON())
	for _, message := range []string{
		"panic: database is down\n",
		" ",
		"\x00",
		`{"error":"database is down"}`,
		own + "\npanic: database is down\n", // appended to a report
		own[:len(own)-20],
		own + strings.Repeat(" ", 5000),
		strings.Repeat("x", 1<<20),
	} {
		path := terminationLog(t, message)
		err := WriteReport(path, true, Report{Cause: "SIGTERM"})
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "did not write") {
			t.Errorf("%.40q: error %v", message, err)
		}
		if got := content(t, path); got != message {
			t.Errorf("%.40q became %.40q", message, got)
		}
	}
}

func TestWriteReportCreates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	err := WriteReport(path, false, sampleReport())
	if err == nil || !strings.Contains(err.Error(), "--report") {
		t.Errorf("a file that is not there: error %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it was created all the same")
	}
	if err := WriteReport(path, true, sampleReport()); err != nil {
		t.Error(err)
	}
	if got, want := content(t, path), string(sampleReport().JSON())+"\n"; got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if err := WriteReport(filepath.Join(path, "below-a-file"), true, Report{}); err == nil {
		t.Error("no error for a path below a file")
	}
	if err := WriteReport(filepath.Join(t.TempDir(), "no", "folder"), true, Report{}); err == nil {
		t.Error("no error for a folder that is not there")
	}
}

// None of these may hang, and none may be written to.
func TestWriteReportOnlyToRegularFiles(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(fifo, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, link, dir, "/dev/null", "/dev/zero"} {
		within(t, patience/2, "WriteReport to "+path, func() {
			err := WriteReport(path, true, sampleReport())
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "no regular file") {
				t.Errorf("%q: error %v", path, err)
			}
		})
	}
	if err := WriteReport("", true, Report{}); err == nil {
		t.Error("no error for no path")
	}
}

// stderr is a file: a report would be written over the log.
func TestWriteReportNotOverOwnOutput(t *testing.T) {
	path := terminationLog(t, "")
	out, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	for _, target := range []string{path, "/dev/stderr", "/proc/self/fd/2"} {
		cmd := helper(t, "report", target)
		cmd.Stderr = out
		said, err := cmd.Output()
		if err == nil || !strings.Contains(string(said), "own output") {
			t.Errorf("%s: %v, %q", target, err, said)
		}
	}
	// The control: with its stderr elsewhere it writes.
	if said, err := helper(t, "report", path).Output(); err != nil {
		t.Errorf("%v, %s", err, said)
	}
}

// As in a pod with a read-only root and a user of its own: the folder cannot
// be written, the file can.
func TestWriteReportAsAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	path := terminationLog(t, "")
	for dir := filepath.Dir(path); dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	run := func() (string, error) {
		cmd := helper(t, "report", path)
		// The test binary's own folder may be closed to others.
		exe, err := os.Open("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		defer exe.Close()
		cmd.ExtraFiles = []*os.File{exe}
		cmd.Path = "/proc/self/fd/3"
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		out, err := cmd.Output()
		return string(out), err
	}
	if out, err := run(); err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	if !strings.HasPrefix(content(t, path), reportMark) {
		t.Errorf("got %q", content(t, path))
	}
	// The control: a file of root's.
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := run(); err == nil || !strings.Contains(out, "permission denied") {
		t.Errorf("%v, %q", err, out)
	}
}

// The platform's SIGKILL can come while the last report is written. What the
// kubelet then reads is one report or the other, whole.
func TestWriteReportKilled(t *testing.T) {
	path := terminationLog(t, "")
	if err := WriteReport(path, false, sampleReport()); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]int)
	for i := range 40 {
		cmd := helper(t, "reports", path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, _ = out.Read(make([]byte, 1)) // it has begun
		time.Sleep(time.Duration(i*37) * time.Microsecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		got := content(t, path)
		if !isReport([]byte(got)) {
			t.Fatalf("left behind: %q", got)
		}
		seen[got]++
	}
	if len(seen) < 2 {
		t.Logf("it was always killed at the same point: %v", seen)
	}
}
