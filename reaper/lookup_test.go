package reaper

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program is looked up as execvp(3) does.
func TestLookPath(t *testing.T) {
	root := t.TempDir()
	file := func(name string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	file("a/tool", 0o755)
	file("b/tool", 0o755)
	file("plain/tool", 0o644)
	file("plain/only", 0o644)
	file("folder/tool/x", 0o755)
	file("here", 0o755)
	p := func(elements ...string) []string {
		for i, e := range elements {
			if strings.HasPrefix(e, "/") {
				elements[i] = root + e
			}
		}
		return []string{"X=1", "PATH=" + strings.Join(elements, ":"), "PATH=/second/one/is/ignored"}
	}
	t.Chdir(root)
	for _, tt := range []struct {
		why, name, dir string
		env            []string
		want           string // of root if it starts with /; "" is an error
	}{
		{"the first wins", "tool", "", p("/a", "/b"), "/a/tool"},
		{"an element that is not there", "tool", "", p("/none", "/b"), "/b/tool"},
		{"EACCES, then a hit", "tool", "", p("/plain", "/b"), "/b/tool"},
		{"a folder of that name, then a hit", "tool", "", p("/folder", "/b"), "/b/tool"},
		{"only one that cannot be executed: the error is about it", "only", "", p("/a", "/plain"), "/plain/only"},
		{"a folder and nothing else", "tool", "", p("/folder"), "/folder/tool"},
		{"a slash: as it is", "no/such", "", p("/a"), "no/such"},
		{"an empty element is the working folder", "here", "", p("/a", "", "/b"), "./here"},
		{"an empty element at the end", "here", "", p("/a", ""), "./here"},
		{"an empty PATH", "here", "", p(""), "./here"},
		{"a relative element", "tool", "", p("a"), "a/tool"},
		{"a relative element starts from the program's folder", "tool", root + "/folder/..", p("b"), "b/tool"},
		{"and not from graced's", "tool", root + "/a", p("b"), ""},
		{"an empty element is the program's folder", "tool", root + "/a", p(""), "./tool"},
		{"nowhere", "nothing", "", p("/a"), ""},
		{"no name", "", "", p("/a"), ""},
	} {
		got, err := lookPath(tt.name, tt.dir, tt.env)
		want := tt.want
		if strings.HasPrefix(want, "/") {
			want = root + want
		}
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v; want %q", tt.why, got, err, want)
		}
		if err != nil && NotStartedCode(err) != 127 {
			t.Errorf("%s: code %d, want 127", tt.why, NotStartedCode(err))
		}
	}
	if got, err := lookPath("sh", "", nil); err != nil || got != "/bin/sh" {
		t.Errorf("without PATH: %q, %v; want /bin/sh", got, err)
	}
}
