package plan

import (
	"strings"
	"syscall"
	"testing"

	"graced/signals"
)

// argv makes a process that was started with words; its executable is that of the
// first.
func argv(words string) Identity {
	title := strings.Fields(words)
	return Identity{Exe: base(title[0]), Comm: base(title[0]), Title: title}
}

func atTerminal(id Identity) Identity {
	id.Terminal = true
	return id
}

// TestFirst is the contract's table of programs: the first signal, the drain, and
// whether a SIGTERM follows.
func TestFirst(t *testing.T) {
	const term, quit, winch, usr1, intr, hup = syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGWINCH, syscall.SIGUSR1, syscall.SIGINT, syscall.SIGHUP
	exe := func(name string) Identity { return Identity{Exe: name, Comm: name} }
	tests := []struct {
		name  string
		id    Identity
		came  syscall.Signal
		want  syscall.Signal
		table bool
		drain Drain
	}{
		{"nginx", exe("nginx"), term, quit, true, DrainOff},
		{"nginx, whatever came", exe("nginx"), intr, quit, true, DrainOff},
		{"nginx, nothing came", exe("nginx"), 0, quit, true, DrainOff},
		{"php-fpm", exe("php-fpm"), term, quit, true, DrainOff},
		{"php-fpm of Debian", exe("php-fpm8.2"), term, quit, true, DrainOff},
		{"nginx with a version", exe("nginx-1.24.0"), term, quit, true, DrainOff},
		{"unicorn", Identity{Exe: "ruby3.1", Comm: "unicorn", Title: []string{"unicorn master -c /etc/unicorn.rb"}}, term, quit, true, DrainOff},
		{"unicorn, exe refused", Identity{Comm: "ruby", Title: []string{"unicorn master -c /etc/unicorn.rb"}}, term, quit, true, DrainOff},
		{"a worker of unicorn", Identity{Exe: "ruby", Comm: "unicorn", Title: []string{"unicorn worker[0]"}}, term, term, false, DrainIdle},
		{"another ruby", argv("ruby app.rb"), term, term, false, DrainIdle},
		{"httpd", exe("httpd"), term, winch, true, DrainOff},
		{"apache2", exe("apache2"), term, winch, true, DrainOff},
		{"httpd with a terminal", atTerminal(exe("httpd")), term, term, false, DrainOff},
		{"haproxy", exe("haproxy"), term, usr1, true, DrainOff},
		{"postgres", exe("postgres"), term, intr, true, DrainOff},
		{"postgres, exe refused after its drop of uid", Identity{Comm: "postgres"}, term, intr, true, DrainOff},
		{"php-fpm, exe refused", Identity{Comm: "php-fpm8.2"}, term, quit, true, DrainOff},
		{"nginx, only its title", Identity{Title: []string{"nginx: master process nginx -g daemon off;"}}, term, quit, true, DrainOff},
		{"haproxy, only its command line", Identity{Title: []string{"/usr/sbin/haproxy", "-W"}}, term, usr1, true, DrainOff},
		{"mysqld", exe("mysqld"), term, term, false, DrainOff},
		{"mariadbd", exe("mariadbd"), term, term, false, DrainOff},
		{"redis-server", exe("redis-server"), term, term, false, DrainOff},
		{"valkey-server", exe("valkey-server"), term, term, false, DrainOff},
		{"mongod", exe("mongod"), term, term, false, DrainOff},
		{"memcached, as it came", exe("memcached"), intr, intr, false, DrainOff},
		{"beam.smp", exe("beam.smp"), term, term, false, DrainOff},
		{"java", exe("java"), term, term, false, DrainIdle},
		{"java, as it came", exe("java"), intr, intr, false, DrainIdle},
		{"java is never sent a thread dump for a stop", exe("java"), quit, term, false, DrainIdle},
		{"any other", exe("gunicorn"), term, term, false, DrainIdle},
		{"any other, as it came", exe("node"), quit, quit, false, DrainIdle},
		{"any other, nothing came", exe("node"), 0, term, false, DrainIdle},
		{"any other, systemd's own signal", exe("node"), signals.RTMin + 3, term, false, DrainIdle},
		{"a program that looks like one", exe("nginx-exporter"), term, term, false, DrainIdle},
		{"a program called like one, but it is another", Identity{Exe: "python3.11", Comm: "nginx", Title: []string{"nginx"}}, term, term, false, DrainIdle},
		{"nothing is known", Identity{}, term, term, false, DrainIdle},
		{"an interactive shell", atTerminal(argv("bash")), term, hup, true, DrainOff},
		{"a shell without a terminal", argv("bash"), term, term, false, DrainIdle},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := First(tt.id, tt.came)
			if got.Signal != tt.want || got.ByTable != tt.table {
				t.Errorf("%s, by the table %v; want %s, %v", signals.Name(got.Signal), got.ByTable, signals.Name(tt.want), tt.table)
			}
			if got.Why == "" {
				t.Error("no reason is given")
			}
			if got := AutoDrain(tt.id); got != tt.drain {
				t.Errorf("drain %q, want %q", got, tt.drain)
			}
		})
	}
}

// TestInteractiveShell: a shell that a person types into, told by its words.
func TestInteractiveShell(t *testing.T) {
	yes := []string{"bash", "-bash", "/bin/bash", "bash -l", "bash --login", "bash --rcfile f", "bash --init-file f", "bash --norc -i", "bash -o vi",
		"bash -eo pipefail", "bash +o history", "bash -O extglob", "bash -x", "bash -s", "bash -s one two", "bash -ic server", "sh -i script.sh", "bash --", "bash -",
		"sh", "dash", "zsh", "zsh-5.9", "ash", "fish", "ksh", "ksh93", "mksh"}
	no := []string{"bash -c x", "bash -lc x", "bash -euc x", "bash script.sh", "bash -x script.sh", "bash --rcfile f script.sh", "bash --login script.sh",
		"bash -eo pipefail script.sh", "bash -- script.sh", "bash - script.sh", "fish --command=x", "sh /run.sh -i", "bashful", "python3", "vim"}
	for _, words := range yes {
		if !InteractiveShell(atTerminal(argv(words))) {
			t.Errorf("%q is typed into", words)
		}
		if InteractiveShell(argv(words)) {
			t.Errorf("%q holds no terminal", words)
		}
	}
	for _, words := range no {
		if InteractiveShell(atTerminal(argv(words))) {
			t.Errorf("%q is not typed into", words)
		}
	}
	for words, want := range map[string]bool{
		"busybox sh": true, "/bin/busybox ash -l": true, "sh": true, "/bin/sh": true, "-sh": true, "sh -c x": false, "busybox sh x.sh": false,
		"busybox httpd -f": false, "httpd -f": false, "busybox": false, "/bin/busybox": false, "top": false,
	} {
		id := Identity{Exe: "busybox", Comm: "x", Title: strings.Fields(words), Terminal: true}
		if got := InteractiveShell(id); got != want {
			t.Errorf("busybox as %q: %v, want %v", words, got, want)
		}
	}
	for id, want := range map[*Identity]bool{
		{Exe: "busybox", Comm: "sh", Terminal: true}:    true, // its command line was not to be had
		{Exe: "busybox", Comm: "httpd", Terminal: true}: false,
		{Exe: "bash", Terminal: true}:                   true,
		{Comm: "bash", Terminal: true}:                  true,
		{Terminal: true}:                                false,
	} {
		if got := InteractiveShell(*id); got != want {
			t.Errorf("%+v: %v, want %v", *id, got, want)
		}
	}
}

func TestNeedsTitle(t *testing.T) {
	for _, tt := range []struct {
		id   Identity
		want bool
	}{
		{Identity{}, true}, {Identity{Exe: "nginx", Comm: "nginx"}, false}, {Identity{Exe: "node"}, false}, {Identity{Exe: "ruby3.1"}, true},
		{Identity{Comm: "postgres"}, false}, {Identity{Comm: "node"}, true}, {Identity{Exe: "bash"}, false},
		{Identity{Exe: "bash", Terminal: true}, true}, {Identity{Exe: "zsh-5.9", Terminal: true}, true}, {Identity{Exe: "busybox", Terminal: true}, true},
		{Identity{Exe: "vim", Terminal: true}, false},
	} {
		if got := NeedsTitle(tt.id); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.id, got, tt.want)
		}
	}
}

// TestStopsFor: the list, less what a program means otherwise, and its own.
func TestStopsFor(t *testing.T) {
	const term, quit, winch, usr1, intr, hup = syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGWINCH, syscall.SIGUSR1, syscall.SIGINT, syscall.SIGHUP
	auto := mustFit(t, one())
	set := mustFit(t, one(func(s *Spec) { s.Stops = flagged([]syscall.Signal{quit, usr1}, "--stop-signals") }))
	id := func(exe string) Identity { return Identity{Exe: exe} }
	for _, tt := range []struct {
		plan *Plan
		sig  syscall.Signal
		id   Identity
		want bool
		may  bool
	}{
		{auto, term, id("node"), true, true}, {auto, intr, id("node"), true, true}, {auto, quit, id("node"), true, true},
		{auto, signals.RTMin + 3, id("node"), true, true}, {auto, hup, id("node"), false, false}, {auto, usr1, id("node"), false, true},
		{auto, winch, id("node"), false, true}, {auto, winch, id("httpd"), true, true}, {auto, winch, atTerminal(id("httpd")), false, true},
		{auto, winch, id("apache2"), true, true}, {auto, usr1, id("haproxy"), true, true}, {auto, usr1, id("nginx"), false, true},
		{auto, quit, id("java"), false, true}, {auto, term, id("java"), true, true}, {auto, intr, id("postgres"), true, true},
		{auto, hup, atTerminal(id("bash")), false, false}, {auto, syscall.SIGUSR2, id("haproxy"), false, false},
		{set, quit, id("java"), true, true}, {set, usr1, id("node"), true, true}, {set, term, id("node"), false, false}, {set, winch, id("httpd"), false, false},
	} {
		if got := tt.plan.StopsFor(tt.sig, tt.id); got != tt.want {
			t.Errorf("%s to %+v (list set: %v): %v, want %v", signals.Name(tt.sig), tt.id, tt.plan.StopsSet, got, tt.want)
		}
		if got := tt.plan.MayStop(tt.sig); got != tt.may {
			t.Errorf("MayStop(%s) (list set: %v): %v, want %v", signals.Name(tt.sig), tt.plan.StopsSet, got, tt.may)
		}
		if tt.want && !tt.may {
			t.Errorf("%s stops, but nobody would ask", signals.Name(tt.sig))
		}
	}
}

func TestName(t *testing.T) {
	for _, tt := range []struct {
		id   Identity
		want string
	}{
		{Identity{Exe: "php-fpm8.2", Comm: "php"}, "php-fpm8.2"}, {Identity{Comm: "postgres"}, "postgres"},
		{Identity{Title: []string{"/usr/bin/foo -x"}}, "foo"}, {Identity{}, ""},
	} {
		if got := tt.id.Name(); got != tt.want {
			t.Errorf("%+v is called %q, want %q", tt.id, got, tt.want)
		}
	}
}
