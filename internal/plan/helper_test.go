package plan

import (
	"syscall"
	"testing"
	"time"
)

// byFlag and inFile are what a person set.
func byFlag(name string) Source { return Source{Kind: ByFlag, Name: name} }

func inFile(line int) Source {
	return Source{Kind: ByFile, Name: "x", File: "graced.hcl", Line: line, Col: 3}
}

// preset is what a platform's preset set.
func preset(name string) Source { return Source{Kind: ByPreset, Name: name} }

func flagged[T any](v T, name string) Setting[T] { return Given(v, byFlag(name)) }

func grace(d time.Duration) Setting[time.Duration] { return flagged(d, "--grace") }

func fixed(d time.Duration) Setting[Delay] { return flagged(Delay{For: d}, "--delay") }

func wait(sig syscall.Signal, d time.Duration) Rung { return Rung{Signal: sig, Wait: d} }

func open(sig syscall.Signal) Rung { return Rung{Signal: sig, Open: true} }

func ladder(rungs ...Rung) Setting[[]Rung] { return flagged(rungs, "--stop") }

// one is the spec of wrap mode: one process named app.
func one(change ...func(*Spec)) Spec {
	s := Spec{Processes: []Process{{Name: "app", Command: []string{"app"}}}}
	for _, c := range change {
		c(&s)
	}
	return s
}

// on sets the platform, with the delay of its preset.
func on(name string) func(*Spec) {
	return func(s *Spec) {
		s.Platform, _ = PlatformByName(name)
		if d := s.Platform.Delay; d > 0 {
			s.Delay = Given(Delay{For: d}, preset(name))
		}
	}
}

func mustFit(t *testing.T, s Spec) *Plan {
	t.Helper()
	p, err := New(s)
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	return p
}

func mustRefuse(t *testing.T, s Spec) Problems {
	t.Helper()
	p, err := New(s)
	if err == nil {
		t.Fatalf("accepted:\n%s", p.Text())
	}
	return err.(Problems)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
