package config

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// code is what a file says but for comments: its tokens and where they stand.
func code(src []byte) (list []hclsyntax.Token, wrong bool) {
	if _, diags := hclsyntax.ParseConfig(src, "x", hcl.InitialPos); diags.HasErrors() {
		return nil, true
	}
	tokens, diags := hclsyntax.LexConfig(src, "x", hcl.InitialPos)
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenEOF, hclsyntax.TokenComment, hclsyntax.TokenNewline: // the end is another column
		default:
			list = append(list, t)
		}
	}
	return list, diags.HasErrors()
}

// FuzzWithoutComments: a file that is right says the same without its comments,
// at the same places; one that is wrong stays wrong.
func FuzzWithoutComments(f *testing.F) {
	for _, pattern := range []string{"testdata/*.hcl", "testdata/broken/*.hcl", "testdata/unfit/*.hcl", "../../examples/*.hcl"} {
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
	for _, text := range []string{
		"# a\r\n\t// b\r\na = 1 # c\r\n", "a = <<E\n# text\nE\n", "/*\n# */ a = 1\n", "a = [\n # x\n 1,\n]\n", "a = \"${\n# x\n1}\"\n", "a = \"x\n# \"\n",
		"a = 1\n# end", "#", "#\r", "#\r\r\na = 1\n", "\xef\xbb\xbf# a\n", "a = \"# no\"\n", "a = 1 / 2\n//\n", "a = \"\\\n# x\"\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if wrong, _ := checkText(src); wrong != "" {
			return
		}
		if tokens, _ := hclsyntax.LexConfig(src, "x", hcl.InitialPos); checkTokens(tokens) != nil {
			return
		}
		bare := withoutComments(src)
		if len(bare) != len(src) {
			t.Fatalf("%d bytes became %d", len(src), len(bare))
		}
		want, wrong := code(src)
		got, still := code(bare)
		if wrong != still {
			t.Fatalf("%q is wrong: %v, without comments: %v", src, wrong, still)
		}
		for i := range want {
			if i >= len(got) || got[i].Type != want[i].Type || got[i].Range != want[i].Range || !bytes.Equal(got[i].Bytes, want[i].Bytes) {
				t.Fatalf("%q without comments is another", src)
			}
		}
	})
}

// TestCommentsAreStillShown: a snippet is cut out of the file as it stands.
func TestCommentsAreStillShown(t *testing.T) {
	_, p := Load(withFile("# why\ngrace = [\n  # so long\n  30,\n]\n", "--", "x"))
	if got := told(t, p); !bytes.Contains([]byte(got), []byte("# so long")) {
		t.Error(got)
	}
}
