package yaml

// block reads a literal or folded text: | or >, and the lines that are indented
// deeper than what is around it.
func (s *scanner) block(folded bool) string {
	s.skip(1)
	chomp, indent := s.blockHeader()
	if indent > 0 {
		indent += max(s.indent, 0)
	}
	var value, breaks []byte // breaks: of the empty lines before the cursor
	ended := ""              // the break of the line before them
	spaced := false          // that line begins with a blank
	for indent, breaks = s.indentation(indent, nil); s.col == indent && s.char(0) != 0; indent, breaks = s.indentation(indent, breaks[:0]) {
		// folding joins lines by a space, except for those that are indented deeper
		switch {
		case !folded || ended != "\n" || spaced || s.blank(0):
			value = append(value, ended...)
		case len(breaks) == 0:
			value = append(value, ' ')
		}
		value = append(value, breaks...)
		spaced = s.blank(0)
		value = append(value, s.rest()...)
		ended = s.skipBreak()
	}
	if chomp != '-' {
		value = append(value, ended...)
	}
	if chomp == '+' {
		value = append(value, breaks...)
	}
	return string(value)
}

// blockHeader reads what is behind | or > on its line: whether line breaks at the
// end are dropped (-) or kept (+), and how much deeper the text is indented. The
// two may have either order.
func (s *scanner) blockHeader() (chomp byte, indent int) {
	for range 2 {
		switch char := s.char(0); {
		case chomp == 0 && (char == '-' || char == '+'):
			chomp = char
			s.skip(1)
		case indent == 0 && char >= '1' && char <= '9':
			indent = int(char - '0')
			s.skip(1)
		}
	}
	s.skipBlanks()
	if s.char(0) == '#' {
		s.rest()
	}
	if !s.lineEnd(0) {
		s.fail(s.mark, s.here()+" behind the | or > of a text of lines", "there may be - or +, a digit from 1 to 9 and a comment; the text begins on the next line")
	}
	s.skipBreak()
	return chomp, indent
}

// indentation goes to the text of the next line that has any, and gives the breaks
// before it. With an indent of 0, that line's is found out.
func (s *scanner) indentation(indent int, breaks []byte) (int, []byte) {
	widest := 0
	for {
		for s.char(0) == ' ' && (indent == 0 || s.col < indent) {
			s.skip(1)
		}
		widest = max(widest, s.col)
		if s.char(0) == '\t' && (indent == 0 || s.col < indent) {
			s.fail(s.mark, s.here()+" in the indentation of a text of lines", "lines are indented by spaces only")
		}
		if s.lineBreak(0) == 0 {
			break
		}
		breaks = append(breaks, s.skipBreak()...)
	}
	if indent == 0 {
		indent = max(widest, s.indent+1, 1)
	}
	return indent, breaks
}
