package main

import (
	"os"
	"path/filepath"
	"testing"
)

// tightHelper says whether processes are tight where the first argument's folder
// is the control groups'.
func tightHelper(args []string) int {
	if err := bind(args[0], "/sys/fs/cgroup"); err != nil {
		say("cannot: %v", err)
		return 0
	}
	say("%v", tight())
	return 0
}

// Spare threads are a luxury where the container may have a handful of
// processes. What cannot be read is no limit.
func TestTight(t *testing.T) {
	for _, tt := range []struct {
		file, text string
		want       string
	}{
		{"pids.max", "15\n", "true\n"},
		{"pids.max", "16\n", "false\n"},
		{"pids.max", "max\n", "false\n"},
		{"pids.max", "", "false\n"},
		{"pids/pids.max", "10\n", "true\n"},
		{"pids/pids.max", "max\n", "false\n"},
		{"nothing", "", "false\n"},
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, tt.file)), 0o755); err != nil {
			t.Fatal(err)
		}
		writeTo(t, filepath.Join(dir, tt.file), tt.text)
		cmd, run := helper(t, "tight", dir)
		ownMounts(cmd)
		switch got := run(); {
		case len(got) > 6:
			skipped(t, got)
		case got != tt.want:
			t.Errorf("%s has %q: %q, want %q", tt.file, tt.text, got, tt.want)
		}
	}
}
