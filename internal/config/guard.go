package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// The HCL parser recurses into its input and evaluates whatever an expression
// says, so a file could overflow the stack, which ends a Go program without
// another word, or take all memory. These bounds are checked before it sees
// the file. Each is far from what a configuration needs.
const (
	// maxSigns bounds the tokens, and with them the size of the syntax tree.
	maxSigns = 10_000
	// maxDepth is how deep brackets, quotes and templates may stand in each other.
	maxDepth = 64
	// maxOperators bounds what nests without brackets: !!!x, a ? b : c ? d : e.
	maxOperators = 200
	// maxCommas bounds lists: HCL compares the types of all elements with each
	// other when it makes them one.
	maxCommas = 2_000
	// maxDigits keeps numbers from being written out with a billion zeros.
	maxDigits = 18
)

// objection is what makes a file unfit for the parser, where it stands, and
// what to do.
type objection struct {
	wrong, way string
	at         hcl.Range
}

// The ways out of an objection.
const (
	flatten    = "A configuration has a page or two; this may be another file."
	writeValue = "There are no variables here, so the result can be written."
	writeDigit = "Write the digits, for example 30000."
)

// checkText says why src is no text file of a fitting size, if it is none, and what to do.
func checkText(src []byte) (wrong, way string) {
	switch {
	case len(bytes.TrimSpace(bytes.TrimPrefix(src, bom))) == 0:
		return "is empty", `for example: process "web" { command = ["nginx"] }`
	case bytes.HasPrefix(src, []byte{0xff, 0xfe}), bytes.HasPrefix(src, []byte{0xfe, 0xff}):
		return "is UTF-16", "save it as UTF-8"
	}
	for i, line := 0, 1; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		if r == 0 || r == utf8.RuneError && size == 1 {
			return fmt.Sprintf("is not text: it has the byte 0x%02x in line %d", src[i], line), "save it as UTF-8, or name another file"
		}
		if r == '\n' {
			line++
		}
		i += size
	}
	if n := signs(src); n > maxSigns {
		return fmt.Sprintf("has about %d words and signs; the most is %d", n, maxSigns), "a configuration has a page or two; this may be another file"
	}
	return "", ""
}

// signs is not less than the number of tokens in src: a run of letters or
// of digits is one, and so is every other byte but a blank.
func signs(src []byte) int {
	const blank, letter, digit, other = 0, 1, 2, 3
	n, last := 0, blank
	for _, c := range src {
		kind := other
		switch {
		case c == ' ' || c == '\t' || c == '\r':
			kind = blank
		case c >= '0' && c <= '9':
			kind = digit
		case c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= utf8.RuneSelf:
			kind = letter
		}
		if kind == other || kind != last && kind != blank {
			n++
		}
		last = kind
	}
	return n
}

// checkTokens refuses tokens that the parser or an evaluation could not
// bear. Loops and arithmetic go too: a file that has no variables needs
// neither, and each can make a page of text out of a line, many times over.
func checkTokens(tokens hclsyntax.Tokens) *objection {
	object := func(t hclsyntax.Token, wrong, way string) *objection { return &objection{wrong, way, t.Range} }
	depth, operators, commas := 0, 0, 0
	before := hclsyntax.Token{}
	for i, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenNewline, hclsyntax.TokenComment:
			continue
		case hclsyntax.TokenOBrack, hclsyntax.TokenOBrace, hclsyntax.TokenOParen, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp:
			depth++
			if t.Type == hclsyntax.TokenOBrack && ends(before) {
				operators++ // an index
			}
		case hclsyntax.TokenCBrack, hclsyntax.TokenCBrace, hclsyntax.TokenCParen, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			depth = max(depth-1, 0)
		case hclsyntax.TokenComma:
			commas++
		case hclsyntax.TokenTemplateControl:
			depth++
			operators++ // an if stands in another without a bracket
		case hclsyntax.TokenQuestion, hclsyntax.TokenBang, hclsyntax.TokenAnd, hclsyntax.TokenOr, hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual,
			hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq, hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq:
			operators++
		case hclsyntax.TokenStar, hclsyntax.TokenSlash, hclsyntax.TokenPercent, hclsyntax.TokenPlus, hclsyntax.TokenStarStar:
			return object(t, "arithmetic and [*] are not for this file", writeValue)
		case hclsyntax.TokenMinus:
			if i+1 == len(tokens) || tokens[i+1].Type != hclsyntax.TokenNumberLit {
				return object(t, "arithmetic is not for this file", writeValue)
			}
		case hclsyntax.TokenNumberLit:
			if len(t.Bytes) > maxDigits || bytes.ContainsAny(t.Bytes, "eE") {
				return object(t, "a number here has at most "+strconv.Itoa(maxDigits)+" digits and no exponent", writeDigit)
			}
		case hclsyntax.TokenIdent:
			if string(t.Bytes) == "for" && (before.Type == hclsyntax.TokenOBrack || before.Type == hclsyntax.TokenOBrace || before.Type == hclsyntax.TokenTemplateControl) {
				return object(t, "loops (for) are not for this file", writeValue)
			}
		}
		before = t
		if commas > maxCommas {
			return object(t, "there are more than "+strconv.Itoa(maxCommas)+" commas in the file", flatten)
		}
		if depth > maxDepth {
			return object(t, "brackets stand more than "+strconv.Itoa(maxDepth)+" deep in each other", flatten)
		}
		if operators > maxOperators {
			return object(t, "there are more than "+strconv.Itoa(maxOperators)+" operators in the file", flatten)
		}
	}
	return nil
}

// ends says whether t can end an expression, so that a bracket behind it is
// an index.
func ends(t hclsyntax.Token) bool {
	switch t.Type {
	case hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCBrace, hclsyntax.TokenCQuote, hclsyntax.TokenIdent, hclsyntax.TokenNumberLit:
		return true
	}
	return false
}

// checkJSON does for JSON what checkTokens does: the depth of brackets, the
// numbers, and every string that is a template.
func checkJSON(src []byte, name string) *objection {
	object := func(i, n int, wrong, way string) *objection {
		return &objection{wrong, way, rangeAt(src, name, i, i+n)}
	}
	depth := 0
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return object(i, 1, "brackets stand more than "+strconv.Itoa(maxDepth)+" deep in each other", flatten)
			}
		case c == '}' || c == ']':
			depth = max(depth-1, 0)
		case c == '"':
			end := stringEnd(src, i)
			if o := checkTemplate(src[i:end]); o != nil {
				return object(i, end-i, o.wrong, o.way)
			}
			i = end - 1
		case c >= '0' && c <= '9':
			end := i
			for end < len(src) && bytes.IndexByte([]byte("0123456789.eE+-"), src[end]) >= 0 {
				end++
			}
			if end-i > maxDigits || bytes.ContainsAny(src[i:end], "eE") {
				return object(i, end-i, "a number here has at most "+strconv.Itoa(maxDigits)+" digits and no exponent", writeDigit)
			}
			i = end - 1
		}
	}
	return nil
}

// stringEnd is behind the JSON string that begins at i.
func stringEnd(src []byte, i int) int {
	for i++; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(src)
}

// checkTemplate checks a JSON string that is a template.
func checkTemplate(quoted []byte) *objection {
	if !bytes.Contains(quoted, []byte("{")) && !bytes.Contains(quoted, []byte(`\u`)) {
		return nil
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return nil // the parser says what is wrong with it
	}
	tokens, _ := hclsyntax.LexTemplate([]byte(text), "", hcl.InitialPos)
	return checkTokens(tokens)
}

// rangeAt makes a range of byte offsets. Columns are counted in bytes, which
// is enough for a place in a file that is refused as a whole.
func rangeAt(src []byte, name string, start, end int) hcl.Range {
	pos := func(i int) hcl.Pos {
		i = min(i, len(src))
		line := bytes.Count(src[:i], []byte("\n"))
		return hcl.Pos{Line: line + 1, Column: i - bytes.LastIndexByte(src[:i], '\n'), Byte: i}
	}
	return hcl.Range{Filename: name, Start: pos(start), End: pos(end)}
}

// bareDurations finds values such as 30s without quotes, of which the parser
// says only that a line should have ended.
func bareDurations(tokens hclsyntax.Tokens) []objection {
	var list []objection
	for i := 1; i+1 < len(tokens); i++ {
		number, unit := tokens[i], tokens[i+1]
		if number.Type != hclsyntax.TokenNumberLit || unit.Type != hclsyntax.TokenIdent || unit.Range.Start.Byte != number.Range.End.Byte {
			continue
		}
		if before := tokens[i-1].Type; before != hclsyntax.TokenEqual && before != hclsyntax.TokenOBrack && before != hclsyntax.TokenComma {
			continue
		}
		text := string(number.Bytes) + string(unit.Bytes)
		list = append(list, objection{quote(text) + " is a text and needs quotes", "For example: " + strconv.Quote(text), hcl.RangeBetween(number.Range, unit.Range)})
	}
	return list
}
