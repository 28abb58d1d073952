package plan

import (
	"strings"
	"testing"
	"time"
)

// TestNotes: where a program's own time-out is longer than what it gets, and
// other things that whoever asks for the plan is told.
func TestNotes(t *testing.T) {
	runs := func(words string) func(*Spec) {
		return func(s *Spec) {
			s.Processes[0].Command = strings.Fields(words)
			s.Processes[0].Name = base(s.Processes[0].Command[0])
		}
	}
	gives := func(d time.Duration) func(*Spec) { return func(s *Spec) { s.Grace = grace(d) } }
	tests := []struct {
		name, want string
		spec       Spec
	}{
		{"redis on Docker", "redis-server gives its replicas 10s by itself (shutdown-timeout), and SIGKILL can come 5.1s after its stop signal; raise the grace, or lower shutdown-timeout",
			one(on("docker"), runs("redis-server --save x"))},
		{"redis with time", "", one(on("docker"), runs("/usr/bin/redis-server"), gives(45*time.Second))},
		{"exactly its time is not enough", "mongod gives its clients 15s by itself (shutdownTimeoutMillisForSignaledShutdown), and SIGKILL can come 15s after its stop signal; raise the grace, or lower shutdownTimeoutMillisForSignaledShutdown",
			one(runs("mongod"), gives(18*time.Second), func(s *Spec) { s.Delay, s.Drain = fixed(700*time.Millisecond), flagged(DrainOff, "--drain") })},
		{"gunicorn on Kubernetes", "gunicorn gives its requests 30s by itself (graceful_timeout), and SIGKILL can come 18.5s after its stop signal; raise the grace, or lower graceful_timeout",
			one(on("kubernetes"), runs("gunicorn app:app"))},
		{"gunicorn by python", "python3 (gunicorn) gives its requests 30s by itself (graceful_timeout), and SIGKILL can come 18.5s after its stop signal; raise the grace, or lower graceful_timeout",
			one(on("kubernetes"), runs("python3 -m gunicorn app:app"))},
		{"sidekiq by bundler", "bundle (sidekiq) gives its jobs 25s by itself (-t), and SIGKILL can come 1.2s after its stop signal; raise the grace, or lower -t",
			one(on("nomad"), runs("bundle exec sidekiq"))},
		{"java", "java, if it is Spring Boot, gives each of its phases 30s by itself (spring.lifecycle.timeout-per-shutdown-phase), and SIGKILL can come 18.5s after its stop signal; raise the grace, or lower spring.lifecycle.timeout-per-shutdown-phase",
			one(on("kubernetes"), runs("java -jar x.jar"))},
		{"dotnet", "dotnet, if it is a .NET host, gives its services 30s by itself (HostOptions.ShutdownTimeout), and SIGKILL can come 18.5s after its stop signal; raise the grace, or lower HostOptions.ShutdownTimeout",
			one(on("kubernetes"), runs("dotnet x.dll"))},
		{"php-fpm of Debian", "php-fpm8.2 waits for its requests after its stop signal only if process_control_timeout is set; set it to less than 21.5s, when SIGKILL can come",
			one(on("kubernetes"), runs("php-fpm8.2 -F"))},
		{"a line of the file", "graced.hcl:7,3: app (redis-server) gives its replicas 10s by itself (shutdown-timeout), and SIGKILL can come 5.1s after its stop signal; raise the grace, or lower shutdown-timeout",
			one(runs("redis-server"), func(s *Spec) { s.Processes[0].Name, s.Processes[0].Source = "app", inFile(7) })},
		{"a program of which nothing is known", "", one(on("kubernetes"), runs("node server.js"))},
		{"spent where it is outside", "--grace-spent: 2s of the grace count as spent, and on nomad what runs before the stop signal takes nothing from it; leave grace_spent out unless something else does",
			one(on("nomad"), runs("app"), gives(20*time.Second), func(s *Spec) { s.GraceSpent = flagged(2*time.Second, "--grace-spent") })},
		{"spent where it counts", "", one(on("kubernetes"), runs("app"), func(s *Spec) { s.GraceSpent = flagged(2*time.Second, "--grace-spent") })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := mustFit(t, tt.spec)
			if got := Problems(p.Notes).Error(); got != tt.want {
				t.Errorf("noted\n%s\nwant\n%s", got, tt.want)
			}
			if tt.want != "" && !strings.Contains(p.Text(), "note: "+tt.want+"\n") {
				t.Errorf("the text does not say so:\n%s", p.Text())
			}
			if tt.want != "" && strings.Contains(Problems(p.Warnings).Error(), tt.want) {
				t.Error("it is told at each start")
			}
		})
	}
}

// TestOwnTimeouts has every program whose time-out is known, so that none is
// dropped without notice.
func TestOwnTimeouts(t *testing.T) {
	for name, want := range map[string]float64{"redis-server": 10, "mongod": 15, "gunicorn": 30, "sidekiq": 25, "java": 30, "dotnet": 30, "php-fpm": 0, "nginx": -1} {
		program, _ := byName(name)
		if !program.Own.Known() {
			program.Own.For = -time.Second
		}
		if program.Own.For != seconds(want) || (want == 0) != program.Own.Must {
			t.Errorf("%s: %+v, want %vs", name, program.Own, want)
		}
	}
}
