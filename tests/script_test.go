package tests

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"graced/signals"
)

// TestScripts runs testdata/script: each script is one behaviour. Beside the
// commands of testscript they have these:
//
//	pid1 [NAME=VALUE]... [-FLAG VALUE]... PROGRAM ARG...
//	                     runs it as the first process of a container, in the
//	                     background; the flags are those of children/enter.go
//	background PROGRAM ARG...  the same, but below another first process
//	prints PATTERN       waits for it on standard output; ! checks that it is not there
//	tells PATTERN        the same for standard error
//	count PATTERN N      standard output has it exactly N times by now
//	order PATTERN...     standard output has them in this order
//	started              waits until graced knows that everything runs
//	silent               standard error is empty
//	signal NAME...       sends signals to the first process, as the platform does
//	waitexit CODE [within DUR] [after DUR]  it ends, counted from the last signal or the start
//	running              it has not ended
//	probe PATH STATUS [within DUR]   asks on port 8990 until it answers so
//	body PATTERN         of the last probe
//	ask URL [STATUS]     asks the program itself once; without STATUS it must refuse
//	log FIELD=PATTERN... waits for a line of the log; ! checks that there is none
//	once FIELD=PATTERN...  exactly one line has them
//	later DUR            lets time pass
//	need THING...        skips the script where it is not there, and says so
//	copy FROM TO         a program under another name
func TestScripts(t *testing.T) {
	sandbox(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", os.Getenv("PATH"))
			env.Setenv("HOME", env.WorkDir)
			s := &script{t: env.T(), env: env}
			env.Values[scriptKey{}] = s
			env.Defer(func() {
				if s.r != nil {
					s.r.kill()
				}
			})
			return os.Chmod(env.WorkDir, 0o755)
		},
		RequireUniqueNames: true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"pid1": pid1, "background": background, "prints": prints, "tells": tells, "count": count, "order": order,
			"silent": silent, "signal": signal, "waitexit": waitExit, "running": isRunning, "probe": probe, "body": body,
			"ask": ask, "log": logged, "once": once, "later": later, "started": started, "need": needs, "copy": copyProgram,
		},
	})
}

type scriptKey struct{}

// script is what a script's commands share.
type script struct {
	t    testscript.T
	env  *testscript.Env
	r    *running
	last time.Time // when the last signal was sent, or it was started
	body string
}

func of(ts *testscript.TestScript) *script { return ts.Value(scriptKey{}).(*script) }

// current is what pid1 started.
func (s *script) current(ts *testscript.TestScript) *running {
	if s.r == nil {
		ts.Fatalf("nothing was started by pid1 yet")
	}
	return s.r
}

// variable is a word that sets a variable for what is run, as in a shell.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

func pid1(ts *testscript.TestScript, neg bool, args []string) { launchScript(ts, neg, nil, args) }

func background(ts *testscript.TestScript, neg bool, args []string) {
	launchScript(ts, neg, []string{"first"}, args)
}

func launchScript(ts *testscript.TestScript, neg bool, above, args []string) {
	if neg {
		ts.Fatalf("! makes no sense here; what it prints and its code tell whether it started")
	}
	s := of(ts)
	if s.r != nil {
		s.r.kill() // the one before
	}
	var enter []string
	dir := ts.MkAbs(".")
	env := []string{"PATH=" + ts.Getenv("PATH"), "HOME=" + dir}
	for ; len(args) > 1 && variable.MatchString(args[0]); args = args[1:] {
		env = append(env, args[0])
	}
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		enter, args = append(enter, args[0], args[1]), args[2:]
	}
	if !slices.Contains(enter, "-root") {
		enter = append(enter, "-dir", dir)
	}
	r, err := launch(setup{enter: enter, env: env}, append(above, args...)...)
	if err != nil {
		ts.Fatalf("cannot start %q: %v", args, err)
	}
	s.r, s.last = r, r.began
}

func onlyPositive(ts *testscript.TestScript, neg bool) {
	if neg {
		ts.Fatalf("this command has no !")
	}
}

// fails shows what is known when an assertion fails.
func (s *script) fails(ts *testscript.TestScript, format string, args ...any) {
	r := s.current(ts)
	ts.Fatalf("%s\nstdout:\n%s\nstderr:\n%s", fmt.Sprintf(format, args...), tail(r.stdout.text()), tail(r.stderr.text()))
}

// patient is how long a script waits for what must come.
const patient = 15 * time.Second

func matching(ts *testscript.TestScript, neg bool, args []string, name string, of func(*running) *stream) {
	if len(args) != 1 {
		ts.Fatalf("usage: %s PATTERN", name)
	}
	s := ts.Value(scriptKey{}).(*script)
	from := of(s.current(ts))
	if neg {
		if from.count(args[0]) > 0 {
			s.fails(ts, "%q is there and must not be", args[0])
		}
		return
	}
	if !eventually(patient, func() bool { return from.count(args[0]) > 0 || s.r.over() }) || from.count(args[0]) == 0 {
		s.fails(ts, "nothing matches %q", args[0])
	}
}

func prints(ts *testscript.TestScript, neg bool, args []string) {
	matching(ts, neg, args, "prints", func(r *running) *stream { return r.stdout })
}

func tells(ts *testscript.TestScript, neg bool, args []string) {
	matching(ts, neg, args, "tells", func(r *running) *stream { return r.stderr })
}

func count(ts *testscript.TestScript, neg bool, args []string) {
	onlyPositive(ts, neg)
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	if got := of(ts).current(ts).stdout.count(args[0]); got != want {
		of(ts).fails(ts, "%q is there %d times, want %d", args[0], got, want)
	}
}

func order(ts *testscript.TestScript, neg bool, args []string) {
	onlyPositive(ts, neg)
	s := of(ts)
	text := s.current(ts).stdout.text()
	for _, pattern := range args {
		at := regexp.MustCompile("(?m)" + pattern).FindStringIndex(text)
		if at == nil {
			s.fails(ts, "%q is not there, or not after what comes before it", pattern)
		}
		text = text[at[1]:]
	}
}

func started(ts *testscript.TestScript, neg bool, args []string) {
	onlyPositive(ts, neg)
	s := of(ts)
	if !s.current(ts).isUp() {
		s.fails(ts, "it does not get to the phase running")
	}
}

func silent(ts *testscript.TestScript, neg bool, args []string) {
	s := of(ts)
	if text := s.current(ts).stderr.text(); (text == "") == neg {
		s.fails(ts, "standard error: %q", text)
	}
}

func signal(ts *testscript.TestScript, neg bool, args []string) {
	onlyPositive(ts, neg)
	s := of(ts)
	for _, name := range args {
		sig, err := signals.Parse(name)
		ts.Check(err)
		s.last = time.Now()
		if s.current(ts).over() {
			s.fails(ts, "it has ended before %s", name)
		}
		ts.Check(s.r.process.Signal(sig))
	}
}

// options reads "within 2s", "after 1s".
func options(ts *testscript.TestScript, args []string) map[string]time.Duration {
	found := map[string]time.Duration{}
	for ; len(args) >= 2; args = args[2:] {
		d, err := time.ParseDuration(args[1])
		ts.Check(err)
		found[args[0]] = d
	}
	if len(args) > 0 {
		ts.Fatalf("what is %q?", args)
	}
	return found
}

func waitExit(ts *testscript.TestScript, neg bool, args []string) {
	onlyPositive(ts, neg)
	s := of(ts)
	r := s.current(ts)
	within := options(ts, args[1:])
	select {
	case <-r.done:
	case <-time.After(45 * time.Second):
		s.fails(ts, "it has not ended")
	}
	ws := r.state.Sys().(syscall.WaitStatus)
	code := ws.ExitStatus()
	if ws.Signaled() {
		code = 128 + int(ws.Signal())
	}
	if strconv.Itoa(code) != args[0] {
		s.fails(ts, "exit code %d, want %s", code, args[0])
	}
	took := r.ended.Sub(s.last)
	if d, ok := within["within"]; ok && took > d {
		s.fails(ts, "it took %v, more than %v", took, d)
	}
	if d, ok := within["after"]; ok && took < d {
		s.fails(ts, "it took %v only, less than %v", took, d)
	}
}

func isRunning(ts *testscript.TestScript, neg bool, args []string) {
	s := of(ts)
	if s.current(ts).over() != neg {
		s.fails(ts, "it has ended: %t", !neg)
	}
}

func probe(ts *testscript.TestScript, neg bool, args []string) {
	onlyPositive(ts, neg)
	s := of(ts)
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	within, ok := options(ts, args[2:])["within"]
	if !ok {
		within = patient
	}
	var status int
	if !eventually(within, func() bool {
		status, s.body, err = s.current(ts).get(args[0])
		return err == nil && status == want
	}) {
		s.fails(ts, "%s: %d %q %v, want %d", args[0], status, s.body, err, want)
	}
}

func body(ts *testscript.TestScript, neg bool, args []string) {
	s := of(ts)
	if regexp.MustCompile("(?m)"+args[0]).MatchString(s.body) == neg {
		s.fails(ts, "the answer is %q", s.body)
	}
}

func ask(ts *testscript.TestScript, neg bool, args []string) {
	onlyPositive(ts, neg)
	s := of(ts)
	client := s.current(ts).client()
	defer client.CloseIdleConnections()
	status, _, err := get(client, args[0])
	switch {
	case len(args) == 1 && err == nil:
		s.fails(ts, "%s answers %d", args[0], status)
	case len(args) == 2 && (err != nil || strconv.Itoa(status) != args[1]):
		s.fails(ts, "%s: %d %v, want %s", args[0], status, err, args[1])
	}
	if err == nil {
		s.body = http.StatusText(status)
	}
}

func logged(ts *testscript.TestScript, neg bool, args []string) {
	s := of(ts)
	r := s.current(ts)
	if neg {
		if found := r.logged(args...); len(found) > 0 {
			s.fails(ts, "the log has %v", found[0])
		}
		return
	}
	if !eventually(patient, func() bool { return len(r.logged(args...)) > 0 || r.over() }) || len(r.logged(args...)) == 0 {
		s.fails(ts, "the log has no line with %q", args)
	}
}

func once(ts *testscript.TestScript, neg bool, args []string) {
	onlyPositive(ts, neg)
	s := of(ts)
	if found := s.current(ts).logged(args...); len(found) != 1 {
		s.fails(ts, "%d lines have %q, want 1", len(found), args)
	}
}

func later(ts *testscript.TestScript, neg bool, args []string) {
	onlyPositive(ts, neg)
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	time.Sleep(d)
}

func needs(ts *testscript.TestScript, neg bool, args []string) {
	onlyPositive(ts, neg)
	need(of(ts).t, args...)
}

func copyProgram(ts *testscript.TestScript, neg bool, args []string) {
	onlyPositive(ts, neg)
	from, err := exec.LookPath(args[0])
	ts.Check(err)
	to := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(filepath.Dir(to), 0o755))
	// by another process: while this one had the file open for writing, any
	// other start of a program would inherit that, and nobody could execute it
	ts.Check(run("cp", from, to))
}
