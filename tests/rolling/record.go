package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// seconds is a duration as people read it.
type seconds time.Duration

func (s seconds) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%.3f", time.Duration(s).Seconds()), nil
}

func (s *seconds) UnmarshalJSON(text []byte) error {
	var f float64
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	*s = seconds(f * float64(time.Second))
	return nil
}

func (s seconds) String() string { return fmt.Sprintf("%.1f", time.Duration(s).Seconds()) }

// Record is what a run of a piece brought. It is a line of the results file.
type Record struct {
	Spec     Spec
	When     time.Time
	Where    map[string]string // kernel, versions
	Load1    string            // the machine's load when the run began
	Realtime bool

	Void     string `json:",omitempty"` // why the run does not count
	Control  Outcome
	Roll     Outcome
	Replaced []*Replace
	Cut      int      `json:",omitempty"` // of the failed: in flight when the program got its signal
	Sent     int      `json:",omitempty"` // of the failed: sent after that
	Losses   []Loss   `json:",omitempty"` // the first of them
	Strange  []string `json:",omitempty"` // changes of the balancer's mind that no replace explains
}

// lateLimit is how late the generator may have been. Beyond it the machine was
// measured.
const lateLimit = 500 * time.Millisecond

// judge decides whether the run counts: by its control and by how late the
// generator was, and by nothing else.
func (r *Record) judge() {
	switch {
	case r.Control.Failed > 0:
		r.Void = fmt.Sprintf("its control lost %d", r.Control.Failed)
	case time.Duration(r.Control.Late) > lateLimit:
		r.Void = fmt.Sprintf("the generator was late by %ss in its control", r.Control.Late)
	case time.Duration(r.Roll.Late) > lateLimit:
		r.Void = fmt.Sprintf("the generator was late by %ss", r.Roll.Late)
	}
}

func newRecord(j *job) *Record {
	r := &Record{Spec: j.Spec, When: time.Now().UTC().Truncate(time.Second), Where: map[string]string{}}
	if j.Commit != "" {
		r.Where["commit"] = j.Commit
	}
	attr, err := unix.SchedGetAttr(0, 0)
	r.Realtime = err == nil && attr.Policy == unix.SCHED_RR
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		r.Where["Linux"] = unix.ByteSliceToString(name.Release[:])
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		r.Load1, _, _ = strings.Cut(string(text), " ")
	}
	for name, ask := range map[string][]string{
		"HAProxy": {"haproxy", "-v"}, "nginx": {"nginx", "-v"}, "Python": {"python3", "-V"}, "node": {"node", "-v"},
		"httpd": {"apache2", "-v"}, "PHP": {"php-fpm8.2", "-v"}, "tini": {"tini", "--version"}, "dumb-init": {"dumb-init", "--version"},
		"graced": {j.Graced, "version"},
	} {
		if text, err := exec.Command(ask[0], ask[1:]...).CombinedOutput(); err == nil {
			first, _, _ := strings.Cut(string(text), "\n")
			r.Where[name] = cmp.Or(version.FindString(first), strings.TrimSpace(first))
		}
	}
	return r
}

// version is what looks like one in a program's words.
var version = regexp.MustCompile(`[0-9]+\.[0-9]+(\.[0-9]+)?`)

// line is the run in one line.
func (r *Record) line() string {
	var stops []string
	for _, p := range r.Replaced {
		stops = append(stops, p.Stop.String())
	}
	text := fmt.Sprintf("%-32s %6d requests, %4d failed %s; stops %s; late %s; control %d of %d", r.Spec.Name, r.Roll.Requests, r.Roll.Failed,
		counts(r.Roll.ByEnd), strings.Join(stops, " "), r.Roll.Late, r.Control.Failed, r.Control.Requests)
	if r.Void != "" {
		text += "; VOID: " + r.Void
	}
	return text
}

// readRecords reads a results file; none is an empty one.
func readRecords(path string) ([]*Record, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []*Record
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		r := new(Record)
		if err := json.Unmarshal(line, r); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
		list = append(list, r)
	}
	return list, nil
}

// appendRecord adds a line to a results file.
func appendRecord(path string, r *Record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}
