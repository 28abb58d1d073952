package manifest

import (
	"slices"
	"strconv"
	"strings"
)

// candidate is a container that may run graced.
type candidate struct {
	at       value     // its description
	env      value     // its variables
	words    []string  // its command
	commands []value   // of its probes and health checks
	ports    []int     // that it declares, or that its probes ask
	beside   bool      // a sidecar by its kind
	settings Container // without what is taken from words
}

// ofGraced are those of a pod, a file or a task that run graced. Most name no
// command: graced is their image's ENTRYPOINT. So it is, in this order, whoever
// names graced, in its command, its health check or a variable; whoever has to do
// with graced's port, which only one can have that says nothing else; or else the
// only one there is.
func (c *check) ofGraced(list []candidate) []candidate {
	var named, asked, all []candidate
	for _, one := range list {
		flags, program, ok := runsGraced(one.words)
		one.settings.Args, one.settings.Program = flags, program
		switch {
		case ok || one.names():
			named = append(named, one)
		case c.onPort(one):
			asked = append(asked, one)
		case !one.beside:
			all = append(all, one)
		}
	}
	switch {
	case len(named) > 0:
		return named
	case len(asked) > 0:
		return asked
	case len(all) == 1:
		return all
	}
	return nil
}

// names says whether a container has a variable of graced's, or is asked for its
// health by graced.
func (one candidate) names() bool {
	known, unknown := variables(one.env)
	return len(known)+len(unknown) > 0 || slices.ContainsFunc(one.commands, func(command value) bool {
		return Settings{}.asked(command.words()).health
	})
}

// onPort says whether a container has to do with the port that its graced would
// have.
func (c *check) onPort(one candidate) bool {
	s, _ := c.settings(one.settings) // if they are wrong, that is said once it is known to have them
	return s.Port != 0 && (slices.Contains(one.ports, s.Port) ||
		slices.ContainsFunc(one.commands, func(command value) bool { return s.asked(command.words()).graced }))
}

// published are the ports of a container in a Compose service's ports and expose:
// 8990, 80:8990, 127.0.0.1:80:8990/tcp or {target: 8990}. A range is none that
// anybody would have for graced.
func published(service value) (ports []int) {
	for _, item := range slices.Concat(service.at("ports").list(), service.at("expose").list()) {
		text := item.at("target").or(item).text()
		text = text[strings.LastIndexByte(text, ':')+1:]
		text, _, _ = strings.Cut(text, "/")
		if n, err := strconv.Atoi(text); err == nil {
			ports = append(ports, n)
		}
	}
	return ports
}
