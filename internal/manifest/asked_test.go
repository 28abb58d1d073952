package manifest

import (
	"strings"
	"testing"
)

// TestAsked: what a command asks of graced, however it is written.
func TestAsked(t *testing.T) {
	s := Settings{Port: 8990, Ready: []string{"/readyz", "/healthz"}, Live: []string{"/livez"}, Startup: []string{"/startupz"}}
	for command, want := range map[string]question{
		"/graced health ready":                       {true, true, true, "graced health ready"},
		"/graced health live":                        {true, true, false, "graced health live"},
		"/graced health":                             {true, true, false, "graced health without a word"},
		"CMD-SHELL /graced health||exit 1":           {true, true, false, "graced health without a word"},
		"sh -c '/graced health ready;exit'":          {true, true, true, "graced health ready"},
		"graced health --listen :9000":               {true, true, false, "graced health without a word"},
		"curl -f http://localhost:8990/readyz":       {true, false, true, "/readyz"},
		"curl -f \"localhost:8990/healthz?verbose\"": {true, false, true, "/healthz"},
		"wget -q http://[::1]:8990/livez":            {true, false, false, "/livez"},
		"wget -q http://127.0.0.1:8990":              {true, false, false, "/"},
		"curl http://localhost:8990/readyzed":        {true, false, false, "/readyzed"},
		"curl http://localhost:89900/readyz":         {},
		"curl http://localhost:8080/readyz":          {},
		"graced -- app health ready":                 {},
		"pg_isready":                                 {},
		"":                                           {},
	} {
		if got := s.asked(strings.Split(command, " ")); got != want {
			t.Errorf("%s: %+v, want %+v", command, got, want)
		}
	}
	s.Port = 0 // it serves nothing
	if got := s.asked([]string{"curl", "http://localhost:0/readyz"}); got.graced {
		t.Errorf("without a port: %+v", got)
	}
}
