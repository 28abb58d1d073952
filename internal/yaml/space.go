package yaml

// Where the library looks for a comment, it looks no further than this many bytes.
const maxSpace = 512

// skipSpace goes to the next token, over blanks, comments and line breaks. Outside
// of brackets a tab may be behind a token, and not in the indentation.
func (s *scanner) skipSpace() {
	for {
		for s.char(0) == ' ' || s.char(0) == '\t' && (s.inFlow() || !s.keyAllowed) {
			s.skip(1)
		}
		if s.char(0) == '#' {
			s.comments()
		}
		if s.lineBreak(0) == 0 {
			return
		}
		s.skipBreak()
		if !s.inFlow() {
			s.keyAllowed = true
		}
	}
}

// comments goes over a comment, and over those on the lines that follow, which
// may be indented by tabs.
func (s *scanner) comments() {
	for s.char(0) == '#' {
		s.rest()
		n := 1
		for n < maxSpace && (s.blank(n) || s.char(n) == '\n' || s.char(n) == '\r') {
			n++
		}
		if n == maxSpace || s.char(n) != '#' {
			return
		}
		for end := s.at + n; s.at < end; {
			s.step()
		}
	}
}

// lineComment goes over a comment behind a token on its line.
func (s *scanner) lineComment() {
	n := 0
	for n < maxSpace && s.blank(n) {
		n++
	}
	if n < maxSpace && s.char(n) == '#' {
		s.skip(n)
		s.rest()
	}
}

// white goes over the blanks and line breaks between two words of a scalar and
// gives what stands for them: blanks for themselves, unless they are at either end
// of a line; one line break for a space, and of several the first for nothing.
// escaped: a break that stands for nothing was already there. A tab in front of a
// column, where the scalar has to be indented, is an error.
func (s *scanner) white(escaped bool, col int) (text []byte, broken bool) {
	from, first := s.at, ""
	var more []byte
	for broken = escaped; ; {
		switch {
		case s.lineBreak(0) > 0 && !broken:
			broken, first = true, s.skipBreak()
		case s.lineBreak(0) > 0:
			more = append(more, s.skipBreak()...)
		case !s.blank(0) && !broken:
			return s.text[from:s.at], false
		case !s.blank(0) && first != "\n":
			return append([]byte(first), more...), true
		case !s.blank(0) && len(more) == 0:
			return []byte(" "), true
		case !s.blank(0):
			return more, true
		case broken && s.char(0) == '\t' && s.col < col:
			s.fail(s.mark, s.here()+" in the indentation of text of several lines", "lines are indented by spaces only")
		default:
			s.skip(1)
		}
	}
}
