package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"graced/internal/plan"
)

// unfit is what a person is told of a plan that does not fit.
func unfit(t *testing.T, in Input) string {
	t.Helper()
	c := load(t, in)
	_, err := plan.New(c.Spec)
	if err == nil {
		t.Fatal("it fits")
	}
	return told(t, c.Unfit(err))
}

// TestUnfit: a plan that does not fit points at the lines of the terms that
// make it up.
func TestUnfit(t *testing.T) {
	files, err := filepath.Glob("testdata/unfit/*")
	if err != nil || len(files) < 5 {
		t.Fatal("no testdata", err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, ".golden") {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimPrefix(path, "testdata/")+".golden", unfit(t, named(filepath.Base(path), string(src))))
		})
	}
}

// TestUnfitByFlag: where a flag is too much, the terms of the file are shown
// beside it; without a file there is one line.
func TestUnfitByFlag(t *testing.T) {
	const file = "grace = \"20s\"\nprocess \"app\" {\n  command = [\"app\"]\n  stop \"TERM\" { wait = \"6s\" }\n}\n"
	got := unfit(t, withFile(file, "--delay", "15s"))
	for _, want := range []string{
		"graced: --delay: the shutdown does not fit: it needs 21.5s, the budget is 18s (grace 20s − margin 2s); lower the delay by 3.5s to 11.5s, or raise the grace; 15s delay (--delay) + 6s ladder of app (graced.hcl:4,3) + 500ms cleanup (default)\n",
		"  20s grace, on graced.hcl line 1:\n   1: grace = \"20s\"\n",
		"  6s SIGTERM of app, on graced.hcl line 4, in process \"app\":\n   4:   stop \"TERM\" { wait = \"6s\" }\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("told\n%s\nwant in it\n%s", got, want)
		}
	}
	if got := unfit(t, world("--grace", "10s", "--delay", "9s", "--", "x")); strings.Count(got, "\n") != 1 {
		t.Errorf("without a file, told\n%s", got)
	}
}

// TestUnfitIsBounded: of very many terms, some are shown.
func TestUnfitIsBounded(t *testing.T) {
	rungs := strings.Repeat("  stop \"TERM\" { wait = \"1s\" }\n", 500)
	got := unfit(t, withFile("process \"app\" {\n  command = [\"app\"]\n"+rungs+"}\n"))
	if len(got) > 4000 || !strings.Contains(got, "and 480 more") {
		t.Errorf("%d bytes are told:\n%.3000s", len(got), got)
	}
}

// TestEveryTermIsShown: the values of the places add up to what is needed, so
// that none is left out.
func TestEveryTermIsShown(t *testing.T) {
	src, err := os.ReadFile("testdata/unfit/chain.hcl")
	if err != nil {
		t.Fatal(err)
	}
	_, err = plan.New(load(t, withFile(string(src))).Spec)
	bad, ok := err.(plan.Problems)
	if !ok || len(bad) != 1 {
		t.Fatal(err)
	}
	var lines []int
	for _, place := range bad[0].Places {
		if place.Source.Kind == plan.ByFile {
			lines = append(lines, place.Source.Line)
		}
	}
	if want := []int{2, 3, 6, 8, 20, 21, 14, 27, 32}; !slices.Equal(lines, want) {
		t.Errorf("the lines %v are shown, want %v", lines, want)
	}
}
