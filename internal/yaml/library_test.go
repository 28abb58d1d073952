package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	library "go.yaml.in/yaml/v3"
)

// parseByLibrary is Parse by go.yaml.in/yaml/v3, which the nodes are held
// against. A panic of it is an error.
func parseByLibrary(data []byte) (documents []*library.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			documents, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	decoder := library.NewDecoder(bytes.NewReader(data))
	for {
		var document library.Node
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return nil, err
		}
		documents = append(documents, document.Content...)
	}
}

// onlyOurs says why a text is read here and not by the library; no other reason is
// one. The package comment lists them.
func onlyOurs(data []byte, ours []*Node, theirs error) string {
	switch says := theirs.Error(); {
	case strings.Contains(says, "found incompatible YAML document") && bytes.Contains(data, []byte("%YAML")):
		return "%YAML 1.2"
	case strings.Contains(says, "found unknown escape character") && bytes.Contains(data, []byte(`\/`)):
		return `\/ as in JSON`
	case strings.Contains(says, "found invalid Unicode character escape code") && bytes.Contains(bytes.ToLower(data), []byte(`\ud`)):
		return `two \u for one character, as in JSON`
	case strings.Contains(says, "did not find expected") && bytes.Contains(data, []byte("?")) && slices.ContainsFunc(ours, hasCollectionAsKey):
		return "? within brackets that are themselves a key"
	}
	return ""
}

// hasCollectionAsKey says whether a node has one in it.
func hasCollectionAsKey(n *Node) bool {
	for i, inner := range n.Content {
		if n.Kind == Mapping && i%2 == 0 && len(inner.Content) > 0 || hasCollectionAsKey(inner) {
			return true
		}
	}
	return false
}

// onlyTheirs says why a text is read by the library and not here.
func onlyTheirs(ours error) string {
	var e *Error
	if !errors.As(ours, &e) {
		return ""
	}
	switch {
	case e.Found == "a byte order mark inside of the file":
		return "a second byte order mark"
	case strings.HasSuffix(e.Found, `behind a "?" without a key`):
		return "? without a key in a flow sequence"
	case e.Found == "a value more than 10000 deep in others", e.Found == "more than half a million values":
		return "a limit"
	case e.Found == "an escape in a tag":
		return "%XX in a tag"
	case e.Found == "another version of YAML":
		return "%YAML 01.1"
	}
	return ""
}

// agree holds a text as it is read here against the library's reading of it.
func agree(t *testing.T, data []byte) {
	t.Helper()
	ours, err := Parse(data)
	theirs, theirErr := parseByLibrary(data)
	switch {
	case err == nil && theirErr == nil:
		c := comparison{pairs: map[*Node]*library.Node{}, loose: bytes.ContainsAny(data, "?[")}
		if len(ours) != len(theirs) {
			t.Errorf("%q: %d documents, the library has %d", data, len(ours), len(theirs))
			return
		}
		for i := range ours {
			c.nodes(fmt.Sprintf("%d", i), ours[i], theirs[i], false)
		}
		if c.difference != "" {
			t.Errorf("%q: %s", data, c.difference)
		}
	case err == nil && onlyOurs(data, ours, theirErr) == "":
		t.Errorf("%q: read, and the library says: %v", data, theirErr)
	case theirErr == nil && onlyTheirs(err) == "":
		t.Errorf("%q: the library reads it, and here: %v", data, err)
	}
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 || e.Found == "" || e.Right == "" || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: an error without a place, what is there and what would be right, on one line: %v", data, err)
		}
	}
}

// comparison is one of two trees.
type comparison struct {
	pairs      map[*Node]*library.Node
	loose      bool   // a value that is not there may be anywhere
	difference string // the first
}

// nodes compares two nodes and what is below them. loose: where they begin does not
// count.
func (c *comparison) nodes(path string, ours *Node, theirs *library.Node, loose bool) {
	if c.difference != "" {
		return
	}
	if known, ok := c.pairs[ours]; ok {
		if known != theirs {
			c.difference = path + ": the same node as another, the library's is not"
		}
		return
	}
	c.pairs[ours] = theirs
	tag := ""
	if theirs.Style&library.TaggedStyle != 0 || theirs.Tag == Null {
		tag = theirs.Tag
	}
	kinds := map[Kind]library.Kind{Scalar: library.ScalarNode, Sequence: library.SequenceNode, Mapping: library.MappingNode, Alias: library.AliasNode}
	if kinds[ours.Kind] != theirs.Kind || ours.Tag != tag || ours.Value != theirs.Value ||
		!loose && (ours.Line != theirs.Line || ours.Column != theirs.Column) ||
		len(ours.Content) != len(theirs.Content) || (ours.Alias == nil) != (theirs.Alias == nil) {
		c.difference = fmt.Sprintf("%s: kind %d, tag %q, value %q, line %d, column %d, %d in it; the library has %d, %q, %q, %d, %d, %d", path,
			ours.Kind, ours.Tag, ours.Value, ours.Line, ours.Column, len(ours.Content), theirs.Kind, theirs.Tag, theirs.Value, theirs.Line, theirs.Column, len(theirs.Content))
		return
	}
	for i := range ours.Content {
		// the library moves what is not behind "? key" for comments, and forgets
		// where it is not in [key: ]
		nothing := c.loose && ours.Kind == Mapping && i%2 == 1 && ours.Content[i].Tag == Null && ours.Content[i].Value == ""
		c.nodes(fmt.Sprintf("%s.%d", path, i), ours.Content[i], theirs.Content[i], nothing)
	}
	if ours.Alias != nil {
		c.nodes(path+"*", ours.Alias, theirs.Alias, false)
	}
}

// TestDifferences has a text for each reason to read other texts than the
// library does.
func TestDifferences(t *testing.T) {
	for text, want := range map[string]string{
		"%YAML 1.2\n---\na: b\n":  `{"a": "b"}`,
		`{"a": "b\/c"}`:           `{"a": "b/c"}`,
		`["\ud83d\ude00"]`:        `["😀"]`,
		"{?a: b}: c\n":            `{{"a": "b"}: "c"}`,
		"a: b\n---\n\ufeffa: b\n": "line 3, column 1: found a byte order mark inside of the file",
		"[? ]]":                   `found "]" behind a "?" without a key`,
		"[? : ]":                  `found ":" behind a "?" without a key`,
		"!a%41 b":                 "found an escape in a tag",
		"%YAML 01.01\n---\n":      "found another version of YAML",
		strings.Repeat("- ", 6000) + strings.Repeat("[", 6000) + strings.Repeat("]", 6000): "more than 10000 deep",
	} {
		agree(t, []byte(text))
		documents, err := Parse([]byte(text))
		theirs, theirErr := parseByLibrary([]byte(text))
		if (err == nil) == (theirErr == nil) {
			t.Errorf("%.40q: %v, the library: %v, %v", text, err, theirs, theirErr)
		}
		if got := show(documents); got != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.40q: %s, %v; want %s", text, got, err, want)
		}
	}
}

// TestFiles reads the manifests of the repository, whole and cut off anywhere.
func TestFiles(t *testing.T) {
	for _, data := range files(t) {
		agree(t, data)
		agree(t, bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")))
		for end := 0; end < len(data); end += 1 + len(data)/200 {
			agree(t, data[:end])
		}
	}
}

// pieces are what YAML is made of. One is chosen several times over by chance, and
// many of the texts are YAML.
var pieces = []string{
	"a", "b", "key", "z", ": ", ":", "\n", "\n  ", "\n    ", "\n\n", "\n \n", "- ", "-", "\n- ", "\n  - ", "x: y\n", "x:\n  y:\n", "? ", "?", "\n? ",
	"[", "]", "{", "}", ", ", ",", "'", `"`, "''", `\n`, `\`, "\\\n", `\x41`, `\u00e9`, `\/`, "#", "# c", " # c\n", "&a ", "&b ", "*a", "*b ", "*a :",
	"!", "!!str ", "!t ", "!<x> ", "--- ", "\n---\n", "...\n", "%YAML 1.1\n", "%TAG ! x\n", "|", "|-\n", ">\n", ">2+", " ", "  ", "\t", "\r\n", "\r",
	"é", "\u2028", "\u0085", "~", "null", "<<", "@", "`", "%",
}

// TestRandomTexts reads texts of random pieces, the same ones each time.
func TestRandomTexts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 30_000 {
		var text []byte
		for range 1 + random.IntN(14) {
			text = append(text, pieces[random.IntN(len(pieces))]...)
		}
		agree(t, text)
	}
}
