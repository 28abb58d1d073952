package yaml

// kind is what a token is.
type kind uint8

const (
	textEnd       kind = iota + 1
	version            // %YAML
	handle             // %TAG
	documentStart      // ---
	documentEnd        // ...
	blockSequence      // a sequence by indentation begins
	blockMapping       // a mapping by indentation begins
	blockEnd           // either ends
	openSequence       // [
	closeSequence      // ]
	openMapping        // {
	closeMapping       // }
	comma
	entry // -
	key   // ?, or the beginning of a key without one
	colon // :
	alias
	anchor
	tag
	scalar
)

// String is the kind as an error names it.
func (k kind) String() string {
	return [...]string{
		textEnd: "the end of the file", version: "a directive", handle: "a directive", documentStart: `"---"`, documentEnd: `"..."`,
		blockSequence: "the start of a sequence", blockMapping: "the start of a mapping", blockEnd: "a line that is indented less",
		openSequence: `"["`, closeSequence: `"]"`, openMapping: `"{"`, closeMapping: `"}"`, comma: `","`, entry: `"-"`, colon: `":"`,
		key: "a key", alias: "an alias", anchor: "an anchor", tag: "a tag", scalar: "text",
	}[k]
}

// token is a piece of a text.
type token struct {
	kind
	mark
	value string // of a scalar; the name of an anchor or alias; the handle of a tag
	tail  string // what a tag has after its handle; what a handle stands for
	plain bool   // a scalar without quotes

	opens     kind // blockSequence or blockMapping: with this token one begins
	isKey     bool // a key begins with this token, which a colon told afterwards
	undecided bool // such a colon may follow
	required  bool // it has to, or the token is at a wrong place
}
