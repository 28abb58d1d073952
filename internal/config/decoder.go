package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"graced/internal/plan"
)

// decoder reads the syntax tree by the schema.
type decoder struct {
	l       *loader
	text    *text
	schema  block
	ctx     *hcl.EvalContext
	touched bool // env or file had a part in the attribute under way
	size    int  // of what functions have made, in bytes
}

// content is a block that was read: values has what is right in it, from also
// where the rest stands, which was told.
type content struct {
	name   string // with the blocks around it: process.web
	kind   string // process
	label  string
	at     hcl.Range // its header
	values map[string]any
	from   map[string]plan.Source
	blocks []content
	meant  map[string]bool // the names that unknown ones were meant to be
}

// take is the value of an attribute, unset if it is not there.
func take[T any](c content, name string) plan.Setting[T] {
	v, ok := c.values[name].(T)
	if !ok {
		return plan.Setting[T]{}
	}
	return plan.Given(v, c.from[name])
}

// source is where the block stands.
func (c content) source() plan.Source { return sourceOf(c.name, c.at) }

// the is the block of a kind that can stand there once; it is empty if it
// does not.
func (c content) the(kind string) content {
	for _, b := range c.blocks {
		if b.kind == kind {
			return b
		}
	}
	return content{}
}

// all are the blocks of a kind.
func (c content) all(kind string) []content {
	var list []content
	for _, b := range c.blocks {
		if b.kind == kind {
			list = append(list, b)
		}
	}
	return list
}

// dotted puts a name behind the blocks around it.
func dotted(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ".")
}

// decode reads the whole file into the settings.
func (d *decoder) decode() {
	d.ctx = &hcl.EvalContext{Functions: d.functions()}
	d.schema = d.l.schema()
	whole := d.block(content{}, d.text.file.Body, &d.schema)
	d.l.whole = whole
	d.settings(whole)
}

// block reads the body of a block by its schema.
func (d *decoder) block(c content, body hcl.Body, schema *block) content {
	c.values, c.from, c.meant = map[string]any{}, map[string]plan.Source{}, map[string]bool{}
	found, diags := body.Content(schema.body())
	for _, diag := range diags {
		if !d.unknownName(c, schema, diag) {
			d.diagnostic(c.name, diag)
		}
	}
	if found == nil {
		return c
	}
	for i := range schema.attrs {
		d.attribute(&c, &schema.attrs[i], found)
	}
	seen := map[string]hcl.Range{}
	for _, b := range found.Blocks {
		i := slices.IndexFunc(schema.blocks, func(s block) bool { return s.name == b.Type })
		if i >= 0 {
			d.inner(&c, &schema.blocks[i], b, seen)
		}
	}
	return c
}

// inner reads a block that stands in another, if it may.
func (d *decoder) inner(c *content, schema *block, b *hcl.Block, seen map[string]hcl.Range) {
	label := strings.Join(b.Labels, " ")
	name := dotted(c.name, b.Type, label)
	key := b.Type
	if schema.many {
		key += "." + label
	}
	if first, twice := seen[key]; twice && (!schema.many || schema.unique) {
		d.problem(name, b.DefRange, "is there twice; the first is in line "+strconv.Itoa(first.Start.Line), "Put what both say into one.")
		return
	}
	seen[key] = b.DefRange
	if schema.check != nil {
		for _, m := range schema.check(label) {
			at, detail := b.DefRange, "For example: "+b.Type+" "+exampleLabel(schema)+" { … }"
			if len(b.LabelRanges) > 0 {
				at = b.LabelRanges[0]
			}
			if m.right != "" {
				detail = "For example: " + b.Type + " " + quote(m.right) + " { … }"
			}
			d.problem(dotted(c.name, b.Type), at, m.wrong, detail)
		}
	}
	inner := content{name: name, kind: b.Type, label: label, at: b.DefRange}
	c.blocks = append(c.blocks, d.block(inner, b.Body, schema))
}

// exampleLabel is a right label of a kind of block.
func exampleLabel(schema *block) string {
	switch schema.label {
	case "signal":
		return `"SIGTERM"`
	case "kind":
		return `"ready"`
	}
	return `"web"`
}

// attribute evaluates and reads one attribute.
func (d *decoder) attribute(c *content, attr *attribute, found *hcl.BodyContent) {
	name := dotted(c.name, attr.name)
	a, ok := found.Attributes[attr.name]
	if !ok {
		if attr.required && !c.meant[attr.name] {
			d.problem(name, c.at, "is missing", "For example: "+attr.name+" = "+attr.example)
		}
		return
	}
	f := &field{d: d, name: name, attr: attr, expr: a.Expr}
	from := sourceOf(name, a.Expr.Range())
	c.from[attr.name] = from
	_, variable := a.Expr.(*hclsyntax.ScopeTraversalExpr)
	if word := hcl.ExprAsKeyword(a.Expr); variable && word != "" {
		f.wrong(a.Expr.Range(), mistake{wrong: "is a name without quotes: " + quote(word), right: bare(attr, word)})
		return
	}
	d.touched = false
	v, diags := a.Expr.Value(d.ctx)
	f.value, f.hidden = v, d.touched
	if diags.HasErrors() {
		for _, diag := range diags {
			d.failed(f, diag)
		}
		return
	}
	if v.IsNull() || !v.IsWhollyKnown() {
		f.wrong(a.Expr.Range(), mistake{wrong: "is null; leave the line out"})
		return
	}
	if value, ok := attr.read(f); ok {
		c.values[attr.name] = value
		if f.hidden {
			d.l.hidden[from.Start] = true
		}
	}
}

// bare is the value that a name without quotes was meant to be, where the
// setting is a text.
func bare(attr *attribute, word string) string {
	if strings.HasPrefix(attr.example, `"`) {
		return quote(word)
	}
	return ""
}

// unknownName tells of an attribute or block that does not exist there, with
// the nearest name or the block that it belongs into. diag is what the
// parser says of it.
func (d *decoder) unknownName(c content, schema *block, diag *hcl.Diagnostic) bool {
	if diag.Subject == nil || !diag.Subject.CanSliceBytes(d.text.file.Bytes) {
		return false
	}
	name := strings.Trim(string(diag.Subject.SliceBytes(d.text.file.Bytes)), `"`)
	if !hclsyntax.ValidIdentifier(name) || schema.has(name) || slices.Contains(strings.Split(c.name, "."), name) {
		return false
	}
	where := "in " + c.name
	if c.name == "" {
		where = "at the top of the file"
	}
	detail := "There " + isAre(schema.names()) + "."
	if near := nearest(name, schema.names()); near != "" {
		c.meant[near] = true // so that it is not told to be missing too
		detail = "Did you mean " + quote(near) + "?"
	} else if home := d.schema.home(name, ""); home != "" {
		detail = "It belongs into the block " + home + "."
	}
	d.problem(dotted(c.name, name), *diag.Subject, "there is no such setting "+where, detail)
	return true
}

// isAre lists what there is, behind the word "there".
func isAre(names []string) string {
	const most = 30
	switch n := len(names); {
	case n == 0:
		return "is none"
	case n == 1:
		return "is only " + names[0]
	case n > most:
		return "are " + strings.Join(names[:most], ", ") + " and " + strconv.Itoa(n-most) + " more"
	}
	return "are " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// failed tells that an expression could not be evaluated. What the functions
// of HCL say may repeat their arguments, so it is not shown if env or
// file had a part in those.
func (d *decoder) failed(f *field, diag *hcl.Diagnostic) {
	if extra, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](diag); ok {
		if c := asCallError(extra.FunctionCallError()); c != nil {
			right := c.right
			if right == "" {
				right = f.attr.example
			}
			d.problem(f.name, subject(diag, f.expr.Range()), c.wrong, "For example: "+right)
			return
		}
	}
	hidden := *diag
	if extra, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallUnknownDiagExtra](diag); ok {
		names := slices.Sorted(maps.Keys(d.ctx.Functions))
		hidden.Detail = "There " + isAre(names) + "."
		if near := nearest(extra.CalledFunctionName(), names); near != "" {
			hidden.Detail = "Did you mean " + near + "(…)?"
		}
	} else if d.touched {
		hidden.Detail = "What it was given is not shown, since env or file had a part in it."
	}
	if hidden.Subject == nil {
		hidden.Subject = f.expr.Range().Ptr()
	}
	d.diagnostic(f.name, &hidden)
}

// diagnostic records what the parser or an evaluation says.
func (d *decoder) diagnostic(name string, diag *hcl.Diagnostic) {
	summary := diag.Summary
	if name != "" && summary != "" {
		first, size := utf8.DecodeRuneInString(summary)
		summary = string(unicode.ToLower(first)) + summary[size:]
	}
	d.problem(name, subject(diag, d.start()), summary, diag.Detail)
}

// start is the beginning of the file, for what has no place.
func (d *decoder) start() hcl.Range {
	return hcl.Range{Filename: d.text.name, Start: hcl.InitialPos, End: hcl.InitialPos}
}

// subject is where a diagnostic points to.
func subject(diag *hcl.Diagnostic, otherwise hcl.Range) hcl.Range {
	if diag.Subject != nil {
		return *diag.Subject
	}
	return otherwise
}

// problem records a problem at a place of the file.
func (d *decoder) problem(name string, at hcl.Range, summary, detail string) {
	d.l.problems.Add(Problem{Summary: summary, Detail: detail, Source: sourceOf(name, at)})
}
