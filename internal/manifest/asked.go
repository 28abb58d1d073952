package manifest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// question is what a probe or a health check asks of graced.
type question struct {
	graced bool   // it is graced that is asked
	health bool   // by `graced health`
	ready  bool   // whether it is ready
	words  string // what stands there, for messages
}

// asked says what a command asks: by `graced health`, or by curl or wget of a path
// at graced's port. It may be in a shell's words, as in Compose's CMD-SHELL.
func (s Settings) asked(command []string) question {
	words := shellWords(strings.Join(command, " "))
	for i, word := range words {
		if path.Base(word) == "graced" && i+1 < len(words) && words[i+1] == "health" {
			if i+2 < len(words) && slices.Contains([]string{"ready", "live", "startup"}, words[i+2]) {
				return question{graced: true, health: true, ready: words[i+2] == "ready", words: "graced health " + words[i+2]}
			}
			return question{graced: true, health: true, words: "graced health without a word"}
		}
	}
	for _, word := range words {
		if at, ok := s.pathAt(word); ok {
			return s.askedPath(at)
		}
	}
	return question{}
}

// askedPath is the question of whoever gets a path at graced's port.
func (s Settings) askedPath(path string) question {
	return question{graced: true, ready: slices.Contains(s.Ready, path), words: path}
}

// pathAt is the path of a URL, with a scheme or without, if it is at graced's port.
func (s Settings) pathAt(url string) (path string, ok bool) {
	_, rest, ok := strings.Cut(url, fmt.Sprintf(":%d", s.Port))
	if !ok || s.Port == 0 || rest != "" && !strings.ContainsRune("/?#", rune(rest[0])) {
		return "", false
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	if rest == "" {
		rest = kubePath
	}
	return rest, true
}

// shellWords splits a text where a shell does, roughly: an operator is a word of
// its own, and quotes are left out.
func shellWords(text string) []string {
	return strings.Fields(strings.NewReplacer(`"`, " ", "'", " ", ";", " ; ", "|", " | ", "&", " & ", "(", " ( ", ")", " ) ", "`", " ` ").Replace(text))
}
