package yaml

import "unicode/utf8"

// mark is a place in a text, in lines and characters from 0.
type mark struct{ line, col int }

// cursor goes through a text.
type cursor struct {
	text []byte // padded
	at   int
	mark
}

// char is the byte n after the cursor; 0 is the end of the text.
func (c *cursor) char(n int) byte { return c.text[c.at+n] }

// blank says whether there is a space or a tab n after the cursor.
func (c *cursor) blank(n int) bool { return c.char(n) == ' ' || c.char(n) == '\t' }

// lineBreak is the length of the line break n after the cursor; 0: there is none.
func (c *cursor) lineBreak(n int) int {
	switch c.char(n) {
	case '\n':
		return 1
	case '\r':
		if c.char(n+1) == '\n' {
			return 2
		}
		return 1
	case 0xc2: // U+0085
		if c.char(n+1) == 0x85 {
			return 2
		}
	case 0xe2: // U+2028, U+2029
		if c.char(n+1) == 0x80 && c.char(n+2)|1 == 0xa9 {
			return 3
		}
	}
	return 0
}

// lineEnd says whether a line ends n after the cursor.
func (c *cursor) lineEnd(n int) bool { return c.char(n) == 0 || c.lineBreak(n) > 0 }

// gap says whether a word ends n after the cursor.
func (c *cursor) gap(n int) bool { return c.blank(n) || c.lineEnd(n) }

// skip goes over n characters of ASCII, none of which breaks the line.
func (c *cursor) skip(n int) {
	c.at += n
	c.col += n
}

// skipBlanks goes over spaces and tabs.
func (c *cursor) skipBlanks() {
	for c.blank(0) {
		c.skip(1)
	}
}

// skipBreak goes over a line break, if there is one, and gives it as it counts in
// a scalar.
func (c *cursor) skipBreak() string {
	width := c.lineBreak(0)
	if width == 0 {
		return ""
	}
	text := "\n"
	if width == 3 {
		text = string(c.text[c.at : c.at+3])
	}
	c.at += width
	c.line++
	c.col = 0
	return text
}

// step goes over one character, whatever it is.
func (c *cursor) step() {
	if c.lineBreak(0) > 0 {
		c.skipBreak()
		return
	}
	width := 1
	if c.char(0) >= utf8.RuneSelf {
		_, width = utf8.DecodeRune(c.text[c.at:])
	}
	c.at += width
	c.col++
}

// rest goes to the end of the line and gives what is left of it.
func (c *cursor) rest() []byte {
	from := c.at
	for !c.lineEnd(0) {
		c.step()
	}
	return c.text[from:c.at]
}

// divider says whether the cursor is at a line of --- or ..., which divides
// documents wherever it stands.
func (c *cursor) divider() bool {
	char := c.char(0)
	return c.col == 0 && (char == '-' || char == '.') && c.char(1) == char && c.char(2) == char && c.gap(3)
}

// here tells what is at the cursor, for an error.
func (c *cursor) here() string {
	switch {
	case c.char(0) == 0:
		return "the end of the file"
	case c.divider():
		return "the next document"
	case c.lineBreak(0) > 0:
		return "the end of the line"
	case c.char(0) == '\t':
		return "a tab"
	case c.char(0) == ' ':
		return "a space"
	case c.char(0) == '"':
		return `a '"'`
	}
	r, _ := utf8.DecodeRune(c.text[c.at:])
	return `"` + string(r) + `"`
}

// fail ends the reading with an error; Parse catches it.
func (c *cursor) fail(at mark, found, right string) {
	panic(&Error{Line: at.line + 1, Column: at.col + 1, Found: found, Right: right})
}
