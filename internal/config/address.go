package config

import (
	"net/url"
	"strconv"
	"strings"
)

// parseListen reads Off or an address to listen on: ":8990",
// "127.0.0.1:8990", "[::1]:8990". Port 0 lets the kernel choose, for tests.
func parseListen(text string) (string, []mistake) {
	if text == Off {
		return text, nil
	}
	if text == "" {
		return "", wrong("is empty; it is an address or off")
	}
	if allDigits(text) {
		return "", []mistake{{wrong: quote(text) + " has no colon", right: ":" + text}}
	}
	return text, checkHostPort(text, 0)
}

// parseDial reads an address to connect to.
func parseDial(text string) (string, []mistake) {
	if text == "" {
		return "", wrong("is empty; it is host:port")
	}
	if strings.HasPrefix(text, ":") {
		return "", []mistake{{wrong: quote(text) + " has no host", right: "127.0.0.1" + text}}
	}
	return text, checkHostPort(text, 1)
}

// checkHostPort says what is wrong with a host:port.
func checkHostPort(text string, leastPort int) []mistake {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 || strings.HasSuffix(text, "]") {
		return wrong(quote(text) + " has no port")
	}
	host, port := text[:colon], text[colon+1:]
	if bracketed := strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]"); !bracketed && strings.ContainsAny(host, ":[]") {
		return wrong(quote(text) + " is not host:port; an IPv6 address stands in brackets, such as [::1]:8990")
	}
	if strings.ContainsAny(host, "/ \t\x00@") {
		return wrong(quote(text) + " is not host:port")
	}
	n, err := strconv.Atoi(port)
	if !allDigits(port) || err != nil || n < leastPort || n > 65535 {
		return wrong("the port of " + quote(text) + " is not a number from 1 to 65535")
	}
	return nil
}

// parseURL reads an absolute http or https URL.
func parseURL(text string) (string, []mistake) {
	if text == "" {
		return "", wrong("is empty; it is a URL")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		return "", wrong(quote(text) + " is not an http:// or https:// URL")
	case u.Host == "" || u.Hostname() == "":
		return "", wrong(quote(text) + " has no host")
	case u.User != nil:
		return "", wrong("has a user or a password in it, which would be shown in logs; send a header")
	case u.Port() != "":
		return text, checkHostPort(u.Host, 1)
	}
	return text, nil
}

// parseOptionalURL reads a URL or nothing.
func parseOptionalURL(text string) (string, []mistake) {
	if text == "" {
		return "", nil
	}
	return parseURL(text)
}

// parseURLPath reads a path that graced serves.
func parseURLPath(text string) (string, []mistake) {
	switch {
	case text == "":
		return "", wrong("is empty; it is a path that begins with /")
	case text[0] != '/':
		return "", []mistake{{wrong: quote(text) + " does not begin with /", right: "/" + text}}
	case strings.ContainsAny(text, "?#{} \t\r\n\x00"):
		return "", wrong(quote(text) + " is not a plain path")
	}
	return text, nil
}

// parseOptionalURLPath reads a path or nothing.
func parseOptionalURLPath(text string) (string, []mistake) {
	if text == "" {
		return "", nil
	}
	return parseURLPath(text)
}
