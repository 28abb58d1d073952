package config

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"

	"graced/internal/plan"
)

// bom is the byte order mark of UTF-8, which some editors begin a file with.
var bom = []byte{0xef, 0xbb, 0xbf}

// HasFile says whether there is a file for a graced that was started without any
// argument: GRACED_CONFIG names one, or the default one is there.
func HasFile(environ []string) bool {
	if slices.ContainsFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, variable("config")+"=") }) {
		return true
	}
	_, err := os.Stat(DefaultFile)
	return err == nil
}

// readFile reads the file that is named, or the default one if it is there.
func (l *loader) readFile() {
	r := l.row("config")
	named := r.flag
	if named == nil {
		named = r.env
	}
	name := DefaultFile
	if named != nil {
		name = named.text
		if _, mistakes := parsePath(name); len(mistakes) > 0 {
			return // apply tells them
		}
	} else if !l.in.Exists(DefaultFile) {
		return
	}
	l.cfg.File = name
	src, err := l.in.ReadFile(name)
	if err == nil && len(src) > MaxFile {
		err = tooLarge(int64(len(src)), MaxFile)
	}
	switch {
	case err != nil && named != nil:
		l.problems.Add(Problem{Summary: quote(name) + " cannot be read: " + brief(err), Detail: r.asFlag(""), Source: named.from, at: named.at})
	case err != nil:
		l.unfit("cannot be read: "+brief(err), "it is read since it is there; --config FILE reads another")
	default:
		l.parse(src)
	}
}

// unfit tells what is wrong with the file as a whole.
func (l *loader) unfit(wrong, right string) {
	l.problems.Add(Problem{Summary: wrong, Detail: right, Source: plan.Source{Kind: plan.ByFile, Name: l.cfg.File}})
}

// parse reads the text of the file into the settings.
func (l *loader) parse(src []byte) {
	if wrong, way := checkText(src); wrong != "" {
		l.unfit(wrong, way)
		return
	}
	t := &text{name: l.cfg.File, file: &hcl.File{Bytes: src}}
	l.cfg.text, l.problems.text = t, t
	d := &decoder{l: l, text: t}
	defer func() {
		// The parser and its functions are others' code. What they could not
		// bear is checked before; should something be left, it is a problem of the
		// file and not the end of PID 1.
		if reason := recover(); reason != nil {
			l.unfit(fmt.Sprintf("cannot be read: the parser failed (%.60v)", reason), "please report the file, without its secrets")
		}
	}()
	if d.parse(src) {
		d.decode()
		l.decoded = true
	}
}

// isJSON says whether a file is in HCL's JSON syntax: by its name, or
// because it begins with a brace, as no file in the native syntax can.
func isJSON(name string, src []byte) bool {
	src = bytes.TrimSpace(bytes.TrimPrefix(src, bom))
	return strings.HasSuffix(name, ".json") || bytes.HasPrefix(src, []byte("{"))
}

// parse makes the syntax tree. Where there is none, a half-read file is not
// looked into: what is missing in it would be told too.
func (d *decoder) parse(src []byte) bool {
	file, objections, diags := syntax(d.text.name, src)
	lines := map[int]bool{}
	for _, o := range objections {
		d.problem("", o.at, o.wrong, o.way)
		lines[o.at.Start.Line] = true
	}
	if file != nil {
		file.Bytes = src
		d.text.file = file
	}
	for _, diag := range diags { // the first of a line; what follows is of its making
		line := subject(diag, d.start()).Start.Line
		if !lines[line] {
			d.diagnostic("", diag)
		}
		lines[line] = true
	}
	return file != nil && len(objections) == 0 && !diags.HasErrors()
}

// syntax parses a file in either syntax, if the parser can bear it.
func syntax(name string, src []byte) (*hcl.File, []objection, hcl.Diagnostics) {
	start := hcl.InitialPos
	if isJSON(name, src) {
		if o := checkJSON(src, name); o != nil {
			return nil, []objection{*o}, nil
		}
		if bytes.HasPrefix(src, bom) {
			start.Byte = len(bom)
		}
		file, diags := hcljson.ParseWithStartPos(src[start.Byte:], name, start)
		return file, nil, diags
	}
	src = withoutComments(src)
	tokens, _ := hclsyntax.LexConfig(src, name, start)
	if o := checkTokens(tokens); o != nil {
		return nil, []objection{*o}, nil
	}
	file, diags := hclsyntax.ParseConfig(src, name, start)
	if diags.HasErrors() {
		return file, bareDurations(tokens), diags
	}
	return file, nil, diags
}

// withoutComments blanks the lines that are comments and nothing else, so that
// all else stays where it is. The lexer counts the letters of a comment by the
// rules of Unicode, and it has to run twice: that would be a third of what a file
// that is well commented costs at each start. Where a line that looks like one may
// be part of a text (a heredoc) or of a longer comment, nothing is done. A text in
// quotes has no line break: that is an error, and stays one.
func withoutComments(src []byte) []byte {
	if bytes.Contains(src, []byte("<<")) || bytes.Contains(src, []byte("/*")) {
		return src
	}
	out := make([]byte, 0, len(src))
	for line := range bytes.Lines(src) {
		if text := bytes.TrimLeft(line, " \t"); bytes.HasPrefix(text, []byte("#")) || bytes.HasPrefix(text, []byte("//")) {
			end := len(line)
			for _, ending := range []string{"\r\n", "\n"} {
				if bytes.HasSuffix(line, []byte(ending)) {
					end -= len(ending)
					break
				}
			}
			out = append(out, bytes.Repeat([]byte(" "), end)...)
			line = line[end:]
		}
		out = append(out, line...)
	}
	return out
}
