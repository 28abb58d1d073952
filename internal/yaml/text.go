package yaml

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// padding is how many zero bytes end a text, so that nobody has to ask whether
// there is more before looking ahead. A text itself has none.
const padding = 16

const byteOrderMark = '\ufeff'

// decoded is a file's text as UTF-8 without its byte order mark, padded. UTF-16 is
// known by that mark; some editors and shells write it.
func decoded(data []byte) []byte {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		data = fromUTF16(data[2:], 0, 1)
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		data = fromUTF16(data[2:], 1, 0)
	default:
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
	}
	text := append(make([]byte, 0, len(data)+padding), data...)
	for at := 0; at < len(text); {
		if c := text[at]; c >= ' ' && c <= '~' || c == '\n' {
			at++
			continue
		}
		r, width := utf8.DecodeRune(text[at:])
		found, right := "", "take it out, or write it in double quotes, as \\x07 is"
		switch {
		case r == utf8.RuneError && width == 1:
			found, right = fmt.Sprintf("the byte %#02x, which is not UTF-8", text[at]), "save the file as UTF-8"
		case r == byteOrderMark:
			found, right = "a byte order mark inside of the file", "take it out; one may stand only at the very start"
		case !printable(r):
			found = fmt.Sprintf("the control character %U", r)
		}
		if found != "" {
			c := cursor{text: append(text[:at:at], make([]byte, padding)...)}
			for c.char(0) != 0 {
				c.step()
			}
			c.fail(c.mark, found, right)
		}
		at += width
	}
	return text[:len(data)+padding]
}

// printable says whether a character may stand in a text: c-printable in the
// specification.
func printable(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r', r == 0x85:
		return true
	}
	return r >= ' ' && r <= '~' || r >= 0xa0 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000 && r <= utf8.MaxRune
}

// fromUTF16 decodes a text whose units have their low and high bytes there.
func fromUTF16(data []byte, low, high int) []byte {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = uint16(data[2*i+low]) | uint16(data[2*i+high])<<8
	}
	text := utf16.Decode(units)
	if len(data)%2 > 0 || !slices.Equal(utf16.Encode(text), units) {
		panic(&Error{Line: 1, Column: 1, Found: "half of a character of UTF-16 somewhere in the file", Right: "save it as UTF-8"})
	}
	return []byte(string(text))
}
