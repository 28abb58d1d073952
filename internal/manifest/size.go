package manifest

import (
	"errors"

	"graced/internal/yaml"
)

// Limits of a document with a copy in the place of each alias. A few lines of
// aliases of aliases stand for billions of nodes, and an anchor around its own
// alias for no end of them.
const (
	maxNodes = 1_000_000
	maxDepth = 500
)

var (
	errNodes = errors.New("its aliases make more than a million values of it")
	errDepth = errors.New("it is nested more than 500 deep, or an anchor contains its own alias")
)

// sizes has the number of nodes below each node that was counted.
type sizes map[*yaml.Node]int

// bounded says why a document is too much to be looked through, if it is.
func (s sizes) bounded(n *yaml.Node) error {
	_, err := s.of(n, 1)
	return err
}

func (s sizes) of(n *yaml.Node, depth int) (int, error) {
	if size, ok := s[n]; ok {
		return size, nil
	}
	if depth > maxDepth {
		return 0, errDepth
	}
	below, size := n.Content, 1
	if n.Kind == yaml.Alias {
		below = []*yaml.Node{n.Alias}
	}
	for _, inner := range below {
		more, err := s.of(inner, depth+1)
		if err != nil {
			return 0, err
		}
		if size += more; size > maxNodes {
			return 0, errNodes
		}
	}
	s[n] = size
	return size, nil
}
