package yaml

// mayBegin marks a token at the cursor as one that may begin a key, if a key may
// begin there.
func (s *scanner) mayBegin(t *token) {
	if !s.keyAllowed {
		return
	}
	s.dropKey()
	t.undecided = true
	t.required = !s.inFlow() && s.indent == s.col // whatever is at a mapping's indentation is a key of it
	s.keys[len(s.keys)-1] = s.taken + len(s.queue) - s.head
}

// mayBeKey says whether a colon can still make a token the beginning of a key.
func (s *scanner) mayBeKey(t *token) bool {
	if t.undecided && (t.line < s.line || t.col+maxKey < s.col) {
		s.decide(t)
	}
	return t.undecided
}

// decide settles that no key begins with a token.
func (s *scanner) decide(t *token) {
	if t.required {
		s.fail(t.mark, "no \":\" after what is at the indentation of keys", "write KEY: VALUE, or indent it deeper than the key that it belongs to")
	}
	t.undecided = false
}

// lastKey is the token that may be the first of a key whose colon is at the
// cursor.
func (s *scanner) lastKey() *token {
	n := s.keys[len(s.keys)-1] - s.taken
	if n < 0 || !s.queue[s.head+n].undecided {
		return nil
	}
	return &s.queue[s.head+n]
}

// dropKey settles that no colon makes a key of what was before the cursor.
func (s *scanner) dropKey() {
	if t := s.lastKey(); t != nil {
		s.decide(t)
	}
	s.keys[len(s.keys)-1] = -1
}

// colon queues the one that is at the cursor, and settles what the key before it
// is.
func (s *scanner) colon() {
	t := token{kind: colon}
	if first := s.lastKey(); first != nil && s.mayBeKey(first) {
		first.undecided, first.isKey = false, true
		if s.roll(first.col) {
			first.opens = blockMapping
		}
		s.keys[len(s.keys)-1] = -1
		s.keyAllowed = false
	} else { // it belongs to a ?
		if !s.inFlow() {
			if !s.keyAllowed {
				s.fail(s.mark, `":" where no key can be before it`, `put text with ": " in it in quotes; a key is on one line and starts it`)
			}
			if s.roll(s.col) {
				t.opens = blockMapping
			}
		}
		s.keyAllowed = !s.inFlow()
	}
	s.put(t, 1)
}

// key queues a ?.
func (s *scanner) key() {
	s.indicator(token{kind: key}, blockMapping)
	s.keyAllowed = !s.inFlow()
}

// entry queues a -.
func (s *scanner) entry() {
	s.indicator(token{kind: entry}, blockSequence)
	s.keyAllowed = true
}

// indicator queues a token that, outside of brackets, begins a collection if it is
// indented deeper than what is around it.
func (s *scanner) indicator(t token, opens kind) {
	if !s.inFlow() {
		if !s.keyAllowed {
			s.fail(s.mark, s.here()+" in the middle of a value", "begin a line with it, or put the text in quotes")
		}
		if s.roll(s.col) {
			t.opens = opens
		}
	}
	s.dropKey()
	s.put(t, 1)
}

// open queues a bracket that opens.
func (s *scanner) open(k kind) {
	t := token{kind: k}
	s.mayBegin(&t)
	s.put(t, 1)
	s.keys = append(s.keys, -1)
	s.keyAllowed = true
}

// close queues a bracket that closes; whether it fits is the parser's to say.
func (s *scanner) close(k kind) {
	s.dropKey()
	if s.inFlow() {
		s.keys = s.keys[:len(s.keys)-1]
	}
	s.keyAllowed = false
	s.put(token{kind: k}, 1)
}

// roll makes a column the indentation, and says whether it is a deeper one.
func (s *scanner) roll(col int) bool {
	if s.inFlow() || s.indent >= col {
		return false
	}
	s.indents = append(s.indents, s.indent)
	s.indent = col
	return true
}

// unroll ends the blocks that are indented deeper than a column, at a place.
func (s *scanner) unroll(col int, at mark) {
	for !s.inFlow() && s.indent > col {
		s.queue = append(s.queue, token{kind: blockEnd, mark: at})
		s.indent = s.indents[len(s.indents)-1]
		s.indents = s.indents[:len(s.indents)-1]
	}
}

// outside ends all blocks: the cursor is between documents.
func (s *scanner) outside() {
	s.unroll(-1, s.mark)
	s.dropKey()
	s.keyAllowed = false
}
