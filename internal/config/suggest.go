package config

import (
	"slices"
	"strings"
)

// nearest is the name that was probably meant by word, or "". Two letters
// out of five may be wrong, and a name that was cut or has more around it
// counts too.
func nearest(word string, names []string) string {
	word = strings.ToLower(word)
	if word == "" || len(word) > 40 || len(names) > 200 {
		return "" // not worth the time
	}
	best, found := len(word)*2/5+1, ""
	for _, name := range names {
		if d := distance(word, strings.ToLower(name)); d < best {
			best, found = d, name
		}
	}
	if found == "" && len(word) >= 3 {
		for _, name := range names {
			if strings.HasPrefix(name, word) || strings.HasPrefix(word, name) || strings.HasSuffix(word, name) {
				return name
			}
		}
	}
	return found
}

// distance counts the letters to add, drop or change to come from a to b, and
// two neighbours that changed places as one (delya, delay).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// oneOf is a parser of a word out of words.
func oneOf[T ~string](words []T) parser[T] {
	return func(text string) (T, []mistake) {
		if i := slices.Index(words, T(text)); i >= 0 {
			return words[i], nil
		}
		names := make([]string, len(words))
		for i, w := range words {
			names[i] = string(w)
		}
		return "", []mistake{unknown(text, names)}
	}
}

// unknown says that text is none of names, and guesses.
func unknown(text string, names []string) mistake {
	known := strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
	if text == "" {
		return mistake{wrong: "is empty; it is " + known}
	}
	m := mistake{wrong: quote(text) + " is not " + known, right: nearest(text, names)}
	return m
}
