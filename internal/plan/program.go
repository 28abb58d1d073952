package plan

import (
	"slices"
	"strings"
	"syscall"
	"time"

	"graced/signals"
)

// Program is what is known of a kind of program.
type Program struct {
	Names []string
	// First is its graceful stop signal; 0: as it came.
	First syscall.Signal
	// Drain is what `drain = "auto"` means for it.
	Drain Drain
	// NoTerminal: First is its stop signal only where no terminal is attached.
	NoTerminal bool
	// Forward has the stop signals that mean something else to it and
	// are forwarded.
	Forward []syscall.Signal
	// Why is the reason, for the plan and the log.
	Why string
	// Own is its own time-out after its stop signal; see note.
	Own Own
}

// programs holds all knowledge of programs that graced has. Their own documents
// are the source: nginx "Controlling nginx", httpd "Stopping and Restarting",
// php-fpm(8), unicorn SIGNALS, haproxy(1), PostgreSQL "Shutting Down the Server",
// the JVM's "Handle Signals and Exceptions"; for their own time-outs php-fpm.conf,
// redis.conf, mongod's parameters, gunicorn's settings, sidekiq's options, Spring
// Boot "Graceful Shutdown", .NET HostOptions.
var programs = []Program{
	{Names: []string{"nginx", "unicorn master"}, First: syscall.SIGQUIT, Drain: DrainOff,
		Why: "SIGQUIT finishes what is in flight, SIGTERM drops it"},
	{Names: []string{"php-fpm"}, First: syscall.SIGQUIT, Drain: DrainOff,
		Why: "SIGQUIT finishes what is in flight, SIGTERM drops it",
		Own: Own{Whom: "its requests", Setting: "process_control_timeout", Must: true}},
	{Names: []string{"httpd", "apache2"}, First: syscall.SIGWINCH, Drain: DrainOff, NoTerminal: true,
		Why: "SIGWINCH finishes what is in flight, SIGTERM drops it"},
	{Names: []string{"haproxy"}, First: syscall.SIGUSR1, Drain: DrainOff,
		Why: "SIGUSR1 finishes what is in flight, SIGTERM drops it"},
	{Names: []string{"postgres"}, First: syscall.SIGINT, Drain: DrainOff,
		Why: "SIGINT ends sessions and closes cleanly, SIGTERM waits for every session"},
	{Names: []string{"mysqld", "mariadbd", "valkey-server", "memcached", "beam.smp"}, Drain: DrainOff,
		Why: "its clients do not obey readiness"},
	{Names: []string{"redis-server"}, Drain: DrainOff,
		Why: "its clients do not obey readiness",
		Own: Own{For: 10 * time.Second, Whom: "its replicas", Setting: "shutdown-timeout"}},
	{Names: []string{"mongod"}, Drain: DrainOff,
		Why: "its clients do not obey readiness",
		Own: Own{For: 15 * time.Second, Whom: "its clients", Setting: "shutdownTimeoutMillisForSignaledShutdown"}},
	{Names: []string{"java"}, Drain: DrainIdle, Forward: []syscall.Signal{syscall.SIGQUIT},
		Why: "SIGQUIT is a thread dump",
		Own: Own{If: "Spring Boot", For: 30 * time.Second, Whom: "each of its phases", Setting: "spring.lifecycle.timeout-per-shutdown-phase"}},
	{Names: []string{"dotnet"}, Drain: DrainIdle,
		Own: Own{If: "a .NET host", For: 30 * time.Second, Whom: "its services", Setting: "HostOptions.ShutdownTimeout"}},
	{Names: []string{"gunicorn"}, Drain: DrainIdle,
		Own: Own{For: 30 * time.Second, Whom: "its requests", Setting: "graceful_timeout"}},
	{Names: []string{"sidekiq"}, Drain: DrainIdle,
		Own: Own{For: 25 * time.Second, Whom: "its jobs", Setting: "-t"}},
}

// Identity is what a process is at one moment.
type Identity struct {
	// Exe is the base name of its executable; "" where the kernel refuses it.
	Exe string
	// Comm is its name, at most 15 bytes; proc_pid_comm(5).
	Comm string
	// Title has the words of its command line.
	Title []string
	// Terminal: it holds the terminal.
	Terminal bool
}

// Name is what p is called: by its executable without a version, else by its
// comm, else by the first word of its command line.
func (id Identity) Name() string {
	for _, name := range []string{id.Exe, id.Comm, id.firstWord()} {
		if name != "" {
			return name
		}
	}
	return ""
}

func (id Identity) firstWord() string {
	if len(id.Title) == 0 {
		return ""
	}
	word, _, _ := strings.Cut(id.Title[0], " ")
	return base(word)
}

// Lookup finds what is known of the program that id is. A process whose
// executable is an interpreter is found by its title.
func Lookup(id Identity) (Program, bool) {
	for _, name := range []string{id.Exe, id.Comm} {
		if p, ok := byName(name); ok {
			return p, true
		}
		if name == id.Exe && name != "" && !interpreter(name) {
			return Program{}, false
		}
	}
	if len(id.Title) == 0 {
		return Program{}, false
	}
	// A program that shows what it is doing writes it over its arguments:
	// "nginx: master process", "unicorn master -c …".
	title := strings.TrimSuffix(id.Title[0], ":")
	words := strings.Fields(title)
	if len(words) >= 2 {
		if p, ok := byName(base(words[0]) + " " + words[1]); ok {
			return p, true
		}
	}
	if len(words) >= 1 && id.Exe == "" {
		return byName(strings.TrimSuffix(base(words[0]), ":"))
	}
	return Program{}, false
}

// interpreter says whether programs that run in name are told apart by title.
func interpreter(name string) bool { return unversioned(name) == "ruby" }

func byName(name string) (Program, bool) {
	if name == "" {
		return Program{}, false
	}
	for _, candidate := range []string{name, unversioned(name)} {
		for _, p := range programs {
			if slices.Contains(p.Names, candidate) {
				return p, true
			}
		}
	}
	return Program{}, false
}

// unversioned cuts a version from the end: php-fpm8.2, ruby3.1, mysqld-8.0.
func unversioned(name string) string { return strings.TrimRight(name, "0123456789.-_") }

// base is the last element of a path.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// Chosen is the first signal for a process and why.
type Chosen struct {
	Signal  syscall.Signal
	Program string
	Why     string
	// ByTable: the signal is the program's own; no second rung follows.
	ByTable bool
}

// First chooses the first signal for what id is. came is the stop signal that
// started the shutdown, 0 if none did.
func First(id Identity, came syscall.Signal) Chosen {
	name := id.Name()
	if InteractiveShell(id) {
		return Chosen{syscall.SIGHUP, name, "an interactive shell ignores SIGTERM", true}
	}
	if p, ok := Lookup(id); ok && p.First != 0 && !(p.NoTerminal && id.Terminal) {
		return Chosen{p.First, name, p.Why, true}
	}
	sig := AsItCame(came)
	why := "as it came"
	if came == 0 || sig != came {
		why = "the usual stop signal"
	}
	if p, ok := Lookup(id); ok && slices.Contains(p.Forward, sig) {
		return Chosen{syscall.SIGTERM, name, p.Why, false}
	}
	return Chosen{sig, name, why, false}
}

// AsItCame is the stop signal that started the shutdown, for programs of which
// nothing else is known: SIGTERM where there was none, and in the place of
// SIGRTMIN+3, which only systemd understands.
func AsItCame(came syscall.Signal) syscall.Signal {
	if came == 0 || came == signals.RTMin+3 {
		return syscall.SIGTERM
	}
	return came
}

// AutoDrain is what `drain = "auto"` means for what id is.
func AutoDrain(id Identity) Drain {
	if InteractiveShell(id) {
		return DrainOff
	}
	if p, ok := Lookup(id); ok {
		return p.Drain
	}
	return DrainIdle
}

// StopsFor says whether sig stops what id is, with the stop signals in force:
// those of the list, less what the program means otherwise, and its own.
func (p *Plan) StopsFor(sig syscall.Signal, id Identity) bool {
	listed := slices.Contains(p.Stops, sig)
	if p.StopsSet {
		return listed
	}
	program, known := Lookup(id)
	if !known {
		return listed
	}
	if listed {
		return !slices.Contains(program.Forward, sig)
	}
	return sig == program.First && !(program.NoTerminal && id.Terminal)
}

// MayStop has the signals for which StopsFor has to be asked what the
// processes are; for any other one the list decides.
func (p *Plan) MayStop(sig syscall.Signal) bool {
	if p.StopsSet {
		return slices.Contains(p.Stops, sig)
	}
	if slices.Contains(p.Stops, sig) {
		return true
	}
	for _, program := range programs {
		if program.First == sig {
			return true
		}
	}
	return false
}

// NeedsTitle says whether what id is can only be told by its command line: an
// interpreter shows there what it runs, and a shell whether a person types
// into it.
func NeedsTitle(id Identity) bool {
	switch {
	case id.Exe == "" && id.Comm == "", interpreter(id.Exe):
		return true
	case id.Exe == "":
		_, known := byName(id.Comm)
		return !known
	}
	return id.Terminal && shell(id.Exe)
}
