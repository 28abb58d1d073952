package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"graced/internal/plan"
)

// FuzzFile: any bytes give a configuration or problems, each with a place in
// the file, and those can be written.
func FuzzFile(f *testing.F) {
	for _, pattern := range []string{"testdata/*.hcl", "testdata/broken/*.hcl", "testdata/broken/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range files {
			src, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src)
		}
	}
	for _, text := range heavy {
		if len(text) < 10_000 {
			f.Add([]byte(text))
		}
	}
	f.Add([]byte("\xef\xbb\xbfgrace = \"30s\"\r\nprocess \"web\" {\r\n  command = [\"x\"]\r\n}\r\n"))
	f.Add([]byte(`{"process": {"w": {"command": ["${env("A", "b")}", "%{if true}x%{endif}"], "env": {"${env("A","b")}": 1}}}}`))
	f.Add([]byte("process \"w\" {\n  command = [<<-EOT\n  x\n  EOT\n  , lower(\"é\")]\n}\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, complete := range []bool{true, false} {
			in := named("graced.hcl", string(src), "--", "x")
			in.Environ = []string{"SECRET=hunter2secret", "A=1"}
			in.complete = complete
			c, p := Load(in)
			if (c == nil) == (p == nil) {
				t.Fatalf("config %v, problems %v", c, p)
			}
			var b strings.Builder
			if p == nil {
				if p, err := plan.New(c.Spec); err == nil {
					fmt.Fprint(&b, c.Values(p))
				}
				if strings.Contains(b.String(), "hunter2") {
					t.Fatalf("%q lists %q", src, b.String())
				}
				continue
			}
			for _, width := range []int{0, 78} {
				if err := p.Write(&b, width, width == 0); err != nil {
					t.Fatal(err)
				}
			}
			if b.Len() == 0 || p.Error() == "" || strings.Contains(b.String(), "the parser failed") || strings.Contains(b.String(), "hunter2") {
				t.Fatalf("%q tells %q", src, b.String())
			}
		}
	})
}

// FuzzArgs: any words and variables give a configuration or problems.
func FuzzArgs(f *testing.F) {
	for name, cases := range flagCases {
		for value := range cases.good {
			f.Add("--"+name+"\n"+value+"\n--\nx", variable(name)+"="+value)
		}
		for _, value := range cases.bad {
			f.Add("--"+name+"="+value, variable(name)+"="+value)
		}
	}
	f.Add("-vvg\n-e\n143\n-\n---x\n--=\n--\n", "GRACED_CONFIG=")
	f.Fuzz(func(t *testing.T, args, environ string) {
		in := world(strings.Split(args, "\n")...)
		in.Environ = strings.Split(environ, "\n")
		in.ReadFile = func(string) ([]byte, error) { return []byte(fileForAll), nil }
		c, p := Load(in)
		switch {
		case (c == nil) == (p == nil):
			t.Fatalf("config %v, problems %v", c, p)
		case p == nil && len(c.Spec.Processes) == 0:
			t.Fatal("there is nothing to run")
		case p == nil && len(c.Sources) == 0:
			t.Fatal("there are no sources")
		case p == nil:
			if p, err := plan.New(c.Spec); err == nil && len(c.Values(p)) < len(c.Sources) {
				t.Fatal("there are few values")
			}
		case p != nil && p.Error() == "":
			t.Fatal("the problems say nothing")
		case p != nil:
			if err := p.Write(io.Discard, 0, false); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzDuration: what is taken is within its bounds and whole milliseconds,
// and a guess is always right.
func FuzzDuration(f *testing.F) {
	for _, text := range durations() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, mistakes := duration(leastGrace)(text)
		if len(mistakes) == 0 && (d < leastGrace || d > longest || d%1e6 != 0) {
			t.Errorf("%q is %v", text, d)
		}
		for _, m := range mistakes {
			if m.wrong == "" {
				t.Errorf("%q is wrong without a word", text)
			}
			if m.right != "" {
				if _, again := parseDuration(m.right); len(again) > 0 {
					t.Errorf("%q was guessed for %q and is wrong: %v", m.right, text, again)
				}
			}
		}
	})
}

// FuzzLadder: what is taken reads the same when it is written out.
func FuzzLadder(f *testing.F) {
	f.Add("SIGQUIT:20s,SIGTERM:5s")
	f.Add("QUIT, 15:1m30s")
	f.Fuzz(func(t *testing.T, text string) {
		rungs, mistakes := parseLadder(text)
		if len(mistakes) > 0 {
			return
		}
		again, mistakes := parseLadder(showLadder(rungs))
		if len(mistakes) > 0 || showLadder(again) != showLadder(rungs) {
			t.Errorf("%q is %q and then %q: %v", text, showLadder(rungs), showLadder(again), mistakes)
		}
	})
}
