package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestReadRegular: what is no regular file is refused at once.
func TestReadRegular(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	big, err := os.Create(at("big"))
	if err != nil {
		t.Fatal(err)
	}
	if err := big.Truncate(10_000_000); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", at("loop")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("locked"), []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir:          "it is a folder",
		at("fifo"):   "it is a named pipe",
		at("big"):    "it has 10000000 bytes; the most is 1048576 (1 MiB)",
		at("none"):   "no such file",
		at("loop"):   "too many levels",
		at("a\x00b"): "invalid argument",
		"/dev/zero":  "it is a device",
		"/dev/null":  "it is a device",
		"":           "no such file",
	} {
		start := time.Now()
		data, err := ReadRegular(path)
		if err == nil || !strings.Contains(err.Error(), want) || time.Since(start) > time.Second {
			t.Errorf("%q is %d bytes, %v in %v; want %q", path, len(data), err, time.Since(start), want)
		}
		if _, p := Load(Input{Args: []string{"--config", path, "--", "x"}, PID: 1}); p == nil || p.Len() != 1 {
			t.Errorf("--config %q: %v", path, p)
		}
	}
	if _, err := ReadRegular(at("locked")); os.Getuid() != 0 && err == nil {
		t.Error("an unreadable file is read")
	}
	if data, err := ReadRegular("/proc/self/status"); err != nil || len(data) == 0 {
		t.Errorf("a file that says it has 0 bytes is read as %q, %v", data, err)
	}
}

// TestLineEnds: CRLF and a byte order mark change nothing.
func TestLineEnds(t *testing.T) {
	for name, text := range map[string]string{"graced.hcl": fileForAll, "graced.conf": `{"grace": "41s", "process": {"web": {"command": ["nginx"]}}}`} {
		for _, variant := range []string{text, "\ufeff" + text, strings.ReplaceAll(text, "\n", "\r\n"), "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")} {
			c := load(t, named(name, variant))
			if c.Spec.Grace.V != 41*time.Second || c.Spec.Processes[0].Command[0] != "nginx" {
				t.Errorf("%.20q is read as %+v", variant, c.Spec)
			}
			line := strings.Split(variant, "\n")[c.Spec.Grace.From.Line-1]
			if got := variant[c.Spec.Grace.From.Start:c.Spec.Grace.From.End]; got != `"41s"` || !strings.Contains(line, got) {
				t.Errorf("the grace is said to be %q in %q", got, line)
			}
		}
	}
}
