package probe

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"graced/internal/record"
)

func TestReason(t *testing.T) {
	deadline := at(20_000)
	for _, tt := range []struct {
		name string
		snap record.Snapshot
		want string
	}{
		{"what the supervisor says", record.Snapshot{Reason: "restarting: php: exited 1"}, "restarting: php: exited 1"},
		{"nothing said, at the start", record.Snapshot{}, "starting"},
		{"nothing said, after that", record.Snapshot{EverReady: true}, "not ready"},
		{"nothing said, in a drain", record.Snapshot{EverReady: true, NotReadySince: epoch}, "draining"},
		{"nothing said, in a shutdown", record.Snapshot{Phase: record.Stop, T0: epoch, Deadline: deadline}, "draining: the shutdown has started, 17.3s left"},
		{"only blanks", record.Snapshot{Reason: " \n\t"}, "starting"},
		{"the time left", record.Snapshot{T0: epoch, Deadline: deadline, Reason: "draining: 42 connections busy"}, "draining: 42 connections busy, 17.3s left"},
		{"none left", record.Snapshot{T0: epoch, Deadline: epoch, Reason: "draining"}, "draining, 0.0s left"},
		{"a drain has no deadline", record.Snapshot{NotReadySince: epoch, Reason: "draining: deploy"}, "draining: deploy"},
		{"one line", record.Snapshot{Reason: "starting: web:\r\n500\x00 \xff\u2028end\n"}, "starting: web:  500  \uFFFD end"},
	} {
		if got := reason(&tt.snap, at(2_700)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	long := reason(&record.Snapshot{Reason: strings.Repeat("é", maxReason)}, epoch)
	if len(long) > maxReason+len("…") || !utf8.ValidString(long) {
		t.Errorf("a long reason has %d bytes, valid %v", len(long), utf8.ValidString(long))
	}
}

func TestStatus(t *testing.T) {
	snap := &record.Snapshot{
		Started: epoch, Phase: record.Drain, EverReady: true, Reason: "draining: 2 connections busy",
		NotReadySince: at(10_000), T0: at(10_000), Deadline: at(38_000), KillAt: at(36_000), Cause: "SIGTERM",
		Grace: 30 * time.Second, Budget: 28 * time.Second,
		Processes: []record.ProcessState{
			{Name: "web", State: "running", PID: 7, Started: at(100), Ready: true},
			{Name: "job", State: "exited", Exited: true},
			{Name: "late", State: "waiting"},
		},
		Connections: record.Connections{Known: true, Busy: 2, Idle: 3, CloseWait: 4, Unaccepted: 5},
		Phases:      []record.PhaseTime{{Phase: record.Delay, Start: at(10_000), End: at(11_500)}, {Phase: record.Drain, Start: at(11_500)}},
		Totals: record.Totals{
			SignalsReceived:  map[string]uint64{"SIGTERM": 1},
			SignalsForwarded: map[record.Forwarded]uint64{{Process: "web", Signal: "SIGHUP"}: 2, {Process: "web", Signal: "SIGUSR1"}: 1},
			Overruns:         map[string]record.Overshoot{"drain": {Count: 1, Last: 40 * time.Millisecond}},
			Kills:            map[string]uint64{"job": 1},
			Hooks:            map[string]record.HookResult{"flush": {Took: 250 * time.Millisecond}},
		},
	}
	got, err := json.MarshalIndent(StatusOf(snap, at(12_000)), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "ready": false,
  "reason": "draining: 2 connections busy, 26.0s left",
  "ever_ready": true,
  "phase": "drain",
  "started": "2026-01-01T00:00:00Z",
  "uptime_seconds": 12,
  "not_ready_since": "2026-01-01T00:00:10Z",
  "grace_seconds": 30,
  "budget_seconds": 28,
  "shutdown": {
    "cause": "SIGTERM",
    "started": "2026-01-01T00:00:10Z",
    "kill_at": "2026-01-01T00:00:36Z",
    "deadline": "2026-01-01T00:00:38Z",
    "remaining_seconds": 26,
    "phases": [
      {
        "phase": "delay",
        "started": "2026-01-01T00:00:10Z",
        "ended": "2026-01-01T00:00:11.5Z",
        "seconds": 1.5
      },
      {
        "phase": "drain",
        "started": "2026-01-01T00:00:11.5Z",
        "seconds": 0.5
      }
    ]
  },
  "processes": [
    {
      "name": "web",
      "state": "running",
      "pid": 7,
      "started": "2026-01-01T00:00:00.1Z",
      "ready": true
    },
    {
      "name": "job",
      "state": "exited",
      "ready": false,
      "exit_code": 0
    },
    {
      "name": "late",
      "state": "waiting",
      "ready": false
    }
  ],
  "connections": {
    "busy": 2,
    "idle": 3,
    "close_wait": 4,
    "unaccepted": 5
  },
  "signals_received": {
    "SIGTERM": 1
  },
  "signals_forwarded": {
    "web": {
      "SIGHUP": 2,
      "SIGUSR1": 1
    }
  },
  "kills": {
    "job": 1
  },
  "overruns": {
    "drain": {
      "count": 1,
      "last_seconds": 0.04
    }
  },
  "hooks": {
    "flush": {
      "seconds": 0.25
    }
  }
}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	quiet, err := json.Marshal(StatusOf(&record.Snapshot{Phase: record.Running, Ready: true, EverReady: true}, epoch))
	if err != nil || string(quiet) != `{"ready":true,"ever_ready":true,"phase":"running","uptime_seconds":0,"grace_seconds":0,"budget_seconds":0,"processes":[]}` {
		t.Errorf("got %s, %v", quiet, err)
	}
}

// Whatever is asked for: one of five codes, never a panic, never an empty
// answer, and a line is a line.
func FuzzHandler(f *testing.F) {
	f.Add("GET", "/readyz", "verbose", "kube-probe/1.35", "starting", true)
	f.Add("HEAD", "/livez", "verbose=%zz&;", "", "", false)
	f.Add("POST", "/../readyz", "a=b", "graced-health/1", "a\nb", false)
	f.Add("GET", "*", "", "\x00", "\xff", true)
	f.Fuzz(func(t *testing.T, method, path, query, agent, why string, is bool) {
		w := newWorld(record.Snapshot{Ready: is, Reason: why, Processes: []record.ProcessState{{Name: why, State: path}}})
		cfg := w.config().withDefaults()
		h := newHandler(t.Context(), cfg, new(Askers))
		r := httptest.NewRequest("GET", "/", nil)
		r.Method, r.URL.Path, r.URL.RawQuery = method, path, query
		r.Header.Set("User-Agent", agent)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		switch rec.Code {
		case http.StatusOK, http.StatusServiceUnavailable, http.StatusNotFound, http.StatusMethodNotAllowed:
		default:
			t.Errorf("got %d", rec.Code)
		}
		if p := w.panicked(); len(p) != 0 {
			t.Errorf("panics: %q", p)
		}
		body := rec.Body.String()
		if strings.TrimSpace(body) == "" {
			t.Error("an empty answer")
		}
		if rec.Code == http.StatusServiceUnavailable && !r.URL.Query().Has("verbose") && strings.Count(body, "\n") != 1 {
			t.Errorf("more than a line: %q", body)
		}
		if !is && rec.Header().Get("Connection") != "close" {
			t.Error("no Connection: close while not ready")
		}
	})
}
