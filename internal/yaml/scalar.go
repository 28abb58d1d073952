package yaml

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// beginsPlain says whether text without quotes begins at the cursor.
func (s *scanner) beginsPlain() bool {
	switch s.char(0) {
	case '-':
		return !s.blank(1)
	case '?', ':':
		return !s.inFlow() && !s.gap(1)
	case ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`':
		return false
	}
	return !s.gap(0)
}

// endsPlain says whether a character ends text without quotes.
func (s *scanner) endsPlain() bool {
	switch s.char(0) {
	case ':':
		return s.gap(1)
	case ',', '?', '[', ']', '{', '}':
		return s.inFlow()
	}
	return false
}

// plain reads text without quotes. It goes on over lines that are indented deeper
// than what is around it.
func (s *scanner) plain() string {
	var value, white []byte
	broken := false
	for !s.divider() && s.char(0) != '#' {
		from := s.at
		for !s.gap(0) && !s.endsPlain() {
			s.step()
		}
		if s.at > from {
			value = append(append(value, white...), s.text[from:s.at]...)
			broken = false
		}
		if s.char(0) == 0 || !s.gap(0) {
			break
		}
		white, broken = s.white(false, s.indent+1)
		if !s.inFlow() && s.col <= s.indent {
			break
		}
	}
	s.keyAllowed = broken
	return string(value)
}

// quoted reads text in single or double quotes.
func (s *scanner) quoted(quote byte) string {
	start := s.mark
	var value []byte
	s.skip(1)
	for {
		if s.divider() || s.char(0) == 0 {
			s.fail(start, "a quote that is not closed", "close it before "+s.here()+" at line "+strconv.Itoa(s.line+1))
		}
		escaped := false
		from := s.at
		flush := func(skip int) {
			value = append(value, s.text[from:s.at]...)
			s.skip(skip)
			from = s.at
		}
	word:
		for !s.gap(0) {
			switch char := s.char(0); {
			case char == '\'' && quote == char && s.char(1) == char:
				s.skip(1)
				flush(1)
			case char == quote:
				break word
			case char == '\\' && quote == '"' && s.lineBreak(1) > 0:
				flush(1)
				s.skipBreak()
				from, escaped = s.at, true
				break word
			case char == '\\' && quote == '"':
				flush(0)
				value = utf8.AppendRune(value, s.escape())
				from = s.at
			default:
				s.step()
			}
		}
		flush(0)
		if s.char(0) == quote {
			s.skip(1)
			return string(value)
		}
		white, _ := s.white(escaped, 0)
		value = append(value, white...)
	}
}

// escape reads an escape of double quotes: c-ns-esc-char in the specification, and
// \' beside.
func (s *scanner) escape() rune {
	start := s.mark
	s.skip(1)
	switch char := s.char(0); char {
	case 'x':
		return s.hex(start, 2)
	case 'U':
		return s.code(start, s.hex(start, 8))
	case 'u':
		r := s.hex(start, 4)
		if utf16.IsSurrogate(r) && s.char(0) == '\\' && s.char(1) == 'u' { // JSON has two for one
			s.skip(1)
			if r = utf16.DecodeRune(r, s.hex(start, 4)); r == utf8.RuneError {
				r = -1
			}
		}
		return s.code(start, r)
	default:
		const chars, stand = "0abtnvfre \"'/\\\tN_LP", "\x00\a\b\t\n\v\f\r\x1b \"'/\\\t\u0085\u00a0\u2028\u2029"
		n := strings.IndexByte(chars, char)
		if n < 0 {
			s.fail(start, `a "\" before `+s.here()+` in double quotes`, `write "\\" for a backslash, or take single quotes`)
		}
		s.skip(1)
		return []rune(stand)[n]
	}
}

// hex reads the letter of an escape and the digits behind it.
func (s *scanner) hex(start mark, digits int) rune {
	n, err := strconv.ParseUint(string(s.text[s.at+1:s.at+1+digits]), 16, 32)
	if err != nil {
		s.fail(start, "an escape without its digits", `\x has 2 hexadecimal digits, \u has 4 and \U has 8`)
	}
	s.skip(1 + digits)
	return rune(min(n, utf8.MaxRune+1))
}

// code is a character, or an error at its escape.
func (s *scanner) code(start mark, r rune) rune {
	if !utf8.ValidRune(r) {
		s.fail(start, "an escape of what is no character", `take \u0000 to \ud7ff, \ue000 to \uffff, or \U00010000 to \U0010ffff`)
	}
	return r
}
