package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if stage() {
		return
	}
	os.Exit(m.Run())
}

// The short form of the whole: what tini loses in a rolling replace, graced does
// not. `make rolling` measures the rest.
func TestRollingReplace(t *testing.T) {
	if testing.Short() {
		skip(t, "a rolling replace takes minutes")
	}
	if os.Geteuid() != 0 {
		skip(t, "only root makes network namespaces with interfaces")
	}
	for _, program := range []string{"haproxy", "tini", "ip"} {
		need(t, program)
	}
	if err := possible(t.Context()); err != nil {
		skip(t, err.Error())
	}
	graced := os.Getenv("GRACED_BIN")
	if graced == "" {
		graced = filepath.Join(t.TempDir(), "graced")
		if err := buildGraced(t.Context(), graced); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		app, program string
		least        int // that tini loses
	}{
		{"python", "/usr/bin/python3", 60},
		{"nginx", "nginx", 60},
		{"node", "node", 60},
	} {
		t.Run(test.app, func(t *testing.T) {
			t.Parallel() // each is alone in its namespaces
			need(t, test.program)
			lost := valid(t, shortPiece("tini", test.app), graced).Roll.Failed
			if lost < test.least {
				t.Fatalf("tini lost %d requests: too few to tell anything, %d are the least", lost, test.least)
			}
			record := valid(t, shortPiece("graced", test.app), graced)
			if kept := record.Roll.Failed; kept*100 > lost {
				t.Errorf("graced lost %d requests; a hundredth of tini's %d is the most", kept, lost)
				for _, loss := range record.Losses {
					t.Logf("%+v", loss)
				}
			}
			for _, r := range record.Replaced {
				if r.Killed {
					t.Errorf("the platform had to kill %s, after %ss: %q", r.Server, r.Stop, r.Warnings)
				}
			}
		})
	}
}

// shortPiece is a piece that two slow cores have the time for.
func shortPiece(init, app string) Spec {
	s := piece("haproxy", init, app)
	s.Name = "short/" + init + "/" + app
	s.Rate, s.Boot, s.Control = 120, 1500*time.Millisecond, 3*time.Second
	return s
}

// valid measures a piece until a run counts.
func valid(t *testing.T, s Spec, graced string) *Record {
	t.Helper()
	void := ""
	for range attempts {
		record, err := measure(t.Context(), job{Spec: s, Graced: graced, Work: t.TempDir(), Realtime: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(record.line())
		if record.Void == "" {
			return record
		}
		void = record.Void
	}
	skip(t, "the machine is too busy: of "+s.Name+", "+void)
	return nil
}

func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		skip(t, program+" is not installed")
	}
}

// skip ends a test that cannot run here. With GRACED_TEST_NO_SKIP=1, as in
// continuous integration, it fails.
func skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("GRACED_TEST_NO_SKIP") != "" {
		t.Fatal("cannot be tested here, and GRACED_TEST_NO_SKIP is set: " + why)
	}
	t.Skip("SKIPPED: " + why)
}
