package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBrokenFiles tells of each file in testdata/broken what its .golden says,
// in under a second.
func TestBrokenFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range files {
		if strings.HasSuffix(path, ".golden") {
			continue
		}
		n++
		t.Run(filepath.Base(path), func(t *testing.T) {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			in := named(filepath.Base(path), string(src))
			in.complete = false
			start := used()
			c, p := Load(in)
			if c != nil || p == nil {
				t.Fatal("it is taken")
			}
			text := told(t, p)
			if took := used() - start; took > time.Second {
				t.Errorf("it took %v", took)
			}
			golden(t, strings.TrimPrefix(path, "testdata/")+".golden", text)
		})
	}
	if n < 40 {
		t.Errorf("there are only %d broken files", n)
	}
}
