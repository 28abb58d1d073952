package docker_test

import (
	"encoding/json"
	"os"
	"syscall"
	"testing"
)

// The report in a termination log: the first at the shutdown's start, for whoever
// is killed before its end, the last one with the code. It stays the same file,
// since it is a mount, and short enough that the kubelet keeps all of it.
func TestReport(t *testing.T) {
	inDocker(t, 1)
	flags, log := kubernetes(t)
	before := inode(t, log)
	c := start(t, spec{docker: flags, flags: []string{"--delay", "0s"}, cmd: []string{"/app", "serve", "-clean", "2s", "-code", "9"}})
	c.hears("up")
	c.kill("TERM")
	c.hears("signal SIGTERM")
	early := report(t, log)
	if early["done"] != false {
		t.Errorf("the report in the middle of the shutdown is %v", early)
	}
	c.ends(9)
	late := report(t, log)
	if late["done"] != true || late["code"] != 9.0 || late["cause"] != "SIGTERM" || late["grace_seconds"] != 30.0 {
		t.Errorf("the last report is %v", late)
	}
	if inode(t, log) != before {
		t.Error("the termination log is another file now")
	}
}

// Killed by the platform in the middle of its shutdown, a container has told
// at least that it was shutting down.
func TestReportOfKilled(t *testing.T) {
	inDocker(t, 1)
	flags, log := kubernetes(t)
	c := start(t, spec{docker: flags, cmd: []string{"/app", "serve", "-deaf"}})
	c.hears("up")
	c.kill("TERM")
	c.hears("signal SIGTERM")
	c.kill("KILL")
	c.ends(137)
	if got := report(t, log); got["done"] != false || got["cause"] != "SIGTERM" {
		t.Errorf("the report is %v", got)
	}
}

// A message that the program left there is the program's.
func TestReportKeepsProgramsMessage(t *testing.T) {
	inDocker(t, 1)
	flags, log := kubernetes(t)
	c := start(t, spec{docker: flags, flags: []string{"--delay", "0s"}, cmd: []string{"/app", "serve"}})
	c.hears("up")
	write(t, "", log, "out of cheese\n")
	c.stop("--time", "20")
	c.ends(0)
	if text := read(t, log); text != "out of cheese\n" {
		t.Errorf("the termination log has %q", text)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func report(t *testing.T, path string) (fields map[string]any) {
	t.Helper()
	var text string
	eventually(t, "there is a whole report", func() bool {
		text = read(t, path)
		return json.Unmarshal([]byte(text), &fields) == nil
	})
	if len(text) >= 4096 {
		t.Errorf("the report has %d bytes; the kubelet keeps the last 4096", len(text))
	}
	return fields
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}
