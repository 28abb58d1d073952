package config

import (
	"strconv"
	"strings"
)

// account is who a process runs as: names or numbers; "" is not given.
type account struct{ user, group string }

// The files that names are looked up in. A static binary has no name service,
// so what only LDAP knows has to be given as a number.
const (
	passwdFile = "/etc/passwd"
	groupFile  = "/etc/group"
)

// parseAccount reads USER or USER:GROUP.
func (l *loader) parseAccount(text string) (account, []mistake) {
	user, group, both := strings.Cut(text, ":")
	mistakes := l.checkName(user, "user", passwdFile)
	if both {
		mistakes = append(mistakes, l.checkName(group, "group", groupFile)...)
	}
	return account{user, group}, mistakes
}

// parseUser and parseGroup read a name or a number.
func (l *loader) parseUser(text string) (string, []mistake) {
	return text, l.checkName(text, "user", passwdFile)
}

func (l *loader) parseGroup(text string) (string, []mistake) {
	return text, l.checkName(text, "group", groupFile)
}

// checkName says why name is no user or group, if it is none. Numbers need
// not be in the file: a scratch image has none.
func (l *loader) checkName(name, what, file string) []mistake {
	if name == "" {
		return wrong("has an empty " + what)
	}
	if strings.Trim(name, "+-0123456789") == "" {
		// 2^32-1 is how the kernel says "leave it as it is".
		if n, err := strconv.ParseUint(name, 10, 32); err != nil || n == 1<<32-1 {
			return wrong(quote(name) + " is no " + what + " number; they go from 0 to 4294967294")
		}
		return nil
	}
	if strings.ContainsAny(name, ":/\x00\n ") {
		return wrong(quote(name) + " is no name of a " + what)
	}
	if l.in.Elsewhere {
		return nil
	}
	data, err := l.in.ReadFile(file)
	if err != nil {
		return []mistake{{wrong: quote(name) + " cannot be looked up (" + brief(err) + "); give its number", right: "65532"}}
	}
	var names []string
	for line := range strings.Lines(string(data)) {
		if known, _, ok := strings.Cut(line, ":"); ok {
			if known == name {
				return nil
			}
			names = append(names, known)
		}
	}
	return []mistake{{wrong: "unknown " + what + " " + quote(name) + ", there is none in " + file, right: nearest(name, names)}}
}
