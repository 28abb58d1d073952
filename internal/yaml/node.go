// Package yaml reads YAML 1.2 documents, and so JSON, into nodes that know their
// lines.
//
// It is for the files of platforms, and reads them as go.yaml.in/yaml/v3 does, to
// whose family the readers of kubectl and Docker Compose belong: the same values
// at the same lines and columns. Where that library has ways of its own, or of
// YAML 1.1, so has this: U+0085, U+2028 and U+2029 are line breaks; an alias may
// mean an anchor of an earlier document; a "?" in brackets ends text. The tests hold
// the two against each other. The library is in the tests only, because it would
// cost every start of graced 0.1 ms, and few starts read YAML.
//
// Scalars are text: nothing becomes a number or a date. Duplicate keys and merge
// keys (<<) are kept as they are written. Comments are dropped.
//
// What the library reads and this does not:
//
//   - a byte order mark elsewhere than at the very start; the library takes it for
//     a letter of a key
//   - a "?" without a key in a sequence in brackets, as in [? : a]; the library
//     loses what follows
//   - %XX in a tag, and %YAML 01.1
//   - values within each other more than 10000 deep, of which the library counts
//     those in brackets and the others separately, and more than half a million
//
// What this reads and the library does not:
//
//   - %YAML 1.2
//   - \/ in double quotes, and two \u escapes for one character over U+FFFF, as JSON
//     has them
//   - a key in brackets that has a "?" in it, as {?a: b}: c; the library loses track
//
// https://yaml.org/spec/1.2.2/
package yaml

import "fmt"

// Kind is what a node is.
type Kind uint8

// Kinds of nodes.
const (
	Scalar Kind = iota + 1
	Sequence
	Mapping // its Content has keys and values by turns
	Alias
)

// Null is the tag of what is null.
const Null = "!!null"

// Node is a value in a document.
type Node struct {
	Kind Kind
	// Tag is the tag that was written, with !! for tag:yaml.org,2002:. Without
	// one it is Null for what is null, and else empty.
	Tag          string
	Value        string // a scalar's text; the name that an alias has
	Line, Column int    // where it begins, with its anchor and tag; from 1, in characters
	Content      []*Node
	Alias        *Node // what an alias stands for, which may be around the alias
}

// Error says what in a text is no YAML.
type Error struct {
	Line, Column int    // from 1, in characters
	Found        string // what is there
	Right        string // what would be right
}

// Error is line L, column C: found what is there; what would be right.
func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: found %s; %s", e.Line, e.Column, e.Found, e.Right)
}

// Parse reads all documents of a text and gives the value of each. An error is
// an *Error, at the first thing that is wrong.
func Parse(data []byte) (documents []*Node, err error) {
	defer func() {
		switch failure := recover().(type) {
		case nil:
		case *Error:
			documents, err = nil, failure
		default:
			panic(failure)
		}
	}()
	return newParser(data).documents(), nil
}

// isNull says whether a scalar without quotes and tag is null.
func isNull(value string) bool {
	switch value {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}
