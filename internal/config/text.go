package config

import (
	"bytes"
	"io"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"graced/internal/plan"
)

// text is the configuration file as it was read.
type text struct {
	name string
	file *hcl.File
}

// A snippet shows at most so many lines of a problem, and of a line so many
// bytes around it.
const (
	snippetLines = 4
	snippetBytes = 160
)

// write tells a problem with hcl's own writer: file, line, snippet. The
// writer is given only the lines that it is to show, behind as many empty ones as there
// are in the file: it would read the whole file for each problem, and print
// a line of a megabyte.
func (t *text) write(w io.Writer, p Problem, width int, color bool) error {
	return t.show(w, p.title(), upperFirst(p.Detail), p.Source, width, color)
}

func (t *text) show(w io.Writer, summary, detail string, from plan.Source, width int, color bool) error {
	files := map[string]*hcl.File{}
	at := rangeOf(from)
	if t != nil && at.CanSliceBytes(t.file.Bytes) {
		src, cut := t.snippet(from)
		files[from.File] = &hcl.File{Bytes: src, Nav: navigation{t.file.Nav, from.Start}}
		at = cut
	}
	diag := &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: at}
	return hcl.NewDiagnosticTextWriter(w, files, uint(max(width, 0)), color).WriteDiagnostic(diag)
}

// related shows another place of a problem: what hcl's writer prints for it,
// with the text in the place of the headline, since it is no error of its own.
func (t *text) related(w io.Writer, r Related, color bool) error {
	var b strings.Builder
	if err := t.show(&b, "", "", r.Source, 0, color); err != nil {
		return err
	}
	_, snippet, _ := strings.Cut(b.String(), "\n\n")
	_, err := io.WriteString(w, "  "+r.Text+", "+strings.TrimLeft(snippet, " "))
	return err
}

// snippet cuts the lines of a place out of the file and says where it is in
// what it returns.
func (t *text) snippet(from plan.Source) ([]byte, *hcl.Range) {
	src := t.file.Bytes
	start := bytes.LastIndexByte(src[:from.Start], '\n') + 1
	end := start
	for range snippetLines {
		next := bytes.IndexByte(src[end:], '\n')
		if next < 0 {
			end = len(src)
			break
		}
		if end += next + 1; end > from.End {
			break
		}
	}
	first, last := from.Start, max(min(from.End, end), from.Start)
	// Of a long line, what is around the place.
	start = wholeRune(src, max(start, first-snippetBytes/2))
	last = min(last, first+snippetBytes/2)
	end = wholeRune(src, min(end, last+snippetBytes/2))
	out := append(bytes.Repeat([]byte("\n"), from.Line-1), src[start:end]...)
	moved := from
	moved.Start, moved.End = first-start+from.Line-1, last-start+from.Line-1
	return out, rangeOf(moved)
}

// wholeRune moves i to the beginning of the character that it is in.
func wholeRune(src []byte, i int) int {
	for i < len(src) && i > 0 && src[i]&0xc0 == 0x80 {
		i--
	}
	return i
}

// navigation names the block that a problem is in, for hcl's writer, which
// asks for it by the offset in a snippet.
type navigation struct {
	whole  any
	offset int
}

// ContextString is the interface that the writer looks for.
func (n navigation) ContextString(int) string {
	if whole, ok := n.whole.(interface{ ContextString(int) string }); ok {
		return whole.ContextString(n.offset)
	}
	return ""
}

// rangeOf is where a Source stands. The writer goes by the bytes and
// prints the line.
func rangeOf(from plan.Source) *hcl.Range {
	start := hcl.Pos{Line: from.Line, Column: from.Col, Byte: from.Start}
	end := hcl.Pos{Line: from.Line, Column: from.Col + from.End - from.Start, Byte: from.End}
	return &hcl.Range{Filename: from.File, Start: start, End: end}
}

// sourceOf is a place of the file as a Source.
func sourceOf(name string, at hcl.Range) plan.Source {
	return plan.Source{
		Kind: plan.ByFile, Name: name, File: at.Filename,
		Line: at.Start.Line, Col: at.Start.Column,
		Start: at.Start.Byte, End: at.End.Byte,
	}
}

// upperFirst makes a sentence of what follows a semicolon elsewhere.
func upperFirst(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
