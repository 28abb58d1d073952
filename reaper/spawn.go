package reaper

import (
	"fmt"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"graced/internal/boot"
)

// Command is a process to start.
type Command struct {
	Argv []string // Argv[0] is looked up in the PATH of Env if it has no slash
	Env  []string // NAME=VALUE, complete
	Dir  string   // "": graced's own

	// Stderr is the descriptor that becomes the process's standard error; its
	// standard input and output are graced's own.
	Stderr int
	// Credential is who it runs as; nil: as graced.
	Credential *syscall.Credential
	// Foreground gives its process group the terminal on standard input.
	Foreground bool
	// ParentDeath is sent to it if graced dies; 0: nothing. The children of a
	// PID 1 die with it anyway.
	ParentDeath syscall.Signal
	// Ignore and ListenPID: see boot.Shim.
	Ignore    []syscall.Signal
	ListenPID bool
}

type request struct {
	id  ID
	cmd Command
}

// Spawn asks for a process. What comes of it is an event, Started or NotStarted.
// false: more are asked for than Options.Most.
func (r *Reaper) Spawn(id ID, cmd Command) bool {
	select {
	case r.queue <- request{id, cmd}:
		return true
	default:
		return false
	}
}

// spawner does every fork. The parent-death signal of prctl(2) is sent when the
// thread that forked ends, not the process, so it stays on one thread for ever.
// And an exec can hang (a dead file server, a frozen cgroup): then only this
// thread does.
func (r *Reaper) spawner() {
	runtime.LockOSThread()
	for req := range r.queue {
		r.serve(req)
	}
}

// serve starts one process and tells what came of it, whatever that is: who
// asked waits for an answer.
func (r *Reaper) serve(req request) {
	defer func() {
		if v := recover(); v != nil {
			r.abandon(req.id, v)
			panic(v) // for guard to report
		}
	}()
	p, err := r.start(req.id, req.cmd)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.tell(Event{Kind: NotStarted, ID: req.id, Err: err})
		return
	}
	r.announce(p)
}

// abandon leaves the registry in order after a panic in a start.
func (r *Reaper) abandon(id ID, v any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forking = false
	r.orphaned(r.early.flush())
	r.tell(Event{Kind: NotStarted, ID: id, Err: &StartError{126, fmt.Sprintf("cannot run the program: graced itself failed: %v", v)}})
}

// announce tells that p was started, and what has become of it since; the lock
// is held.
func (r *Reaper) announce(p *process) {
	r.tell(Event{Kind: Started, ID: p.id, PID: p.pid})
	p.told = true
	if p.over {
		r.tell(Event{Kind: Exited, ID: p.id, PID: p.pid, Status: p.status})
		return
	}
	r.byID[p.id] = p
	if p.stop != 0 {
		r.suspend(p, p.stop)
	}
}

// start executes a command. What is returned with an error was in the registry,
// and is not told of.
func (r *Reaper) start(id ID, cmd Command) (*process, error) {
	if len(cmd.Argv) == 0 {
		cmd.Argv = []string{""}
	}
	path, err := lookPath(cmd.Argv[0], cmd.Dir, cmd.Env)
	if err != nil {
		return nil, err
	}
	p, err := r.fork(id, path, cmd.Argv, cmd)
	if err == syscall.ENOEXEC && isText(inDir(cmd.Dir, path)) {
		// a script without a first line: execvp(3), and so every shell and tini,
		// runs it by /bin/sh
		argv := append([]string{"/bin/sh", path}, cmd.Argv[1:]...)
		if p, err := r.fork(id, "/bin/sh", argv, cmd); err == nil {
			return p, nil
		}
	}
	if err != nil {
		return nil, explain(path, cmd, err)
	}
	return p, nil
}

// fork starts path and waits until it is executed.
func (r *Reaper) fork(id ID, path string, argv []string, cmd Command) (*process, error) {
	attr := &syscall.ProcAttr{
		Dir:   cmd.Dir,
		Env:   cmd.Env,
		Files: []uintptr{0, 1, uintptr(cmd.Stderr)},
		Sys: &syscall.SysProcAttr{
			Setpgid:    !cmd.Foreground, // Foreground makes the group too
			Foreground: cmd.Foreground,
			Ctty:       0,
			Credential: cmd.Credential,
			Pdeathsig:  cmd.ParentDeath,
		},
	}
	if len(cmd.Ignore) > 0 || cmd.ListenPID {
		return r.forkShim(id, path, argv, cmd, attr)
	}
	return r.forkExec(id, path, argv, attr)
}

// forkExec is syscall.ForkExec with the registry told of the pid.
func (r *Reaper) forkExec(id ID, path string, argv []string, attr *syscall.ProcAttr) (*process, error) {
	pidfd := -1
	attr.Sys.PidFD = &pidfd
	r.mu.Lock()
	r.forking = true
	r.early.begin(time.Now())
	r.mu.Unlock()

	pid, err := syscall.ForkExec(path, argv, attr)

	p := r.born(id, pid, pidfd, err)
	if pidfd >= 0 {
		syscall.Close(pidfd)
	}
	poke(r.spawned)
	return p, err
}

// forkShim starts the shim in the place of the program and waits until it has
// executed it, or could not: it then writes the errno on a pipe that a
// successful exec closes.
func (r *Reaper) forkShim(id ID, path string, argv []string, cmd Command, attr *syscall.ProcAttr) (*process, error) {
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
		return nil, err
	}
	defer syscall.Close(pipe[0])
	// Only this thread forks, so nobody else's child can inherit the copy that is
	// meant for the shim. The number is one that is free, so it is not one of
	// those that the program is handed (LISTEN_FDS).
	inherited, err := unix.FcntlInt(uintptr(pipe[1]), unix.F_DUPFD, 3)
	syscall.Close(pipe[1])
	if err != nil {
		return nil, err
	}
	shim := boot.Shim{Ignore: cmd.Ignore, ListenPID: cmd.ListenPID, ErrFD: inherited}
	self, shimArgv, env := shim.Command(path, argv, cmd.Env)
	attr.Env = env
	p, err := r.forkExec(id, self, shimArgv, attr)
	syscall.Close(inherited)
	if err != nil {
		return nil, err
	}
	var buf [16]byte
	for {
		n, err := syscall.Read(pipe[0], buf[:])
		if err == syscall.EINTR {
			continue
		}
		if n <= 0 {
			return p, nil
		}
		number, _ := strconv.Atoi(string(buf[:n]))
		return nil, syscall.Errno(number) // it ends by itself
	}
}
