package manifest

import (
	"path"
	"strconv"
	"strings"
	"time"

	"graced/internal/yaml"
)

// value is a place in a document. The zero value is one that is not there, and
// whatever is asked of it is not there either.
type value struct{ node *yaml.Node }

func (v value) exists() bool { return v.node != nil && v.node.Tag != yaml.Null }

func (v value) line() int {
	if v.node == nil {
		return 1
	}
	return v.node.Line
}

func (v value) col() int {
	if v.node == nil {
		return 1
	}
	return v.node.Column
}

// resolved follows an alias.
func (v value) resolved() *yaml.Node {
	if v.node != nil && v.node.Kind == yaml.Alias {
		return v.node.Alias
	}
	return v.node
}

// at is the value of a key, also where it comes by a merge (<<).
func (v value) at(key string) value { return v.find(key, 8) }

// find bounds how deep merges of merges are followed.
func (v value) find(key string, depth int) value {
	node := v.resolved()
	if node == nil || node.Kind != yaml.Mapping || depth == 0 {
		return value{}
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return value{node.Content[i+1]}
		}
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == "<<" {
			for _, from := range append([]value{{node.Content[i+1]}}, value{node.Content[i+1]}.list()...) {
				if got := from.find(key, depth-1); got.exists() {
					return got
				}
			}
		}
	}
	return value{}
}

// or is v, or other where v is not there.
func (v value) or(other value) value {
	if v.exists() {
		return v
	}
	return other
}

func (v value) list() []value {
	node := v.resolved()
	if node == nil || node.Kind != yaml.Sequence {
		return nil
	}
	var list []value
	for _, n := range node.Content {
		list = append(list, value{n})
	}
	return list
}

// entries are the keys and values of a mapping.
func (v value) entries() (keys []string, values []value) {
	node := v.resolved()
	if node == nil || node.Kind != yaml.Mapping {
		return nil, nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		keys = append(keys, node.Content[i].Value)
		values = append(values, value{node.Content[i+1]})
	}
	return keys, values
}

func (v value) text() string {
	node := v.resolved()
	if node == nil || node.Kind != yaml.Scalar {
		return ""
	}
	return node.Value
}

// number is a whole number, d where there is none.
func (v value) number(d int) int {
	n, err := strconv.Atoi(strings.TrimSpace(v.text()))
	if err != nil {
		return d
	}
	return n
}

// words are those of a command: a list, or one text that a shell would split.
func (v value) words() []string {
	if text := v.text(); text != "" {
		return strings.Fields(text)
	}
	var words []string
	for _, item := range v.list() {
		words = append(words, item.text())
	}
	return words
}

// runsGraced says whether words start graced, and gives its flags and the
// program after them.
func runsGraced(words []string) (flags, program []string, ok bool) {
	for i, word := range words {
		if path.Base(word) != "graced" {
			continue
		}
		rest := words[i+1:]
		if len(rest) > 0 && rest[0] == "run" {
			rest = rest[1:]
		}
		for j, w := range rest {
			if w == "--" {
				return rest[:j], rest[j+1:], true
			}
		}
		return rest, nil, true
	}
	return nil, nil, false
}

// variables takes the GRACED_ ones out of a list of NAME=VALUE, of
// {name, value} or a mapping. unknown names those whose value is not in the file:
// it comes from elsewhere, or is put together when the file is used.
func variables(env value) (known, unknown []string) {
	add := func(name string, v value) {
		switch text := v.text(); {
		case !strings.HasPrefix(name, "GRACED_"):
		case !v.exists() || strings.Contains(text, "$"):
			unknown = append(unknown, name)
		default:
			known = append(known, name+"="+text)
		}
	}
	for _, item := range env.list() {
		if name := item.at("name"); name.exists() {
			add(name.text(), item.at("value"))
		} else if name, text, ok := strings.Cut(item.text(), "="); ok {
			add(name, value{&yaml.Node{Kind: yaml.Scalar, Value: text}})
		} else {
			add(item.text(), value{}) // Compose takes it from its own environment
		}
	}
	keys, values := env.entries()
	for i, key := range keys {
		add(key, values[i])
	}
	return known, unknown
}

// seconds reads a duration of Compose (1m30s), or a number of seconds.
func seconds(text string) (time.Duration, bool) {
	if n, err := strconv.Atoi(text); err == nil {
		return time.Duration(n) * time.Second, true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}
