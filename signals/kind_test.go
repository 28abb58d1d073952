package signals

import (
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Every signal is one of three kinds: what the program is meant to get, what is
// graced's own, and what no Go program can receive.
func TestKinds(t *testing.T) {
	own := []syscall.Signal{4, 5, 7, 8, 11, 13, 16, 17, 21, 22, 23, 31}
	unreceivable := []syscall.Signal{-1, 0, 9, 19, 27, 32, 33, 34, 65}
	for n := -1; n <= Max+1; n++ {
		sig, want := syscall.Signal(n), Forwarded
		switch {
		case slices.Contains(own, sig):
			want = Own
		case slices.Contains(unreceivable, sig):
			want = Unreceivable
		}
		if got := KindOf(sig); got != want {
			t.Errorf("%s: kind %d, want %d", Name(sig), got, want)
		}
	}
}

func TestStopsCanBeReceived(t *testing.T) {
	for _, sig := range Stops() {
		if err := CheckStop(sig); err != nil {
			t.Error(err)
		}
	}
	first := Stops()
	first[0] = 0
	if Stops()[0] != syscall.SIGTERM {
		t.Error("the list can be changed by whoever has it")
	}
}

func TestChecks(t *testing.T) {
	stops := Stops()
	for _, tt := range []struct {
		sig                 syscall.Signal
		stop, rung, rewrite string // "" is good
	}{
		{syscall.SIGTERM, "", "", "--signal sets what the program gets"},
		{syscall.SIGUSR1, "", "", ""},
		{syscall.SIGWINCH, "", "", ""},
		{40, "", "", ""},
		{syscall.SIGKILL, "cannot be received", "always follows the last rung", "not forwarded"},
		{syscall.SIGSTOP, "cannot be received", "ends no program", "not forwarded"},
		{syscall.SIGCONT, "", "ends no program", ""},
		{syscall.SIGCHLD, "graced's own business", "ends no program", "not forwarded"},
		{syscall.SIGSEGV, "graced's own business", "", "not forwarded"},
		{syscall.SIGPIPE, "graced's own business", "", "not forwarded"},
		{syscall.SIGPROF, "cannot be received", "", "not forwarded"},
		{34, "cannot be received", "", "not forwarded"},
	} {
		for what, check := range map[string]struct {
			err  error
			want string
		}{
			"stop":    {CheckStop(tt.sig), tt.stop},
			"rung":    {CheckRung(tt.sig), tt.rung},
			"rewrite": {CheckRewrite(tt.sig, stops), tt.rewrite},
		} {
			if good := check.want == ""; good != (check.err == nil) || !good && !strings.Contains(check.err.Error(), check.want) {
				t.Errorf("%s as %s: %v, want %q", Name(tt.sig), what, check.err, check.want)
			}
		}
	}
}

func TestRewrite(t *testing.T) {
	r := Rewrite{syscall.SIGHUP: syscall.SIGUSR2, syscall.SIGUSR2: 0}
	for sig, want := range map[syscall.Signal]syscall.Signal{syscall.SIGHUP: syscall.SIGUSR2, syscall.SIGUSR2: 0, syscall.SIGUSR1: syscall.SIGUSR1} {
		if got := r.Apply(sig); got != want {
			t.Errorf("%s: %s, want %s", Name(sig), Name(got), Name(want))
		}
	}
	if got := Rewrite(nil).Apply(syscall.SIGHUP); got != syscall.SIGHUP {
		t.Errorf("without one: %s", Name(got))
	}
}
