package config

import "strings"

// tiniFlags are tini's one-letter flags; its -h is ours too.
var tiniFlags = [...]struct {
	letter byte
	value  bool   // the next word is its value
	here   string // what does the same here
}{
	{'s', false, "is not needed: graced is a subreaper by itself where it is not PID 1"},
	{'p', true, "is not needed: graced's children end with it"},
	{'v', false, "is --log-level debug here"},
	{'w', false, "is --log-level debug here, which logs each process that is reaped"},
	{'g', false, "is --target group here"},
	{'e', true, "is --exit-code here, for example --exit-code 143=0"},
	{'l', false, "has no counterpart: the licence is in the repository"},
}

// tiniLetters are the letters of tiniFlags.
const tiniLetters = "spvwgel"

// isTini says whether a word is made of tini's flags: -g, -vvg, -e143.
func isTini(word string) bool {
	letters, ok := strings.CutPrefix(word, "-")
	letters = strings.TrimRight(letters, "0123456789")
	return ok && letters != "" && len(letters) <= 4 && strings.Trim(letters, tiniLetters) == ""
}

// tiniFlag says of each letter what does the same here, and how many words
// to skip.
func (l *loader) tiniFlag(words []string, at int) (skip int) {
	skip = 1
	told := ""
	for _, letter := range []byte(strings.Trim(words[0], "-0123456789")) {
		for _, f := range tiniFlags {
			if f.letter != letter || strings.IndexByte(told, letter) >= 0 {
				continue
			}
			told += string(letter)
			l.typed("-"+string(letter), at, "unknown flag", "tini's -"+string(letter)+" "+f.here)
			if f.value && words[0] == "-"+string(letter) && len(words) > 1 && !strings.HasPrefix(words[1], "-") {
				skip = 2
			}
		}
	}
	return skip
}
