package yaml

import "strings"

// Limits of a text, over which it is refused.
const (
	maxDepth = 10_000
	maxNodes = 500_000
)

// parser makes nodes of tokens. What it expects is in capitals in the comments,
// [x] is what may be left out and x* what may be repeated.
type parser struct {
	scanner
	anchors map[string]*Node  // also those of earlier documents
	handles map[string]string // what those of tags stand for in this document
	depth   int               // of the node that is read
	nodes   int
}

func newParser(data []byte) *parser {
	return &parser{scanner: newScanner(decoded(data)), anchors: map[string]*Node{}, handles: map[string]string{}}
}

// documents reads
//
//	[NODE] ...* ([DIRECTIVE* --- [NODE]] ...*)* END
func (p *parser) documents() []*Node {
	var all []*Node
	for {
		for len(all) > 0 && p.look() == documentEnd {
			p.take()
		}
		clear(p.handles)
		switch p.look() {
		case textEnd:
			return all
		case version, handle, documentStart:
		default:
			if len(all) == 0 {
				all = append(all, p.node(true, false))
				continue
			}
		}
		p.directives()
		p.expect(documentStart, `only "---" and the next document may be here; indent what belongs to the value before`)
		switch p.look() {
		case version, handle, documentStart, documentEnd, textEnd:
			all = append(all, p.empty(p.next().mark))
		default:
			all = append(all, p.node(true, false))
		}
	}
}

// directives reads those before a document.
func (p *parser) directives() {
	versions := 0
	for {
		switch t := p.next(); p.look() {
		case version:
			if versions++; versions > 1 {
				p.fail(t.mark, "a second %YAML line", "leave one of them out")
			}
		case handle:
			if p.handles[t.value] != "" {
				p.fail(t.mark, "a second %TAG line for "+t.value, "leave one of them out")
			}
			p.handles[t.value] = t.tail
		default:
			return
		}
		p.take()
	}
}

// expect takes a token of a kind.
func (p *parser) expect(k kind, right string) token {
	if found := p.look(); found != k {
		p.fail(p.next().mark, found.String(), right)
	}
	return p.take()
}

// add makes a node that begins at a place.
func (p *parser) add(k Kind, at mark) *Node {
	if p.nodes++; p.nodes > maxNodes {
		p.fail(at, "more than half a million values", "make several files of it")
	}
	return &Node{Kind: k, Line: at.line + 1, Column: at.col + 1}
}

// empty is the null that stands for nothing at a place.
func (p *parser) empty(at mark) *Node {
	n := p.add(Scalar, at)
	n.Tag = Null
	return n
}

// node reads
//
//	ALIAS | [ANCHOR] [TAG] [SCALAR | COLLECTION]
//
// with the anchor and the tag in either order. Only outside of brackets (block)
// there are collections by indentation, and only behind a key, or ?, a sequence that
// is not indented.
func (p *parser) node(block, afterKey bool) *Node {
	at := p.next().mark
	if p.look() == alias {
		n := p.add(Alias, at)
		n.Value = p.take().value
		if n.Alias = p.anchors[n.Value]; n.Alias == nil {
			p.fail(at, "*"+n.Value+" without an anchor", "set &"+n.Value+" at a value before it, or put it in quotes if it is text")
		}
		return n
	}
	if p.depth++; p.depth > maxDepth {
		p.fail(at, "a value more than 10000 deep in others", "nest less")
	}
	n := p.add(Scalar, at)
	bare := !p.properties(n)
	switch k := p.look(); {
	case k == entry && afterKey:
		p.flush(n)
	case k == scalar:
		t := p.take()
		n.Value = t.value
		if t.plain && n.Tag == "" && isNull(n.Value) {
			n.Tag = Null
		}
	case k == openSequence:
		p.flowSequence(n)
	case k == openMapping:
		p.flowMapping(n)
	case k == blockSequence && block:
		p.blockSequence(n)
	case k == blockMapping && block:
		p.blockMapping(n)
	case bare:
		p.fail(p.next().mark, k.String()+" in the place of a value", "write the value before it, or put it in quotes if it is text")
	case n.Tag == "":
		n.Tag = Null
	}
	p.depth--
	return n
}

// properties reads the anchor and the tag of a node, if there is either.
func (p *parser) properties(n *Node) (found bool) {
	named, tagged := false, false
	for {
		switch k := p.look(); {
		case k == anchor && !named:
			named = true
			p.anchors[p.take().value] = n
		case k == tag && !tagged:
			tagged = true
			n.Tag = p.resolve(p.take())
		default:
			return named || tagged
		}
	}
}

// resolve is a tag in full, with !! for what YAML itself knows. ! alone is as good
// as none.
func (p *parser) resolve(t token) string {
	prefix := p.handles[t.value]
	switch t.value {
	case "", "!", "!!":
		if prefix == "" {
			prefix = t.value
		}
	default:
		if prefix == "" {
			p.fail(t.mark, "a tag with the unknown handle "+t.value, "say what it stands for by a line %TAG "+t.value+" PREFIX before ---")
		}
	}
	full := prefix + t.tail
	if full == "!" {
		return ""
	}
	if rest, own := strings.CutPrefix(full, "tag:yaml.org,2002:"); own {
		return "!!" + rest
	}
	return full
}
