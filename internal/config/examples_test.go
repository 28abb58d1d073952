package config

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTheExampleTeaches: examples/graced.hcl has every block of the schema and
// names every attribute, in what is commented out too, and all of that is right.
func TestTheExampleTeaches(t *testing.T) {
	src, err := os.ReadFile("../../examples/graced.hcl")
	if err != nil {
		t.Fatal(err)
	}
	whole := uncommented(string(src))
	// the blocks that stand there twice then; the first one does not ask
	whole = strings.Replace(whole, "  probe \"ready\" {\n    listening = true\n  }\n", "", 1)
	if _, p := Load(withFile(whole)); p != nil {
		t.Errorf("with what is commented out it is refused:\n%s", told(t, p))
	}
	in := withFile(whole)
	in.complete = false
	if _, p := Load(in); (p == nil) == strings.Contains(whole, "ot in this build yet") {
		t.Errorf("it says that something is not in this build yet; of that the build says %v", p)
	}
	schema := newLoader(world()).schema()
	walk(&schema, "", func(path string, _ *attribute) {
		names := strings.Split(path, ".")
		for _, block := range names[:len(names)-1] {
			if !regexp.MustCompile(`(?m)^\s*` + block + `\b.*\{`).MatchString(whole) {
				t.Errorf("it has no block %s", block)
			}
		}
		if !regexp.MustCompile(`\b` + names[len(names)-1] + `\b`).MatchString(whole) {
			t.Errorf("it does not name %s", path)
		}
	})
}

// uncommented takes the # off the blocks that are commented out: what begins with
// a # and no space, up to its brace.
func uncommented(text string) string {
	begin := regexp.MustCompile(`^\s*#[a-z].*\{`)
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		if inside || begin.MatchString(line) {
			inside = strings.TrimSpace(line) != "#}"
			line = strings.Replace(line, "#", "", 1)
		}
		b.WriteString(line)
	}
	return b.String()
}
