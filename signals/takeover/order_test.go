package takeover

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// most is how many packages may be started before this one: what it needs
// itself, and what Go's own order puts before os. Their start takes a fraction
// of a millisecond.
const most = 30

// A signal that comes before this package is started ends graced with code 2.
// So the real program starts it before everything large.
func TestThisPackageIsStartedEarly(t *testing.T) {
	order := startOrder(t, "graced/cmd/graced")
	if late := before(order); len(late) > 0 {
		t.Errorf("started before graced/signals/takeover: %q", late)
	}
	if at := slices.Index(order, "graced/signals/takeover"); at > most {
		t.Errorf("%d packages are started before it: %q", at, order[:at])
	}
	for _, name := range []string{"net/http", "github.com/prometheus/client_golang/prometheus"} {
		if !slices.Contains(order, name) {
			t.Errorf("%s is not in the program at all; what this test compares has changed", name)
		}
	}
}

// The negative control: with one import more it would come after net/http. (In a
// program of its own, which is sooner built.)
func TestAnImportOfItsOwnWouldMakeItLate(t *testing.T) {
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	for file, text := range map[string]string{
		"signals/takeover/more.go": "package takeover\nimport _ \"net/http\"\n",
		"cmd/late/main.go":         "package main\nimport _ \"graced/signals/takeover\"\nfunc main() {}\n",
	} {
		copied := filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, file)] = copied
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	if late := before(startOrder(t, "graced/cmd/late", "-overlay="+file)); !slices.Contains(late, "net/http") {
		t.Errorf("the order of starts did not change: %q", late)
	}
}

// startOrder builds a program and gives its packages in the order in which they are
// started, as the runtime tells it; GODEBUG=inittrace=1 in package runtime.
// The setting is built in: by the environment it would be shed.
func startOrder(t *testing.T, pkg string, flags ...string) []string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "graced")
	args := append([]string{"build", "-buildvcs=false", "-ldflags=-s -w -X runtime.godebugDefault=inittrace=1", "-o", bin}, flags...)
	build := exec.CommandContext(t.Context(), "go", append(args, pkg)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), bin, "version").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var order []string
	for line := range strings.Lines(string(out)) {
		var name string
		if n, _ := fmt.Sscanf(line, "init %s @", &name); n == 1 {
			order = append(order, name)
		}
	}
	if !slices.Contains(order, "graced/signals/takeover") {
		t.Fatalf("it is not in the trace:\n%s", out)
	}
	return order
}

// before gives what is started before this package and must not be.
func before(order []string) (late []string) {
	for _, name := range order[:slices.Index(order, "graced/signals/takeover")] {
		first, _, _ := strings.Cut(name, "/")
		large := []string{"net", "fmt", "encoding/json", "log", "regexp", "html", "flag", "crypto/tls", "crypto/x509"}
		switch {
		case strings.Contains(first, "."), slices.Contains(large, name), strings.HasPrefix(name, "net/"), strings.HasPrefix(name, "log/"),
			first == "graced" && name != "graced/internal/boot":
			late = append(late, name)
		}
	}
	return late
}
