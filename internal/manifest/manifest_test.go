package manifest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"graced/internal/plan"
)

var update = flag.Bool("update", false, "write what the tests found into testdata")

// settingsOf reads the few flags and variables that these tests use, and
// plans as graced would.
func settingsOf(c Container) (Settings, error) {
	platform, _ := plan.PlatformByName(c.Platform)
	spec := plan.Spec{Platform: platform, Processes: []plan.Process{{Name: "app", Command: []string{"app"}}}}
	if platform.Delay > 0 {
		spec.Delay = plan.Given(plan.Delay{For: platform.Delay}, plan.Source{Kind: plan.ByPreset})
	}
	port := 8990
	set := func(name, text string) error {
		d, err := time.ParseDuration(text)
		from := plan.Source{Kind: plan.ByFlag, Name: name}
		switch name {
		case "grace":
			spec.Grace = plan.Given(d, from)
		case "grace-spent":
			spec.GraceSpent = plan.Given(d, from)
		case "margin":
			spec.Margin = plan.Given(d, from)
		case "listen":
			port, err = 0, nil
			if _, digits, ok := strings.Cut(text, ":"); ok {
				port, err = strconv.Atoi(digits)
			}
		}
		if err != nil {
			return fmt.Errorf("--%s: %q is no duration", name, text)
		}
		return nil
	}
	for _, v := range c.Env {
		name, text, _ := strings.Cut(strings.TrimPrefix(v, "GRACED_"), "=")
		if err := set(strings.ReplaceAll(strings.ToLower(name), "_", "-"), text); err != nil {
			return Settings{}, err
		}
	}
	for i := 0; i < len(c.Args); i++ {
		name, text, ok := strings.Cut(strings.TrimLeft(c.Args[i], "-"), "=")
		if !ok {
			i++
			text = c.Args[i]
		}
		if err := set(name, text); err != nil {
			return Settings{}, err
		}
	}
	p, err := plan.New(spec)
	return Settings{Plan: p, Port: port, Ready: []string{"/readyz", "/healthz"}, Live: []string{"/livez"}, Startup: []string{"/startupz"}}, err
}

// TestClashes holds each manifest of testdata against what is to be said of it.
func TestClashes(t *testing.T) {
	files, err := filepath.Glob("testdata/*.[yj]*")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".golden") {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			findings, err := Check(filepath.Base(file), data, settingsOf)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, f := range findings {
				fmt.Fprintln(&got, f)
			}
			fmt.Fprintf(&got, "fits: %v\n", Fits(findings))
			golden := file + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("got:\n%swant:\n%s", got.String(), want)
			}
		})
	}
}

// TestEmitIsAccepted: what is written for a plan fits that plan, on each
// platform, for many graces.
func TestEmitIsAccepted(t *testing.T) {
	for _, format := range Formats {
		for _, grace := range []time.Duration{2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, 90 * time.Second, 120 * time.Second} {
			for _, listen := range []string{":8990", "off"} {
				own := Container{Platform: format, Args: []string{"--grace", grace.String(), "--listen", listen}}
				s, err := settingsOf(own)
				if err != nil {
					t.Fatal(err)
				}
				text, err := Emit(format, s)
				if err != nil {
					t.Fatal(err)
				}
				findings, err := Check(format, []byte(text), func(c Container) (Settings, error) {
					c.Args = append(c.Args, "--listen", listen)
					return settingsOf(c)
				})
				if err != nil || !Fits(findings) {
					t.Errorf("%s, grace %v, listen %s: %v %v\n%s", format, grace, listen, findings, err, text)
				}
				// the negative control: the same text does not fit a longer grace
				findings, err = Check(format, []byte(text), func(c Container) (Settings, error) {
					own.Args[1] = (grace + time.Minute).String()
					return settingsOf(own)
				})
				if err != nil || Fits(findings) {
					t.Errorf("%s, grace %v: a longer grace was accepted: %v %v", format, grace, findings, err)
				}
			}
		}
	}
	if _, err := Emit("swarm", Settings{}); err == nil {
		t.Error("an unknown format was accepted")
	}
}

// TestCannotBeRead: files that are no manifest are told, not taken for one.
func TestCannotBeRead(t *testing.T) {
	for name, text := range map[string]string{
		"empty":             "",
		"broken":            "a: [",
		"another kind":      "kind: ConfigMap\ndata: {a: b}\n",
		"several services":  "services: {a: {image: x}, b: {image: y}}",
		"no workload":       "just text",
		"a pod without any": "kind: Pod\nspec: {containers: []}",
	} {
		findings, err := Check(name, []byte(text), settingsOf)
		if err == nil {
			t.Errorf("%s: accepted, findings %v", name, findings)
		}
		if name == "another kind" && !errors.Is(err, ErrNothing) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Check("large", make([]byte, MaxFile+1), settingsOf); err == nil {
		t.Error("a file over the limit was read")
	}
}

// TestAliases: neither an anchor around its own alias nor aliases of aliases keep
// it, and those that people write are followed.
func TestAliases(t *testing.T) {
	bomb := "a0: &a0 {kind: Pod, spec: {containers: [{name: x}]}}\n"
	for i := range 30 {
		bomb += fmt.Sprintf("a%d: &a%d {kind: List, items: [*a%d, *a%d]}\n", i+1, i+1, i, i)
	}
	for name, text := range map[string]string{
		"a circle":            "--- &a\nkind: List\nitems: [*a]\n",
		"a circle by a merge": "kind: Pod\nspec: &s\n  <<: *s\n  containers: [{}]\n",
		"a bomb":              bomb + "kind: List\nitems: [*a30]\n",
		"deep":                strings.Repeat("[", 1500) + strings.Repeat("]", 1500),
	} {
		begin := time.Now()
		_, err := Check(name, []byte(text), settingsOf)
		if err == nil || !errors.Is(err, errNodes) && !errors.Is(err, errDepth) {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
	}
	const usual = "services:\n  a: &a\n    command: [/graced, --grace, 30s, --, x]\n  b:\n    <<: *a\n    stop_grace_period: 5s\n"
	findings, err := Check("usual", []byte(usual), settingsOf)
	if err != nil || len(findings) != 2 || findings[1].Line != 6 {
		t.Errorf("%v, %v", findings, err)
	}
}

// FuzzCheck: any bytes give findings or an error.
func FuzzCheck(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.[yj]*")
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			f.Add(data)
		}
	}
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("--- &a\nkind: List\nitems: [*a]"))
	f.Add([]byte("kind: Pod\nspec: &s {<<: *s, containers: [{}]}"))
	s, err := settingsOf(Container{Platform: "docker"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		findings, err := Check("fuzz", data, func(Container) (Settings, error) { return s, nil })
		for _, finding := range findings {
			if err == nil && (finding.Line < 1 || finding.Is == "" || finding.Should == "") {
				t.Errorf("a finding without a place or a way out: %v", finding)
			}
		}
	})
}
