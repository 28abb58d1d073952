package yaml

import "fmt"

// blockSequence reads
//
//	BEGIN (- [NODE])* END
func (p *parser) blockSequence(n *Node) {
	n.Kind = Sequence
	p.take()
	for p.look() == entry {
		n.Content = append(n.Content, p.value(end(p.take()), true, false, entry, blockEnd))
	}
	p.expect(blockEnd, `write "- " and an item, indented as those before are`)
}

// flush reads a sequence that is not indented deeper than its key:
//
//	(- [NODE])*
func (p *parser) flush(n *Node) {
	n.Kind = Sequence
	for p.look() == entry {
		n.Content = append(n.Content, p.value(end(p.take()), true, false, entry, key, colon, blockEnd))
	}
}

// blockMapping reads
//
//	BEGIN (KEY [NODE] [: [NODE]])* END
func (p *parser) blockMapping(n *Node) {
	n.Kind = Mapping
	p.take()
	for p.look() == key {
		n.Content = append(n.Content, p.value(end(p.take()), true, true, key, colon, blockEnd))
		if p.look() == colon {
			n.Content = append(n.Content, p.value(end(p.take()), true, true, key, colon, blockEnd))
		} else {
			n.Content = append(n.Content, p.empty(p.next().mark))
		}
	}
	p.expect(blockEnd, "write KEY: VALUE, indented as the keys before are")
}

// flowSequence reads
//
//	[ [ITEM (, ITEM)* [,]] ]
//
// where an item may be a mapping of one key: KEY NODE [: [NODE]].
func (p *parser) flowSequence(n *Node) {
	n.Kind = Sequence
	start := p.take()
	for p.more(start, len(n.Content) > 0, closeSequence, `"]"`) {
		if p.look() != key {
			n.Content = append(n.Content, p.node(false, false))
			continue
		}
		pair := p.add(Mapping, p.take().mark)
		switch k := p.look(); k {
		case colon, comma, closeSequence:
			p.fail(p.next().mark, k.String()+` behind a "?" without a key`, "write the key, or null for none")
		}
		pair.Content = append(pair.Content, p.node(false, false))
		at := p.next().mark
		if p.look() == colon {
			p.take()
			pair.Content = append(pair.Content, p.value(at, false, false, comma, closeSequence))
		} else {
			pair.Content = append(pair.Content, p.empty(at))
		}
		n.Content = append(n.Content, pair)
	}
}

// flowMapping reads
//
//	{ [PAIR (, PAIR)* [,]] }
//
// where a pair is KEY [NODE] [: [NODE]], or a NODE with no value.
func (p *parser) flowMapping(n *Node) {
	n.Kind = Mapping
	start := p.take()
	for p.more(start, len(n.Content) > 0, closeMapping, `"}"`) {
		if p.look() != key {
			n.Content = append(n.Content, p.node(false, false), p.empty(p.next().mark))
			continue
		}
		p.take()
		n.Content = append(n.Content, p.value(p.next().mark, false, false, colon, comma, closeMapping))
		if p.look() == colon {
			p.take()
			n.Content = append(n.Content, p.value(p.next().mark, false, false, comma, closeMapping))
		} else {
			n.Content = append(n.Content, p.empty(p.next().mark))
		}
	}
}

// more says whether there is another item before a closing bracket, and takes the
// comma before it, or the bracket.
func (p *parser) more(start token, some bool, bracket kind, name string) bool {
	switch k := p.look(); {
	case k == bracket:
	case some && k == comma:
		p.take()
	case some:
		p.fail(p.next().mark, k.String()+" behind a value within brackets", fmt.Sprintf(`write "," or %s before it, for the bracket of line %d, or put the text in quotes`, name, start.line+1))
	}
	if p.look() != bracket {
		return true
	}
	p.take()
	return false
}

// value reads a node, or gives an empty one at a place if one of some tokens is
// next.
func (p *parser) value(at mark, block, afterKey bool, none ...kind) *Node {
	next := p.look()
	for _, k := range none {
		if next == k {
			return p.empty(at)
		}
	}
	return p.node(block, afterKey)
}

// end is the place behind a "?", "-" or ":"; a key without ? begins where its first
// token does.
func end(t token) mark {
	if t.kind == key || t.kind == entry || t.kind == colon {
		t.col++
	}
	return t.mark
}
