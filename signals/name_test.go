package signals

import (
	"strings"
	"syscall"
	"testing"
)

// Every signal has one name, and that name is read as this signal.
func TestNamesAndNumbers(t *testing.T) {
	seen := map[string]bool{}
	for n := 1; n <= Max; n++ {
		sig := syscall.Signal(n)
		name := Name(sig)
		if seen[name] {
			t.Errorf("two signals are called %s", name)
		}
		seen[name] = true
		got, err := Parse(name)
		if n == 32 || n == 33 { // the C library's
			if err == nil || name != "signal 32" && name != "signal 33" {
				t.Errorf("%d: %q, %v", n, name, err)
			}
			continue
		}
		if err != nil || got != sig {
			t.Errorf("%d is %s, which is read as %d, %v", n, name, got, err)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]syscall.Signal{
		"SIGTERM": syscall.SIGTERM, "TERM": syscall.SIGTERM, "term": syscall.SIGTERM, "sigTerm": syscall.SIGTERM,
		"15": syscall.SIGTERM, "9": syscall.SIGKILL, "64": 64, "37": 37, "34": 34,
		"SIGRTMIN": 34, "RTMIN+0": 34, "SIGRTMIN+3": 37, "rtmin+3": 37, "RTMIN+30": 64, "RTMAX": 64, "SIGRTMAX-1": 63, "RTMAX-30": 34,
		"IOT": syscall.SIGABRT, "CLD": syscall.SIGCHLD, "POLL": syscall.SIGIO, "SIGPOLL": syscall.SIGIO,
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                           "empty signal name; write one such as SIGTERM",
		"0":                          "signal 0 does not exist; numbers go from 1 to 64",
		"65":                         "numbers go from 1 to 64",
		"-15":                        "numbers go from 1 to 64",
		"32":                         "kept by the C library",
		"SIGTREM":                    `unknown signal "SIGTREM"; did you mean SIGTERM?`,
		"TEMR":                       "did you mean SIGTERM?",
		"TERMM":                      "did you mean SIGTERM?",
		"sigkil":                     "did you mean SIGKILL?",
		"USER1":                      "did you mean SIGUSR1?",
		"FOO":                        `unknown signal "FOO"; write a name (SIGTERM), a number (15) or a real-time signal (SIGRTMIN+3)`,
		"SIG":                        "unknown signal",
		"SIGSIGTERM":                 "unknown signal",
		" TERM":                      "did you mean SIGTERM?",
		"RTMIN+31":                   "unknown signal",
		"RTMIN-1":                    "unknown signal",
		"RTMAX+1":                    "unknown signal",
		"RTMIN+":                     "unknown signal",
		"RTMIN++3":                   "unknown signal",
		"RTMIN+3x":                   "unknown signal",
		"RTMAX-31":                   "unknown signal",
		"99999999999999999999":       "unknown signal",
		strings.Repeat("TERM", 1000): "unknown signal",
	} {
		if got, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %d, %v; want … %s …", text, got, err, want)
		}
	}
}

func TestNameOfWhatIsNoSignal(t *testing.T) {
	for sig, want := range map[syscall.Signal]string{0: "signal 0", 65: "signal 65", -1: "signal -1", 32: "signal 32", 33: "signal 33"} {
		if got := Name(sig); got != want {
			t.Errorf("%d: %q, want %q", sig, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"SIGTERM", "rtmin+3", "RTMAX-30", "15", "-1", "TREM", "SIG\x00", "ſ", "RTMIN+99999999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sig, err := Parse(text)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		if again, err := Parse(Name(sig)); err != nil || again != sig {
			t.Errorf("%q is %d, called %s, which is read as %d, %v", text, sig, Name(sig), again, err)
		}
	})
}
