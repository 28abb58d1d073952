// Package manifest holds a platform's description of a container against the
// plan of the graced in it, and writes the description that fits a plan.
//
// The platform's grace and graced's own live in two files that different people
// edit; this is where they meet. It knows Kubernetes manifests, Compose files and
// ECS task definitions. JSON is YAML, so one reader serves all.
package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"graced/internal/plan"
	"graced/internal/yaml"
	"graced/signals"
)

// Settings are those of one graced, as far as a platform has to agree with them.
type Settings struct {
	Plan *plan.Plan
	// Port is where graced serves readiness; 0: it does not.
	Port                 int
	Ready, Live, Startup []string // paths
	// Variables has what was set otherwise than by the file, for Emit.
	Variables []Variable
}

// Variable is one of a container's environment.
type Variable struct{ Name, Value string }

// Container is one that runs graced, as its description says.
type Container struct {
	Platform string   // kubernetes, compose, ecs
	Name     string   // Deployment/web: app
	Args     []string // graced's flags on its command line
	Program  []string // what it runs, where the description says so
	Env      []string // its GRACED_ variables, NAME=VALUE
}

// SettingsOf gives the settings of the graced in a container, or why they are
// wrong.
type SettingsOf func(Container) (Settings, error)

// Finding is one thing in a file that does not agree with the plan.
type Finding struct {
	File      string
	Line, Col int    // from 1
	Where     string // the container
	Is        string // what is there
	Should    string // what should be
	// Note: it fits, but is likely not what was meant.
	Note bool
}

// String is FILE:LINE:COL: CONTAINER: what is; what should be.
func (f Finding) String() string {
	kind := ""
	if f.Note {
		kind = "note: "
	}
	return fmt.Sprintf("%s:%d:%d: %s%s: %s; %s", f.File, f.Line, f.Col, kind, f.Where, f.Is, f.Should)
}

// Fits says whether no finding is more than a note.
func Fits(findings []Finding) bool {
	return !slices.ContainsFunc(findings, func(f Finding) bool { return !f.Note })
}

// ErrNothing says that a file was read and has no container in it that could
// run graced.
var ErrNothing = errors.New("no container that runs graced: no Kubernetes workload, Compose service or ECS container definition names graced in its command, its health check or a GRACED_ variable, or has graced's port, and there is not exactly one container to take for it")

// MaxFile is the longest file that is read, in bytes. A manifest has a few
// pages.
const MaxFile = 4 << 20

// Check reads a file of one or several documents and holds every container in
// it that runs graced against its settings. The findings are in the order of
// the file.
func Check(file string, data []byte, settings SettingsOf) ([]Finding, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%s: %d bytes; a manifest has at most %d", file, len(data), MaxFile)
	}
	c := &check{file: file, settings: settings}
	documents, err := yaml.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read as YAML or JSON: %w", file, err)
	}
	for _, doc := range documents {
		if err := (sizes{}).bounded(doc); err != nil {
			return nil, fmt.Errorf("%s: cannot be read: %w", file, err)
		}
		c.document(value{doc})
	}
	if c.containers == 0 {
		return nil, fmt.Errorf("%s: %w", file, ErrNothing)
	}
	slices.SortStableFunc(c.findings, func(a, b Finding) int { return a.Line - b.Line })
	return c.findings, nil
}

// check is one run of Check.
type check struct {
	file       string
	settings   SettingsOf
	findings   []Finding
	containers int
	where      string
	unknown    bool // the grace that graced counts on is not in the file
}

// document finds out what a document describes; one of another kind, between
// those of interest, is left alone.
func (c *check) document(doc value) {
	switch {
	case doc.at("kind").text() == "List" || len(doc.at("items").list()) > 0:
		for _, item := range doc.at("items").list() {
			c.document(item)
		}
	case doc.at("kind").text() != "":
		c.kubernetes(doc)
	case doc.at("services").exists():
		c.compose(doc)
	case doc.at("containerDefinitions").exists():
		c.ecs(doc)
	case doc.at("taskDefinition").at("containerDefinitions").exists():
		c.ecs(doc.at("taskDefinition"))
	}
}

// found adds a finding at a place in the file.
func (c *check) found(at value, is, should string) {
	c.findings = append(c.findings, Finding{File: c.file, Line: at.line(), Col: at.col(), Where: c.where, Is: is, Should: should})
}

// note adds a finding that is none of a misfit.
func (c *check) note(at value, is, should string) {
	c.found(at, is, should)
	c.findings[len(c.findings)-1].Note = true
}

// open asks for the settings of a container; what is wrong with them is a
// finding, at the container.
func (c *check) open(one candidate) (Settings, bool) {
	c.containers++
	at, env, container := one.at, one.env, one.settings
	c.where, c.unknown = container.Name, false
	known, unknown := variables(env)
	container.Env = known
	s, err := c.settings(container)
	if err != nil {
		c.found(at, "its graced would not start: "+strings.ReplaceAll(err.Error(), "\n", "; "), "correct its flags or variables")
		return s, false
	}
	for _, name := range unknown {
		flag := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "GRACED_")), "_", "-")
		if name == "GRACED_GRACE" {
			if !s.Plan.Assumed() { // it was given by flag
				continue
			}
			c.unknown = true
		}
		c.note(env, "the value of "+name+" is not in the file", "give it here by --"+flag+", and it is checked")
	}
	return s, true
}

// grace compares the platform's grace with the one that graced counts on. at is
// where it is set, or where it would have to be.
func (c *check) grace(at value, name string, given time.Duration, set bool, s Settings) {
	want := s.Plan.Grace
	is := fmt.Sprintf("%s is %s", name, plan.Duration(given))
	if !set {
		is = fmt.Sprintf("%s is not set, so it is %s", name, plan.Duration(given))
	}
	switch {
	case c.unknown: // said by a note
	case given < want:
		c.found(at, is, fmt.Sprintf("graced counts on %s and would be killed in the middle of its shutdown: raise it to %s, or set GRACED_GRACE to %s", plan.Duration(want), plan.Duration(want), plan.Duration(given)))
	case given > want:
		c.note(at, is, fmt.Sprintf("graced uses only %s of it: set GRACED_GRACE to %s", plan.Duration(want), plan.Duration(given)))
	}
}

// stopSignal checks that the platform's stop signal is one that graced
// understands as such.
func (c *check) stopSignal(at value, s Settings) {
	if !at.exists() {
		return
	}
	sig, err := signals.Parse(at.text())
	if err != nil {
		c.found(at, "the stop signal "+at.text()+" is unknown", "name one such as SIGTERM")
		return
	}
	if !s.Plan.StopsFor(sig, s.Plan.Guess()) {
		c.found(at, at.text()+" is the stop signal here, and graced would pass it on to the program as any other", "add it to --stop-signals, or take SIGTERM")
	}
}
