package plan

import (
	"flag"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files")

// contractSpec is the file of the contract's section 4.
func contractSpec() Spec {
	s := Spec{
		Grace: Given(30*time.Second, inFile(2)), Margin: Given(2*time.Second, inFile(3)), GraceSpent: Given(time.Duration(0), inFile(4)),
		Delay: Given(Delay{For: 5 * time.Second}, inFile(9)), Cleanup: Given(2*time.Second, inFile(10)),
		Drain: Given(DrainIdle, inFile(13)), DrainMax: Given(10*time.Second, inFile(14)),
		Processes: []Process{
			{Name: "php", Command: []string{"php-fpm", "-F"}, Ladder: Given([]Rung{wait(syscall.SIGQUIT, time.Second)}, inFile(23))},
			{Name: "web", Command: []string{"nginx", "-g", "daemon off;"}, After: []string{"php"}, Main: true,
				Ladder: Given([]Rung{wait(syscall.SIGQUIT, 8*time.Second), wait(syscall.SIGTERM, 2*time.Second)}, inFile(38))},
		},
		Hooks: []Hook{
			{Name: "migrate", At: PreStart, Command: []string{"./migrate"}, Timeout: time.Minute},
			{Name: "flush", At: PostStop, Command: []string{"./flush"}, Timeout: time.Second},
		},
	}
	s.Platform, _ = PlatformByName("kubernetes")
	return s
}

// TestContractExample: 5 + 10 + 8 + 2 (web) + 1 (php) + 2 (cleanup) = 28s of 30 - 2.
func TestContractExample(t *testing.T) {
	p := mustFit(t, contractSpec())
	if p.Budget != 28*time.Second || p.KillAt != 26*time.Second || p.Processes[0].End != 26*time.Second {
		t.Errorf("budget %v, kill_at %v, the last ladder ends at %v; want 28s, 26s, 26s", p.Budget, p.KillAt, p.Processes[0].End)
	}
	if sum := p.Delay + p.DrainMax + 8*time.Second + 2*time.Second + time.Second + p.Cleanup; sum != p.Budget {
		t.Errorf("the terms make %v, want the budget, %v", sum, p.Budget)
	}
	s := contractSpec()
	s.Processes[0].Ladder.V[0].Wait += time.Millisecond
	mustRefuse(t, s)
	proved(t, p)
}

// TestText has the plans as a person sees them.
func TestText(t *testing.T) {
	command := func(argv ...string) func(*Spec) {
		return func(s *Spec) { s.Processes[0].Name, s.Processes[0].Command = argv[0], argv }
	}
	plans := map[string]Spec{
		"contract":   contractSpec(),
		"docker":     one(on("docker"), command("gunicorn", "app:app")),
		"kubernetes": one(on("kubernetes"), command("nginx", "-g", "daemon off;")),
		"quit": one(command("app"), func(s *Spec) {
			s.Grace, s.Processes[0].First = grace(20*time.Second), flagged(syscall.SIGQUIT, "--signal")
			s.Drain = flagged(DrainClosed, "--drain")
		}),
		"worker": one(on("nomad"), command("worker"), func(s *Spec) {
			s.Grace, s.Delay, s.Drain = grace(45*time.Second), fixed(0), flagged(DrainOff, "--drain")
			s.GraceSpent = flagged(5*time.Second, "--grace-spent")
		}),
		"hooks": one(command("java", "-jar", "x.jar"), func(s *Spec) {
			s.Grace = grace(2 * time.Minute)
			s.Hooks = []Hook{{Name: "leave", At: PreStop, Timeout: 3 * time.Second}, {Name: "tell", At: PreStop, Timeout: 2 * time.Second},
				{Name: "flush", At: PostStop, Timeout: time.Second}, {Name: "close", At: PostStop, Timeout: 1500 * time.Millisecond}}
		}),
		"diamond": graph(12, proc("db", ""), proc("cache", "d"), proc("queue", "d", wait(syscall.SIGUSR2, 6*time.Second)), proc("api", "cq")),
	}
	diamond := plans["diamond"].Processes
	diamond[1].After, diamond[2].After, diamond[3].After = []string{"db"}, []string{"db"}, []string{"cache", "queue"}
	for name, spec := range plans {
		t.Run(name, func(t *testing.T) {
			p := mustFit(t, spec)
			proved(t, p)
			got, file := p.Text(), filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the text is\n%s\nwant (-update writes it)\n%s", got, want)
			}
		})
	}
}

func TestDuration(t *testing.T) {
	for _, tt := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0s"}, {time.Second, "1s"}, {1500 * time.Millisecond, "1.5s"}, {30 * time.Second, "30s"}, {80 * time.Second, "1m20s"},
		{time.Minute, "1m"}, {2 * time.Minute, "2m"}, {10 * time.Minute, "10m"}, {90 * time.Second, "1m30s"}, {100 * time.Second, "1m40s"},
		{time.Hour, "1h"}, {70 * time.Minute, "1h10m"}, {time.Hour + 20*time.Second, "1h0m20s"}, {20 * time.Hour, "20h"},
		{61500 * time.Millisecond, "1m1.5s"}, {250 * time.Millisecond, "250ms"}, {1234567 * time.Nanosecond, "1ms"}, {400 * time.Microsecond, "0s"},
		{-500 * time.Millisecond, "-500ms"}, {-time.Minute, "-1m"},
	} {
		if got := Duration(tt.d); got != tt.want {
			t.Errorf("%d ns is %q, want %q", tt.d, got, tt.want)
		}
	}
}
