package yaml

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// row is a text and what it is read as, as show writes it.
type row struct{ text, want string }

// rows are what YAML is, as far as manifests have it.
var rows = map[string][]row{
	"collections": {
		{"a: b\nc: d\n", `{"a": "b", "c": "d"}`},
		{"- a\n- b\n", `["a", "b"]`},
		{"a:\n  - b\n  - c\n", `{"a": ["b", "c"]}`},
		{"a:\n- b\n- c\nd: e\n", `{"a": ["b", "c"], "d": "e"}`}, // not indented
		{"- name: x\n  value: y\n- name: z\n", `[{"name": "x", "value": "y"}, {"name": "z"}]`},
		{"- - a\n  - b\n-\n  - c\n", `[["a", "b"], ["c"]]`},
		{"a:\n    b:\n     c: d\n", `{"a": {"b": {"c": "d"}}}`},
		{"a: {b: c, d: [e, f]}\n", `{"a": {"b": "c", "d": ["e", "f"]}}`},
		{"[\n  a,\n\tb, # tabs may stand within brackets\n  {c: d,},\n]\n", `["a", "b", {"c": "d"}]`},
		{"{a, b: , c}", `{"a": null, "b": null, "c": null}`},
		{"[a: b, ? c : d, e: ]", `[{"a": "b"}, {"c": "d"}, {"e": null}]`},
		{"? a\n: b\n? - c\n: - d\n? e\n", `{"a": "b", ["c"]: ["d"], "e": null}`},
		{"[a]: b\n{c: d}: e\n", `{["a"]: "b", {"c": "d"}: "e"}`},
		{"a: b\na: c\n", `{"a": "b", "a": "c"}`}, // as it is written
		{"a: &x {b: c}\n<<: *x\n", `{"a": {"b": "c"}, "<<": *x}`},
		{"{? a : b, ?c: d, ? }", `{"a": "b", "c": "d", null: null}`},
		{"[]", `[]`},
		{"{}", `{}`},
	},
	"JSON": {
		{`{"a":{"b":[1,-2.5e3,true,null,"c"]},"d":{}}`, `{"a": {"b": ["1", "-2.5e3", "true", null, "c"]}, "d": {}}`},
		{"{\n\t\"a\": \"b\\u00e9\\n\"\n\t, \"c\" : []\r\n}", `{"a": "bé\n", "c": []}`},
		{`"a"`, `"a"`},
	},
	"nothing": {
		{"a:\nb: ~\nc: null\nd: Null\ne: NULL\nf: nULL\n", `{"a": null, "b": null, "c": null, "d": null, "e": null, "f": "nULL"}`},
		{"a: ''\nb: \"\"\nc: 'null'\nd: \"~\"\n", `{"a": "", "b": "", "c": "null", "d": "~"}`},
		{"-\n- - \n-\n", `[null, [null], null]`},
		{"a: !!str\nb: !!null x\nc: !!str null\nd: &e\nf: ! ~\n", `{"a": !!str "", "b": !!null "x", "c": !!str "null", "d": null, "f": null}`},
		{"", ""},
		{"\n# a comment\n", ""},
	},
	"plain text": {
		{"a: b c  d\n", `{"a": "b c  d"}`},
		{"a: b\n  c\n\n  d\n", `{"a": "b c\nd"}`}, // one break is a space, two are one
		{"a b\nc\n", `"a b c"`},
		{"a: http://x:80/y#z?q=1,2&[3]\n", `{"a": "http://x:80/y#z?q=1,2&[3]"}`},
		{"a: b#c #d\n", `{"a": "b#c"}`},
		{"a: -1\nb: ?c\nd: :e\n", `{"a": "-1", "b": "?c", "d": ":e"}`},
		{"[a:b, -1, http://x, -]", `["a:b", "-1", "http://x", "-"]`},
		{"[a\n b,\nc]", `["a b", "c"]`},
		{"a: yes\nb: 0x1f\nc: 2001-01-01\nd: 1_000\n", `{"a": "yes", "b": "0x1f", "c": "2001-01-01", "d": "1_000"}`}, // text, all of it
		{"a: b \t # c\n", `{"a": "b"}`},
	},
	"quoted text": {
		{`'it''s'`, `"it's"`},
		{`'a\n"b"'`, `"a\\n\"b\""`},
		{"'a\n  b\n\n  c '", `"a b\nc "`},
		{"\"a \\\n  b\"", `"a b"`}, // a break that is escaped
		{"\"a\n\n  \\  b\"", `"a\n  b"`},
		{`"\0\a\b\t\n\v\f\r\e\"\\\N\_\L\P\x41\u00e9\U0001f600\ \'"`, `"\x00\a\b\t\n\v\f\r\x1b\"\\\u0085\u00a0\u2028\u2029Aé😀 '"`},
		{`"a: b": 'c: d'`, `{"a: b": "c: d"}`},
	},
	"blocks of text": {
		{"a: |\n  b\n   c\n\n  d\ne: f\n", `{"a": "b\n c\n\nd\n", "e": "f"}`},
		{"a: >\n  b\n  c\n\n  d\n   e\n  f\n", `{"a": "b c\nd\n e\nf\n"}`},
		{"a: |-\n  b\n\n", `{"a": "b"}`},
		{"a: |+\n  b\n\n", `{"a": "b\n\n"}`},
		{"a: |\n  b", `{"a": "b"}`},
		{"a: |2\n    b\n  c\n", `{"a": "  b\nc\n"}`},
		{"a: >1- # a comment\n  b\n c\n", `{"a": " b\nc"}`},
		{"a: |+1\n b\n\nc: |\nd: e\n", `{"a": "b\n\n", "c": "", "d": "e"}`},
		{"- |\n a\n # no comment\n# a comment\n- b\n", `["a\n# no comment\n", "b"]`},
		{"--- |\n a\n---\n>\n b\n", `"a\n" --- "b\n"`},
	},
	"anchors, aliases and tags": {
		{"- &a b\n- *a\n", `["b", *a]`},
		{"a: &x\n  b: c\nd: *x\n", `{"a": {"b": "c"}, "d": *x}`},
		{"&a [*a]", `[*a]`},
		{"a: &x\n- b\nc: &x d\ne: *x\n", `{"a": ["b"], "c": "d", "e": *x}`},
		{"&a a: &b b\n*a : *b\n", `{"a": "b", *a: *b}`},
		{"a: !Ref b\nc: !reset null\nd: !override\n- e\n", `{"a": !Ref "b", "c": !reset "null", "d": !override ["e"]}`},
		{"a: !!map {b: !!int 1}\nc: !<tag:yaml.org,2002:str> d\ne: !<x> f\n", `{"a": !!map {"b": !!int "1"}, "c": !!str "d", "e": x "f"}`},
		{"&a !t b", `!t "b"`},
		{"!t &a\n- b\n", `!t ["b"]`},
		{"%TAG !e! tag:example.com,2000:\n---\n!e!a b\n", `tag:example.com,2000:a "b"`},
		{"%TAG ! !my-\n---\n!a b\n--- !a b\n", `!my-a "b" --- !a "b"`},
		{"--- &a b\n--- *a\n", `"b" --- *a`}, // also of an earlier document
	},
	"documents": {
		{"a\n---\nb\n...\n---\nc\n", `"a" --- "b" --- "c"`},
		{"---\n---\n# a comment\n--- a\n", `null --- null --- "a"`},
		{"%YAML 1.1\n# a comment\n---\na: b\n", `{"a": "b"}`},
		{"--- # a comment\na: b\n...\n...\n", `{"a": "b"}`},
		{"a: ---\nb: ...\nc: --- d\n", `{"a": "---", "b": "...", "c": "--- d"}`},
	},
	"lines and bytes": {
		{"a: b\r\nc: |\r\n  d\r\n  e\r\n", `{"a": "b", "c": "d\ne\n"}`},
		{"a: b\rc: d\r", `{"a": "b", "c": "d"}`},
		{"\ufeffa: b\n", `{"a": "b"}`},
		{"\xff\xfea\x00:\x00 \x00\x3d\xd8\x00\xde", `{"a": "😀"}`},
		{"\xfe\xff\x00a\x00:\x00 \x00\xe9", `{"a": "é"}`},
		{"é: ü\n", `{"é": "ü"}`},
		{"a:\tb\t\n", `{"a": "b"}`},
		{"a: \"b \u2028 c\u0085d\"\n", `{"a": "b\u2028c d"}`},
	},
	"comments": {
		{"# a\na: # b\n  # c\n  b # d\n# e\n", `{"a": "b"}`},
		{"a:\n# b\n- c\n  # d\n- e # f\n", `{"a": ["c", "e"]}`},
		{"[a, # b\n c]#d", `["a", "c"]`},
		{"a: 'b'#c\n", `{"a": "b"}`},
		{"# a\n\t# b\n", ""},
	},
}

// show writes documents on one line.
func show(documents []*Node) string {
	var all []string
	for _, n := range documents {
		all = append(all, n.show())
	}
	return strings.Join(all, " --- ")
}

func (n *Node) show() string {
	var inner []string
	for i, c := range n.Content {
		if n.Kind == Mapping && i%2 == 1 {
			inner[len(inner)-1] += ": " + c.show()
		} else {
			inner = append(inner, c.show())
		}
	}
	text := fmt.Sprintf("%q", n.Value)
	switch n.Kind {
	case Sequence:
		text = "[" + strings.Join(inner, ", ") + "]"
	case Mapping:
		text = "{" + strings.Join(inner, ", ") + "}"
	case Alias:
		return "*" + n.Value
	}
	switch {
	case n.Tag == Null && isNull(n.Value):
		return "null"
	case n.Tag != "":
		return n.Tag + " " + text
	}
	return text
}

// TestRows reads each text, and has the library read it.
func TestRows(t *testing.T) {
	for name, rows := range rows {
		for _, r := range rows {
			documents, err := Parse([]byte(r.text))
			if got := show(documents); got != r.want || err != nil {
				t.Errorf("%s: %q is %s, %v; want %s", name, r.text, got, err, r.want)
			}
			agree(t, []byte(r.text))
		}
	}
}

// refused are texts that are no YAML, and what is said of them.
var refused = []row{
	{"a: b\n c: d\n", `line 2, column 3: found ":" where no key can be before it; put text with ": " in it in quotes; a key is on one line and starts it`},
	{"a: b: c\n", `line 1, column 5: found ":" where no key can be before it; put text with ": " in it in quotes; a key is on one line and starts it`},
	{"a: b\n- c\n", `line 2, column 1: found "-"; write KEY: VALUE, indented as the keys before are`},
	{"- a\nb: c\n", `line 2, column 1: found a key; write "- " and an item, indented as those before are`},
	{"a:\n  b: c\n d: e\n", `line 3, column 2: found the start of a mapping; write KEY: VALUE, indented as the keys before are`},
	{"a: b\nc\n", `line 2, column 1: found no ":" after what is at the indentation of keys; write KEY: VALUE, or indent it deeper than the key that it belongs to`},
	{"a: b\n[c\n", `line 2, column 1: found no ":" after what is at the indentation of keys; write KEY: VALUE, or indent it deeper than the key that it belongs to`},
	{"a: - b\n", `line 1, column 4: found "-" in the middle of a value; begin a line with it, or put the text in quotes`},
	{"--- a: b\n", `line 1, column 6: found ":" where no key can be before it; put text with ": " in it in quotes; a key is on one line and starts it`},
	{"a\n...\nb\n", `line 3, column 1: found text; only "---" and the next document may be here; indent what belongs to the value before`},
	{"a:\n\tb: c\n", `line 2, column 1: found a tab; lines are indented by spaces only`},
	{"- \ta\n", `line 1, column 3: found a tab; lines are indented by spaces only`},
	{"a: b\n\tc\n", `line 2, column 1: found a tab in the indentation of text of several lines; lines are indented by spaces only`},
	{"a: |\n\tb\n", `line 2, column 1: found a tab in the indentation of a text of lines; lines are indented by spaces only`},
	{"a: |x\n b\n", `line 1, column 5: found "x" behind the | or > of a text of lines; there may be - or +, a digit from 1 to 9 and a comment; the text begins on the next line`},
	{"a: |0\n b\n", `line 1, column 5: found "0" behind the | or > of a text of lines; there may be - or +, a digit from 1 to 9 and a comment; the text begins on the next line`},
	{"a: @b\n", `line 1, column 4: found "@"; text that begins with it stands in quotes`},
	{"%a\n", `line 1, column 1: found an unknown directive; a line that begins with % has %YAML or %TAG; elsewhere, put the text in quotes`},
	{"a: %b\n", `line 1, column 4: found "%"; text that begins with it stands in quotes`},
	{"[a, b", `line 2, column 1: found the end of the file behind a value within brackets; write "," or "]" before it, for the bracket of line 1, or put the text in quotes`},
	{"[a, b}", `line 1, column 6: found "}" behind a value within brackets; write "," or "]" before it, for the bracket of line 1, or put the text in quotes`},
	{"[a,, b]", `line 1, column 4: found "," in the place of a value; write the value before it, or put it in quotes if it is text`},
	{"[a: b: c]", `line 1, column 6: found ":" behind a value within brackets; write "," or "]" before it, for the bracket of line 1, or put the text in quotes`},
	{"{a: b\nc: d}", `line 2, column 2: found ":" behind a value within brackets; write "," or "}" before it, for the bracket of line 1, or put the text in quotes`},
	{`["a"b]`, `line 1, column 5: found text behind a value within brackets; write "," or "]" before it, for the bracket of line 1, or put the text in quotes`},
	{"[a]]", `line 1, column 4: found "]"; only "---" and the next document may be here; indent what belongs to the value before`},
	{"[|]", `line 1, column 2: found "|"; within brackets, text stands in quotes`},
	{"{: a}", `line 1, column 2: found ":" in the place of a value; write the value before it, or put it in quotes if it is text`},
	{"[http://x/?a=b]", `line 1, column 11: found a key behind a value within brackets; write "," or "]" before it, for the bracket of line 1, or put the text in quotes`},
	{"a: 'b\n", `line 1, column 4: found a quote that is not closed; close it before the end of the file at line 2`},
	{"a: \"b\n--- c\n", `line 1, column 4: found a quote that is not closed; close it before the next document at line 2`},
	{`"\q"`, `line 1, column 2: found a "\" before "q" in double quotes; write "\\" for a backslash, or take single quotes`},
	{`"\x4"`, `line 1, column 2: found an escape without its digits; \x has 2 hexadecimal digits, \u has 4 and \U has 8`},
	{`"\ud83d"`, `line 1, column 2: found an escape of what is no character; take \u0000 to \ud7ff, \ue000 to \uffff, or \U00010000 to \U0010ffff`},
	{`"\ud83d\u0041"`, `line 1, column 2: found an escape of what is no character; take \u0000 to \ud7ff, \ue000 to \uffff, or \U00010000 to \U0010ffff`},
	{`"\U00110000"`, `line 1, column 2: found an escape of what is no character; take \u0000 to \ud7ff, \ue000 to \uffff, or \U00010000 to \U0010ffff`},
	{"a: *b\n", `line 1, column 4: found *b without an anchor; set &b at a value before it, or put it in quotes if it is text`},
	{"*.log: a\n", `line 1, column 2: found "." in the name of an alias; a name has the letters A to Z, digits, "_" and "-"`},
	{"&a.b c\n", `line 1, column 3: found "." in the name of an anchor; a name has the letters A to Z, digits, "_" and "-"`},
	{"a: &a &b c\n", `line 1, column 7: found an anchor; write KEY: VALUE, indented as the keys before are`},
	{"!e!a b", `line 1, column 1: found a tag with the unknown handle !e!; say what it stands for by a line %TAG !e! PREFIX before ---`},
	{"!{a} b", `line 1, column 2: found "{" in a tag; a tag is !name, !handle!name or !<name>`},
	{"!<a b", `line 1, column 4: found a space in a tag; end it with ">", as !<tag:example.com,2000:x>`},
	{"%YAML 1.1\n%YAML 1.1\n---\n", `line 2, column 1: found a second %YAML line; leave one of them out`},
	{"%TAG !a! b\n%TAG !a! c\n---\n", `line 2, column 1: found a second %TAG line for !a!; leave one of them out`},
	{"%TAG a b\n---\n", `line 1, column 6: found "a" in a %TAG line; write %TAG !handle! prefix`},
	{"%YAML 2.0\n---\n", `line 1, column 7: found another version of YAML; write %YAML 1.2, or leave the line out`},
	{"%YAML 1.1 1\n---\n", `line 1, column 11: found "1" behind a directive; end its line there`},
	{"%YAML 1.1\na: b\n", `line 2, column 1: found text; only "---" and the next document may be here; indent what belongs to the value before`},
	{"a: \"b\u00a0\x00\"\n", `line 1, column 7: found the control character U+0000; take it out, or write it in double quotes, as \x07 is`},
	{"a: é\xff\n", `line 1, column 5: found the byte 0xff, which is not UTF-8; save the file as UTF-8`},
	{"\xff\xfea", `line 1, column 1: found half of a character of UTF-16 somewhere in the file; save it as UTF-8`},
	{"\xff\xfe\x00\xd8", `line 1, column 1: found half of a character of UTF-16 somewhere in the file; save it as UTF-8`},
}

// TestRefused has the error of each text, which the library refuses too.
func TestRefused(t *testing.T) {
	for _, r := range refused {
		documents, err := Parse([]byte(r.text))
		if err == nil || documents != nil || err.Error() != r.want {
			t.Errorf("%q: got %v, %s; want %s", r.text, err, show(documents), r.want)
		}
		agree(t, []byte(r.text))
	}
}

// TestPlaces has where each value begins: with its anchor and tag, in characters,
// and what is not there where it would be.
func TestPlaces(t *testing.T) {
	for _, r := range []row{
		{"a:\n  - b\n  - c: d\n", "1:1 1:1 2:3 2:5 3:5 3:5 3:8"},
		{"é: [ü, 'x', {y: z}]\n", "1:1 1:1 1:4 1:5 1:8 1:13 1:14 1:17"},
		{"# a\n\n- &b !c\n  d: |\n   e\n- *b\n", "3:1 3:3 4:3 4:6 6:3"},
		{"a:\nb:\n- \n-\n", "1:1 1:1 1:3 2:1 3:1 3:2 4:2"},
		{"a: {b, c: }\n", "1:1 1:1 1:4 1:5 1:6 1:8 1:11"},
		{"a\r\n---\r\nb\r\n---", "1:1 3:1 5:1"},
	} {
		documents, err := Parse([]byte(r.text))
		var places []string
		var add func(nodes []*Node)
		add = func(nodes []*Node) {
			for _, n := range nodes {
				places = append(places, fmt.Sprintf("%d:%d", n.Line, n.Column))
				add(n.Content)
			}
		}
		add(documents)
		if got := strings.Join(places, " "); got != r.want || err != nil {
			t.Errorf("%q: %s, %v; want %s", r.text, got, err, r.want)
		}
		agree(t, []byte(r.text))
	}
}

// TestLimits: a text over a limit is refused, and nothing takes long or too deep a
// stack: each is a quarter of the longest manifest.
func TestLimits(t *testing.T) {
	const size = 1 << 20
	long := func(piece string) string { return strings.Repeat(piece, size/len(piece)) }
	values := func(piece string) string { return strings.Repeat(piece, maxNodes+1) }
	var handles, aliases strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&handles, "%%TAG !%d! a\n", i)
		fmt.Fprintf(&aliases, "- &a%d\n- *a%d\n", i, i)
	}
	for text, says := range map[string]string{
		handles.String() + "---\n- !199999!x b\n": "", aliases.String(): "",
		long("["): "10000 deep", long("{a: "): "10000 deep", long("- "): "10000 deep", long("? "): "10000 deep", long("[[a]:1]:1"): `"---"`,
		long("[],"): `"---"`, "[" + long("a,"): "half a million", long("a:\n"): "half a million", values("--- a\n"): "half a million",
		long("x"): "", long("x\n"): "", long("# x\n"): "", long("\n"): "", "'" + long("\n"): "not closed", `"` + long(`\n`): "not closed", "|\n" + long(" x\n"): "",
		values("- &a\n"): "half a million", strings.Repeat("[", 9999) + strings.Repeat("]", 9999): "", strings.Repeat("- ", 9999): "",
	} {
		begin := used()
		_, err := Parse([]byte(text))
		if took := used() - begin; took > 5*time.Second { // a fraction of it without the race detector
			t.Errorf("%.10q…: it took %v", text, took)
		}
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%.10q…: %v; want %s", text, err, says)
		}
	}
}

// used is the processor time of this process; a clock would count what others use.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
