package config

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"graced/internal/plan"
)

// reference is docs/configuration.md, read as far as it is a reference.
type reference struct {
	settings map[string]documented // by path: shutdown.drain.max
	order    []string
	examples map[string][]string // of the section of each block: its hcl snippets
	prose    map[string]string   // of the section of each block: its text before the table
	flags    map[string]string   // of the flags that are not in the file: their default
}

// documented is a row of a table.
type documented struct{ kind, without, does, also string }

var (
	heading = regexp.MustCompile("^## (?:`([a-z_.]+)`)?")
	setting = regexp.MustCompile("^\\| `([a-z_]+)` \\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\|([^|]*)\\|$")
	onlyOne = regexp.MustCompile("^\\| `--([a-z-]+)`, `-[a-z]` \\| `([A-Z_]+)` \\| ([^|]+) \\|$")
)

func readReference(t *testing.T) reference {
	t.Helper()
	doc, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	r := reference{map[string]documented{}, nil, map[string][]string{}, map[string]string{}, map[string]string{}}
	block, snippet, inside := "", "", false
	for line := range strings.Lines(string(doc)) {
		text := strings.TrimRight(line, "\n")
		switch {
		case inside && text == "```":
			r.examples[block] = append(r.examples[block], snippet)
			inside = false
		case inside:
			snippet += line
		case text == "```hcl":
			inside, snippet = true, ""
		case heading.MatchString(text):
			block = heading.FindStringSubmatch(text)[1]
		case setting.MatchString(text):
			m := setting.FindStringSubmatch(text)
			path := dotted(block, m[1])
			if _, twice := r.settings[path]; twice {
				t.Errorf("%s is there twice", path)
			}
			r.settings[path] = documented{m[2], strings.ReplaceAll(m[3], "`", ""), m[4], strings.TrimSpace(m[5])}
			r.order = append(r.order, path)
		case onlyOne.MatchString(text):
			m := onlyOne.FindStringSubmatch(text)
			r.flags[m[1]] = m[3]
			if m[2] != variable(m[1]) {
				t.Errorf("the variable of --%s is not %s", m[1], m[2])
			}
		case strings.HasPrefix(text, "| `"):
			t.Errorf("a row that is none: %s", text)
		default:
			r.prose[block] += line
		}
	}
	return r
}

// TestReferenceHasEverySetting: the reference and the schema have the same
// settings, in the same order.
func TestReferenceHasEverySetting(t *testing.T) {
	r := readReference(t)
	schema := newLoader(world()).schema()
	var want []string
	walk(&schema, "", func(path string, _ *attribute) { want = append(want, path) })
	for _, path := range want {
		if _, ok := r.settings[path]; !ok {
			t.Errorf("docs/configuration.md does not have %s", path)
		}
	}
	for _, path := range r.order {
		if !slices.Contains(want, path) {
			t.Errorf("docs/configuration.md has %s, the schema does not", path)
		}
	}
	// the tables of a block come before those of the blocks in it, as in the schema
	if !t.Failed() && !slices.Equal(r.order, want) {
		t.Errorf("the order is\n%v\nthat of the schema\n%v", r.order, want)
	}
}

// kinds has for each type of the reference a value that is not of it, and what
// the reader of that type says of it.
var kinds = map[string]struct{ value, says string }{
	"text":           {"5", "not text in quotes"},
	"duration":       {"5", "add a unit"},
	"bool":           {`"x"`, "not true or false"},
	"number":         {`"x"`, "not a whole number"},
	"list of texts":  {`"x"`, "not a list of text in quotes"},
	"list of ports":  {"80", "not a list of ports"},
	"command":        {`"x y"`, "not a list of words"},
	"map":            {"5", "not a map"},
	"name or number": {"[5]", "not text in quotes"},
}

// TestReferenceTypes: each setting has the type that the reference says.
func TestReferenceTypes(t *testing.T) {
	r := readReference(t)
	schema := newLoader(world()).schema()
	walk(&schema, "", func(path string, a *attribute) {
		kind := r.settings[path].kind
		wrong, ok := kinds[kind]
		if !ok {
			t.Errorf("%s: %q is no type", path, kind)
			return
		}
		_, p := loadWith(fileWith(path, wrong.value))
		if p == nil || !strings.Contains(told(t, p), wrong.says) {
			t.Errorf("%s is no %s: %v", path, kind, p)
		}
		_, p = loadWith(fileWith(path, "5"))
		if number := p == nil || !strings.Contains(p.Error(), "the number 5"); kind == "name or number" != (number && strings.HasPrefix(a.example, `"www`)) {
			t.Errorf("%s: whether a number is a name is not as the reference says: %v", path, p)
		}
		if required := r.settings[path].without == "required"; required != a.required {
			t.Errorf("%s: required is %v", path, a.required)
		}
	})
}

// TestReferenceHasEveryFlag: each flag is where its setting is, with its variable
// and its default, and no other is there.
func TestReferenceHasEveryFlag(t *testing.T) {
	r := readReference(t)
	shared := map[string]bool{"process.stop": true, "process.probe": true} // flags for a block as a whole
	known := map[string]bool{}
	for _, row := range newLoader(world()).rows {
		known["--"+row.name] = true
		names := "`--" + row.name + "`, `" + variable(row.name) + "`"
		found := false
		for path, d := range r.settings {
			here := strings.Contains(d.also, names)
			found = found || here
			block, _, _ := cutLast(path)
			switch {
			case here && path != row.attr && block != row.attr && !(row.name == "user" && path == "process.group"):
				t.Errorf("--%s is at %s; it sets %s", row.name, path, row.attr)
			case here && path == row.attr && !shared[row.attr] && d.without != row.without:
				t.Errorf("%s: the default is %q, that of --%s %q", path, d.without, row.name, row.without)
			}
		}
		without, alone := r.flags[row.name]
		if found == alone {
			t.Errorf("--%s: in a table of settings %v, among those that are not in the file %v", row.name, found, alone)
		}
		if alone && (row.attr != "" || without != row.without) {
			t.Errorf("--%s: it sets %q, its default is %q", row.name, row.attr, row.without)
		}
	}
	for path, d := range r.settings {
		for _, name := range regexp.MustCompile("--[a-z-]+").FindAllString(d.also, -1) {
			if !known[name] {
				t.Errorf("%s: there is no %s", path, name)
			}
		}
	}
}

func cutLast(path string) (block, name string, ok bool) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

// TestReferenceExamples: each block has an example, and each example is right.
func TestReferenceExamples(t *testing.T) {
	r := readReference(t)
	for path := range r.settings {
		block, _, _ := cutLast(path)
		if len(r.examples[block]) == 0 {
			t.Errorf("the section of %q has no example", block)
		}
	}
	for block, snippets := range r.examples {
		for _, text := range snippets {
			in := withFile(text)
			if !strings.Contains(text, "process ") {
				in = withFile(text, "--", "x")
			}
			in.Environ = []string{"LB_TOKEN=x"}
			if _, p := Load(in); p != nil {
				t.Errorf("the example of %q is refused:\n%s", block, told(t, p))
			}
		}
	}
}

// TestReferenceDefaults: the defaults that no flag has, as the schema says them and
// as they are.
func TestReferenceDefaults(t *testing.T) {
	r, l := readReference(t), newLoader(world())
	c, schema := l.cfg, l.schema()
	walk(&schema, "", func(path string, a *attribute) {
		want := r.settings[path].without
		if want == "–" || want == "required" || path == "process.probe.listening" { // of one of the probes
			want = ""
		}
		if flagged := slices.ContainsFunc(l.rows, func(row row) bool { return row.attr == path }); flagged {
			want = ""
		}
		if path != "process.stop.wait" && a.without != want {
			t.Errorf("%s: the default is %q in the reference, and %q in the schema", path, want, a.without)
		}
	})
	for path, want := range map[string]string{
		"shutdown.drain.quiet": short(plan.DefaultQuiet), "shutdown.drain.unsure": short(plan.DefaultUnsure),
		"http.ready": strings.Join(c.ReadyPaths, ", "), "http.live": strings.Join(c.LivePaths, ", "), "http.startup": strings.Join(c.StartupPaths, ", "),
		"metrics.path": c.MetricsPath, "process.output": outputs[0], "process.restart.when": starts[0],
	} {
		if got := r.settings[path].without; got != want {
			t.Errorf("%s: the default is %q in the reference, and %q", path, got, want)
		}
	}
}

// TestReferenceOfWhatIsNotThere: what this build has not is said so, and nothing
// else is.
func TestReferenceOfWhatIsNotThere(t *testing.T) {
	const says = "ot in this build yet"
	r := readReference(t)
	schema := newLoader(world()).schema()
	missing := map[string]bool{}
	walk(&schema, "", func(path string, a *attribute) {
		block, _, _ := cutLast(path)
		for _, value := range append(attributeCases[path].good, a.example) {
			in := withFile(fileWith(path, value), "--", "x")
			if strings.Contains(fileWith(path, value), "process ") {
				in = withFile(fileWith(path, value))
			}
			in.complete = false
			in.Environ = []string{"LB_TOKEN=x"}
			_, p := Load(in)
			if p == nil || !strings.Contains(p.Error(), says) {
				continue
			}
			missing[block], missing[path] = true, true
			if !strings.Contains(r.settings[path].does, says) && !strings.Contains(r.prose[block], says) && !strings.Contains(r.prose[block], "In this build there are") {
				t.Errorf("%s = %s is not in this build yet; the reference does not say so", path, value)
			}
		}
	})
	for path, d := range r.settings {
		if strings.Contains(d.does, says) && !missing[path] {
			t.Errorf("%s is in this build; the reference says that it is not", path)
		}
	}
	for block := range r.examples {
		if strings.Contains(r.prose[block], says) && block != "" && !missing[block] {
			t.Errorf("%s is in this build; the reference says that it is not", block)
		}
	}
}
