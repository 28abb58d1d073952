package yaml_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLibraryIsNotInTheBinary: nothing in graced imports the library, by way of no
// other package either.
func TestLibraryIsNotInTheBinary(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command here")
	}
	out, err := exec.Command("go", "list", "-deps", "graced/cmd/graced").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	own := false
	for _, path := range packages {
		own = own || path == "graced/internal/yaml"
		if strings.Contains(path, "yaml") && path != "graced/internal/yaml" {
			t.Errorf("graced has %s in it", path)
		}
	}
	if !own {
		t.Errorf("graced does not have this package in it, but %q", packages)
	}
}

// TestStartsForNothing: the package has nothing that is done when a program starts.
func TestStartsForNothing(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				if d.Tok == token.VAR {
					t.Errorf("%s has a variable of the package", name)
				}
			case *ast.FuncDecl:
				if d.Name.Name == "init" {
					t.Errorf("%s has an init function", name)
				}
			}
		}
	}
}
