package yaml

// A key without ? has its colon on its first line, within so many characters.
const maxKey = 1024

// scanner makes tokens of a text.
//
// That a mapping begins, and with a key, is known only at the colon behind the
// key. The first token of what may be a key is therefore held back, undecided,
// until there is the colon, or there can be none any more.
type scanner struct {
	cursor
	queue []token // from head on, what was not taken
	head  int
	taken int // how many left the queue for good

	indent  int   // of the innermost block collection; -1 outside of all
	indents []int // of those around it
	// keys has, for the block and each bracket within, the number of the token
	// that may be the first of a key; -1: none.
	keys       []int
	keyAllowed bool // a key without ? may begin here
}

func newScanner(text []byte) scanner {
	return scanner{cursor: cursor{text: text}, indent: -1, keys: []int{-1}, keyAllowed: true}
}

// look gives the kind of the next token, which is s.queue[s.head].
func (s *scanner) look() kind {
	for s.head == len(s.queue) || s.mayBeKey(&s.queue[s.head]) {
		s.fetch()
	}
	switch t := &s.queue[s.head]; {
	case t.opens != 0:
		return t.opens
	case t.isKey:
		return key
	default:
		return t.kind
	}
}

// next is the token that look is about.
func (s *scanner) next() *token {
	s.look()
	return &s.queue[s.head]
}

// take removes what look gave: one token may stand for the beginning of a
// collection, then for that of a key, then for itself.
func (s *scanner) take() token {
	t := s.next()
	whole := *t
	switch {
	case t.opens != 0:
		t.opens = 0
		return whole
	case t.isKey:
		t.isKey = false
		return whole
	}
	s.head++
	s.taken++
	if s.head == len(s.queue) {
		s.queue, s.head = s.queue[:0], 0
	} else if s.head >= 4*maxKey { // it is rarely this long, and never much longer
		s.queue, s.head = append(s.queue[:0], s.queue[s.head:]...), 0
	}
	return whole
}

// inFlow says whether the cursor is within brackets, where indentation does not
// count.
func (s *scanner) inFlow() bool { return len(s.keys) > 1 }

// put queues a token that begins at the cursor and is n characters long.
func (s *scanner) put(t token, n int) {
	t.mark = s.mark
	s.skip(n)
	s.queue = append(s.queue, t)
}

// fetch queues the next token.
func (s *scanner) fetch() {
	from := s.mark
	s.skipSpace()
	s.unroll(s.col, from)
	switch char := s.char(0); {
	case char == 0:
		if s.col > 0 { // as if the last line had a break
			s.line, s.col = s.line+1, 0
		}
		s.outside()
		s.put(token{kind: textEnd}, 0)
		return
	case char == '%' && s.col == 0:
		s.outside()
		s.directive()
		return
	case s.divider():
		s.outside()
		if char == '-' {
			s.put(token{kind: documentStart}, 3)
		} else {
			s.put(token{kind: documentEnd}, 3)
		}
		return
	case char == '-' && s.gap(1):
		s.entry()
		return // a comment after it is one before its item
	case (char == '|' || char == '>') && !s.inFlow():
		s.dropKey()
		s.keyAllowed = true
		t := token{kind: scalar, mark: s.mark}
		t.value = s.block(char == '>')
		s.queue = append(s.queue, t)
		return // it ends at the start of a line
	case char == '[':
		s.open(openSequence)
	case char == '{':
		s.open(openMapping)
	case char == ']':
		s.close(closeSequence)
	case char == '}':
		s.close(closeMapping)
	case char == ',':
		s.dropKey()
		s.keyAllowed = true
		s.put(token{kind: comma}, 1)
	case char == '?' && (s.inFlow() || s.gap(1)):
		s.key()
	case char == ':' && (s.inFlow() || s.gap(1)):
		s.colon()
	case char == '*':
		s.content(alias)
	case char == '&':
		s.content(anchor)
	case char == '!':
		s.content(tag)
	case char == '\'', char == '"', s.beginsPlain():
		s.content(scalar)
		if s.keyAllowed { // it has eaten the end of its line
			return
		}
	default:
		s.strange()
	}
	s.lineComment()
}

// content queues a token of what may be, or begin, a key or a value.
func (s *scanner) content(k kind) {
	t := token{kind: k, mark: s.mark}
	s.mayBegin(&t)
	s.keyAllowed = false
	switch char := s.char(0); {
	case k == alias, k == anchor:
		t.value = s.name(k)
	case k == tag:
		t.value, t.tail = s.tag()
	case char == '\'' || char == '"':
		t.value = s.quoted(char)
	default:
		t.plain = true
		t.value = s.plain()
	}
	s.queue = append(s.queue, t)
}

// strange fails at a character that can begin nothing.
func (s *scanner) strange() {
	right := "text that begins with it stands in quotes"
	switch char := s.char(0); {
	case char == '\t':
		right = "lines are indented by spaces only"
	case s.inFlow() && (char == '|' || char == '>'):
		right = "within brackets, text stands in quotes"
	}
	s.fail(s.mark, s.here(), right)
}
