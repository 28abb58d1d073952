package yaml

import "strings"

// isNameChar says whether a character may be in the name of an anchor, a handle
// or a directive.
func isNameChar(char byte) bool {
	return char >= '0' && char <= '9' || char >= 'A' && char <= 'Z' || char >= 'a' && char <= 'z' || char == '_' || char == '-'
}

// word goes over the characters of a name.
func (s *scanner) word() string {
	from := s.at
	for isNameChar(s.char(0)) {
		s.skip(1)
	}
	return string(s.text[from:s.at])
}

// name reads an anchor or alias.
func (s *scanner) name(k kind) string {
	s.skip(1)
	name := s.word()
	ended := s.gap(0)
	switch s.char(0) {
	case '?', ':', ',', ']', '}', '%', '@', '`':
		ended = true
	}
	if name == "" || !ended {
		s.fail(s.mark, s.here()+" in the name of "+k.String(), `a name has the letters A to Z, digits, "_" and "-"`)
	}
	return name
}

// tag reads one: !tail, !handle!tail or !<tail>. The handle of the first is !, and
// of the last none; ! alone is a tail.
func (s *scanner) tag() (handle, tail string) {
	if s.char(1) == '<' {
		s.skip(2)
		tail = s.address("")
		if s.char(0) != '>' {
			s.fail(s.mark, s.here()+" in a tag", `end it with ">", as !<tag:example.com,2000:x>`)
		}
		s.skip(1)
	} else if handle = s.handle(); len(handle) > 1 && handle[len(handle)-1] == '!' {
		tail = s.address("")
	} else if s.gap(0) && handle == "!" {
		handle, tail = "", "!"
	} else {
		handle, tail = "!", s.address(handle[1:])
	}
	if !s.gap(0) {
		s.fail(s.mark, s.here()+" in a tag", "end the tag with a space")
	}
	return handle, tail
}

// handle reads !, !name! or !name.
func (s *scanner) handle() string {
	from := s.at
	s.skip(1)
	s.word()
	if s.char(0) == '!' {
		s.skip(1)
	}
	return string(s.text[from:s.at])
}

// address reads the rest of a tag, which is a piece of a URI.
func (s *scanner) address(begun string) string {
	from := s.at
	for isNameChar(s.char(0)) || s.char(0) != 0 && strings.IndexByte(";/?:@&=+$,.!~*'()[]", s.char(0)) >= 0 {
		s.skip(1)
	}
	if s.char(0) == '%' {
		s.fail(s.mark, "an escape in a tag", "only letters, digits and punctuation are read there")
	}
	text := begun + string(s.text[from:s.at])
	if text == "" {
		s.fail(s.mark, s.here()+" in a tag", "a tag is !name, !handle!name or !<name>")
	}
	return text
}
