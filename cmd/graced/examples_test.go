package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamples: each file of examples/ is right and fits, and what check and plan
// say of it is as it was.
func TestExamples(t *testing.T) {
	t.Chdir("../../examples")
	files, err := filepath.Glob("*.hcl")
	if err != nil || len(files) < 6 {
		t.Fatalf("the examples are %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			args := []string{"--config", file}
			if src, err := os.ReadFile(file); err != nil {
				t.Fatal(err)
			} else if !strings.Contains(string(src), "\nplatform ") {
				args = append(args, "--platform", "none") // not that of where the tests run
			}
			var told strings.Builder
			for _, command := range [][]string{{"check"}, {"plan", "--verbose"}} {
				got := call(append(command, args...)...)
				if got.code != 0 || got.stderr != "" {
					t.Errorf("%v: code %d, %s", command, got.code, got.stderr)
				}
				told.WriteString("$ graced " + strings.Join(append(command, args...), " ") + "\n" + got.stdout + "\n")
			}
			golden(t, filepath.Join("examples", strings.TrimSuffix(file, ".hcl")+".golden"), told.String())
		})
	}
}
