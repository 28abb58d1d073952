package yaml

// directive reads a line that begins with %.
func (s *scanner) directive() {
	t := token{mark: s.mark}
	s.skip(1)
	name := s.word()
	switch {
	case name == "YAML" && s.gap(0):
		t.kind = version
		s.skipBlanks()
		if s.char(0) != '1' || s.char(1) != '.' || s.char(2) != '1' && s.char(2) != '2' {
			s.fail(s.mark, "another version of YAML", "write %YAML 1.2, or leave the line out")
		}
		s.skip(3)
	case name == "TAG" && s.gap(0):
		t.kind = handle
		s.skipBlanks()
		if s.char(0) == '!' {
			t.value = s.handle()
		}
		if t.value == "" || t.value != "!" && t.value[len(t.value)-1] != '!' || !s.blank(0) {
			s.fail(s.mark, s.here()+" in a %TAG line", "write %TAG !handle! prefix")
		}
		s.skipBlanks()
		t.tail = s.address("")
		if !s.gap(0) {
			s.fail(s.mark, s.here()+" in a %TAG line", "write %TAG !handle! prefix")
		}
	default:
		s.fail(t.mark, "an unknown directive", "a line that begins with % has %YAML or %TAG; elsewhere, put the text in quotes")
	}
	s.skipBlanks()
	if s.char(0) == '#' {
		s.rest()
	}
	if !s.lineEnd(0) {
		s.fail(s.mark, s.here()+" behind a directive", "end its line there")
	}
	s.skipBreak()
	s.queue = append(s.queue, t)
}
