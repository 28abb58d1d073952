package config

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// world is a container without anything in it but two accounts.
func world(args ...string) Input {
	return Input{
		Args:   args,
		PID:    1,
		Exists: func(string) bool { return false },
		ReadFile: func(path string) ([]byte, error) {
			switch path {
			case passwdFile:
				return []byte("root:x:0:0:root:/root:/bin/sh\nwww-data:x:33:33::/var/www:/usr/sbin/nologin\n"), nil
			case groupFile:
				return []byte("root:x:0:\nwww-data:x:33:\n"), nil
			}
			return ReadRegular(path)
		},
	}
}

// withFile is a world with a configuration file of that text. Everything in
// it is taken, also what this build has not.
func withFile(text string, args ...string) Input {
	return named("graced.hcl", text, args...)
}

func named(name, text string, args ...string) Input {
	in := world(append([]string{"--config", name}, args...)...)
	read := in.ReadFile
	in.ReadFile = func(path string) ([]byte, error) {
		if path == name {
			return []byte(text), nil
		}
		return read(path)
	}
	in.complete = true
	return in
}

// told is what a person is told of the problems.
func told(t *testing.T, p *Problems) string {
	t.Helper()
	if p == nil {
		return ""
	}
	var b bytes.Buffer
	if err := p.Write(&b, 78, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// golden compares with a file of testdata, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not as it was; if it is better, run the test with -update.\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

// load fails the test if there are problems.
func load(t *testing.T, in Input) *Config {
	t.Helper()
	c, p := Load(in)
	if p != nil {
		t.Fatalf("unexpected problems:\n%s", told(t, p))
	}
	return c
}
