package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const seeArchitecture = "docs/architecture.md has the drawing and the rules; if the rule is wrong, change it there and here"

// arrows are the edges of the drawing: what each package of the module may
// import of the others, and why. A test's own imports are not looked at.
var arrows = map[string]map[string]string{
	"signals": {},
	"signals/takeover": {
		"internal/boot": "what is ignored must have been read before signals are taken over",
		"signals":       "which signals there are",
	},
	"internal/boot":   {},
	"internal/plan":   {"signals": "ladders are made of signals"},
	"internal/config": {"internal/plan": "settings become a plan.Spec", "signals": "names of signals"},
	"internal/manifest": {
		"internal/plan": "a platform's file is held against the plan",
		"internal/yaml": "the file is YAML or JSON",
		"signals":       "names of signals",
	},
	"internal/yaml":    {},
	"reaper":           {"internal/boot": "the exec shim"},
	"internal/record":  {},
	"probe":            {"internal/record": "answers come from the snapshot"},
	"internal/drain":   {},
	"internal/metrics": {"internal/record": "series come from the snapshot"},
	"internal/control": {"internal/record": "status and events"},
	"supervisor": {
		"internal/plan":   "it walks the plan",
		"internal/record": "it emits events and publishes snapshots",
		"signals":         "names of signals",
	},
	"cmd/graced": nil, // all: host.go is where they meet
}

// onlyHere are packages of others that one place only may import.
var onlyHere = map[string]struct {
	in  []string
	why string
}{
	"os/signal":                       {[]string{"signals", "signals/takeover"}, "two receivers of signals lose some to each other, and os/signal changes dispositions that children inherit"},
	"os/exec":                         {nil, "it waits for its children itself, beside the reaper: one of the two loses the exit code"},
	"github.com/hashicorp/hcl":        {[]string{"internal/config"}, "a file is read in one place, into a value that cannot be wrong"},
	"github.com/zclconf/go-cty":       {[]string{"internal/config"}, "it is HCL's"},
	"github.com/prometheus":           {[]string{"internal/metrics"}, "metrics are one reader of the record among others"},
	"github.com/rogpeppe/go-internal": {nil, "it is for tests"},
	"github.com/google/go-cmp":        {nil, "it is for tests"},
	"go.yaml.in/yaml":                 {nil, "it is for the tests of internal/yaml; it would cost every start, and few read YAML"},
	"plugin":                          {nil, "the binary is static"},
	"C":                               {nil, "the binary is static, built without cgo"},
}

// onlyReaper are the functions with which processes are started, waited for and
// signalled: a pid is retired and signalled under one lock, the reaper's.
var onlyReaper = map[string]string{
	"Kill": "a pid may be another process's by then", "ForkExec": "a child that the reaper does not know is an orphan to it",
	"StartProcess": "it waits beside the reaper", "FindProcess": "it signals past the reaper", "Wait4": "the reaper waits",
	"Waitid": "the reaper waits", "PidfdSendSignal": "it signals past the reaper", "Tgkill": "it signals past the reaper",
}

// exceptions are uses of those functions elsewhere, each with its reason.
var exceptions = map[string]string{}

// onlyDrain speak netlink.
var netlink = []string{"AF_NETLINK", "NETLINK_SOCK_DIAG", "NETLINK_INET_DIAG"}

// source is a parsed file of the product.
type source struct {
	path string // from the module's root
	pkg  string // its folder
	file *ast.File
	set  *token.FileSet
}

// sources are all files of the module that get into the binary.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != ".." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "tests" || name == "examples") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(filepath.ToSlash(path), "../")
		all = append(all, source{rel, filepath.ToSlash(filepath.Dir(rel)), file, set})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d files of the product were found", len(all))
	}
	return all
}

func (s source) imports() []string {
	var paths []string
	for _, i := range s.file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		paths = append(paths, path)
	}
	return paths
}

func TestImportWalls(t *testing.T) {
	for _, s := range sources(t) {
		allowed, known := arrows[s.pkg]
		if !known {
			t.Errorf("%s: the package %s is not in the drawing; %s", s.path, s.pkg, seeArchitecture)
			continue
		}
		for _, path := range s.imports() {
			if inner, ok := strings.CutPrefix(path, "graced/"); ok && allowed != nil {
				if _, ok := allowed[inner]; !ok {
					t.Errorf("%s imports %s, and %s must not; %s", s.path, inner, s.pkg, seeArchitecture)
				}
			}
			for prefix, wall := range onlyHere {
				if (path == prefix || strings.HasPrefix(path, prefix+"/")) && !slices.Contains(wall.in, s.pkg) {
					t.Errorf("%s imports %s: %s; %s", s.path, path, wall.why, seeArchitecture)
				}
			}
			if path == "syscall" || strings.HasSuffix(path, "sys/unix") {
				checkCalls(t, s)
			}
		}
	}
}

// checkCalls looks for the functions that are the reaper's, and for netlink.
func checkCalls(t *testing.T, s source) {
	t.Helper()
	ast.Inspect(s.file, func(n ast.Node) bool {
		use, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		from, ok := use.X.(*ast.Ident)
		if !ok || from.Name != "syscall" && from.Name != "unix" && from.Name != "os" {
			return true
		}
		name := use.Sel.Name
		if why, walled := onlyReaper[name]; walled && s.pkg != "reaper" && exceptions[s.path+" "+name] == "" {
			t.Errorf("%s uses %s.%s: %s; %s", s.set.Position(use.Pos()), from.Name, name, why, seeArchitecture)
		}
		if slices.Contains(netlink, name) && s.pkg != "internal/drain" {
			t.Errorf("%s uses %s: only internal/drain speaks netlink; %s", s.set.Position(use.Pos()), name, seeArchitecture)
		}
		return true
	})
}

// The core starts before the larger packages; what it imports decides how long
// that takes. See the comments of the two packages.
func TestEarlyPackagesImportLittle(t *testing.T) {
	for _, s := range sources(t) {
		var allowed []string
		switch s.pkg {
		case "internal/boot":
			allowed = []string{"errors", "os", "syscall", "unsafe"}
		case "signals", "signals/takeover":
			allowed = []string{"errors", "maps", "os", "os/signal", "slices", "strconv", "sync", "sync/atomic", "syscall", "graced/signals", "graced/internal/boot"}
		default:
			continue
		}
		for _, path := range s.imports() {
			if !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s; it is started before everything else and must import little: %s", s.path, path, seeArchitecture)
			}
		}
	}
}

// plan is pure: no clock, no files, no goroutines of others. supervisor's
// machine has its time as an argument; only its loop knows a clock.
func TestPureParts(t *testing.T) {
	for _, s := range sources(t) {
		switch s.pkg {
		case "internal/plan", "signals":
			for _, path := range s.imports() {
				if slices.Contains([]string{"os", "net", "net/http", "io/fs", "log", "log/slog", "context", "sync"}, path) {
					t.Errorf("%s imports %s, and %s is pure; %s", s.path, path, s.pkg, seeArchitecture)
				}
			}
		case "supervisor":
			for _, path := range s.imports() {
				if slices.Contains([]string{"os", "net", "net/http", "io/fs", "os/user"}, path) {
					t.Errorf("%s imports %s; the supervisor meets the world by its Host only: %s", s.path, path, seeArchitecture)
				}
			}
			if name := filepath.Base(s.path); name != "loop.go" && name != "fault.go" {
				noClock(t, s) // those two are the loop's, which has the only clock
			}
		}
	}
}

// unguarded are the goroutines that need no recover of their own, by the function
// that starts them, each with its reason.
var unguarded = map[string]string{
	"cmd/graced fault":         "it sends one event, and is itself what tells of a panic",
	"cmd/graced prewarm":       "it waits on a channel, before anything is started",
	"cmd/graced title":         "it reads a file and splits it",
	"internal/record start":    "making a line of an event recovers, the rest writes it",
	"probe Serve":              "serveOnce recovers",
	"signals/takeover init":    "it asks os/signal for one signal after another, before anything is started",
	"signals/takeover receive": "it sets a bit for each signal and wakes up the loop",
}

// A panic in any goroutine ends PID 1, and with it everything, without a stop: so
// each recovers, or says here why it need not.
func TestGoroutinesAreGuarded(t *testing.T) {
	used := map[string]bool{}
	for _, s := range sources(t) {
		for _, decl := range s.file.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if !ok || function.Body == nil {
				continue
			}
			ast.Inspect(function.Body, func(n ast.Node) bool {
				var starts ast.Expr
				switch n := n.(type) {
				case *ast.GoStmt:
					starts = n.Call.Fun
				case *ast.CallExpr:
					if use, ok := n.Fun.(*ast.SelectorExpr); ok && use.Sel.Name == "Go" && len(n.Args) == 1 { // sync.WaitGroup's
						starts = n.Args[0]
					}
				}
				if starts == nil || guarded(starts) {
					return true
				}
				name := s.pkg + " " + function.Name.Name
				if used[name] = true; unguarded[name] == "" {
					t.Errorf("%s: this goroutine must begin with a deferred recover, or say in `unguarded` why it needs none", s.set.Position(n.Pos()))
				}
				return true
			})
		}
	}
	for name := range unguarded {
		if !used[name] {
			t.Errorf("%s starts no goroutine without a recover any more: take it out of the table", name)
		}
	}
}

// guarded says whether a goroutine's function is called guard, or is a literal
// that begins with defers of which one recovers.
func guarded(starts ast.Expr) bool {
	switch f := starts.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name == "guard"
	case *ast.FuncLit:
		for _, statement := range f.Body.List {
			later, ok := statement.(*ast.DeferStmt)
			if !ok {
				return false
			}
			if recovers(later.Call) {
				return true
			}
		}
	}
	return false
}

func recovers(in ast.Node) (found bool) {
	ast.Inspect(in, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			name, ok := call.Fun.(*ast.Ident)
			found = found || ok && name.Name == "recover"
		}
		return !found
	})
	return found
}

// Deadlines are times of the monotonic clock, so that nobody who sets the clock
// moves them. These make a time of the wall clock of one.
func TestTimesStayMonotonic(t *testing.T) {
	for _, s := range sources(t) {
		if s.pkg != "supervisor" && s.pkg != "probe" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			use, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			bad := slices.Contains([]string{"Truncate", "UTC", "Local", "In", "AddDate"}, use.Sel.Name)
			if use.Sel.Name == "Round" && len(call.Args) == 1 {
				to, ok := call.Args[0].(*ast.BasicLit)
				bad = ok && to.Value == "0"
			}
			if from, ok := use.X.(*ast.Ident); ok && from.Name == "time" {
				bad = slices.Contains([]string{"Unix", "UnixMilli", "UnixMicro", "Date"}, use.Sel.Name)
			}
			if bad {
				t.Errorf("%s: %s makes a time that moves when the clock is set", s.set.Position(use.Pos()), use.Sel.Name)
			}
			return true
		})
	}
}

// noClock looks for time.Now and its like.
func noClock(t *testing.T, s source) {
	t.Helper()
	ast.Inspect(s.file, func(n ast.Node) bool {
		use, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if from, ok := use.X.(*ast.Ident); ok && from.Name == "time" &&
			slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}, use.Sel.Name) {
			t.Errorf("%s uses time.%s: handlers are handed the time; %s", s.set.Position(use.Pos()), use.Sel.Name, seeArchitecture)
		}
		return true
	})
}

// The drawing that the messages name is there.
func TestArchitectureIsWrittenDown(t *testing.T) {
	text, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, s := range sources(t) {
		if !told[s.pkg] && !strings.Contains(string(text), s.pkg) {
			t.Errorf("docs/architecture.md says nothing about %s", s.pkg)
		}
		told[s.pkg] = true
	}
}
