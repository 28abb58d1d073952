package config

import (
	"strconv"
	"unicode/utf8"
)

// mistake is what is wrong with a value, in words that follow the setting's
// name. right is the value that was probably meant; where it is "", the
// setting's own example is shown. leave: there is no right one.
type mistake struct {
	wrong string
	right string
	leave bool
}

// wrong is the common case of one mistake without a guess.
func wrong(what string) []mistake { return []mistake{{wrong: what}} }

// wrongs makes a mistake of an error, if it is one.
func wrongs(err error) []mistake {
	if err == nil {
		return nil
	}
	return wrong(err.Error())
}

// shown is the longest value that a message quotes, in bytes.
const shown = 60

// quote shows a value in a message: in quotes, its control characters
// visible, cut where it is long.
func quote(text string) string {
	if len(text) <= shown {
		return strconv.Quote(text)
	}
	cut := shown
	for cut > shown-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strconv.Quote(text[:cut]) + "…"
}
