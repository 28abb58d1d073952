package reaper

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"

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
		r.mu.Lock()
		r.inflight++
		r.mu.Unlock()

		pid, dead, err := start(req.cmd)

		r.mu.Lock()
		r.inflight--
		if err != nil {
			r.tell(Event{Kind: NotStarted, ID: req.id, Err: err})
		} else {
			r.register(req.id, pid, dead)
		}
		if r.inflight == 0 && len(r.early) > 0 {
			r.orphans.Add(uint64(len(r.early))) // nobody claimed them
			clear(r.early)
		}
		r.mu.Unlock()
		poke(r.spawned)
	}
}

// register enters a new pid. It may have been consumed already, before it was
// known: then its status waits in early. dead tells that one from an orphan
// that had the same number before it.
func (r *Reaper) register(id ID, pid int, dead func() bool) {
	p := &process{id: id, pid: pid}
	r.tell(Event{Kind: Started, ID: id, PID: pid})
	if status, ok := r.early[pid]; ok && dead() {
		delete(r.early, pid)
		r.retire(p, status)
		return
	}
	r.procs[pid], r.byID[id] = p, p
}

// start forks and executes. dead says whether the process has died, by a
// descriptor that stands for it and not for its number; pidfd_open(2).
func start(cmd Command) (pid int, dead func() bool, err error) {
	path, err := lookPath(cmd.Argv[0], cmd.Env)
	if err != nil {
		return 0, nil, err
	}
	pid, dead, errno := fork(path, cmd.Argv, cmd)
	if errno == syscall.ENOEXEC && isText(inDir(cmd.Dir, path)) {
		// a script without a first line: execvp(3), and so every shell and tini,
		// runs it by /bin/sh
		argv := append([]string{"sh", path}, cmd.Argv[1:]...)
		if pid, dead, sh := fork("/bin/sh", argv, cmd); sh == nil {
			return pid, dead, nil
		}
	}
	if errno != nil {
		return 0, nil, explain(path, cmd, errno)
	}
	return pid, dead, nil
}

func fork(path string, argv []string, cmd Command) (pid int, dead func() bool, err error) {
	pidfd := -1
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
			PidFD:      &pidfd,
		},
	}
	if len(cmd.Ignore) > 0 || cmd.ListenPID {
		pid, err = forkShim(path, argv, cmd, attr)
	} else {
		pid, err = syscall.ForkExec(path, argv, attr)
	}
	if err != nil {
		return 0, nil, err
	}
	fd := pidfd
	dead = func() bool {
		if fd < 0 {
			return true // an old kernel: what was consumed with its number was most likely it
		}
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		return err != nil || n > 0
	}
	if fd < 0 {
		return pid, dead, nil
	}
	died := dead()
	syscall.Close(fd)
	return pid, func() bool { return died }, nil
}

// forkShim starts the shim in the place of the program and waits until it has
// executed it, or could not: it then writes the errno on a pipe that a
// successful exec closes.
func forkShim(path string, argv []string, cmd Command, attr *syscall.ProcAttr) (int, error) {
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
		return 0, err
	}
	defer syscall.Close(pipe[0])
	// Only this thread forks, so nobody else's child can inherit the copy
	// that is meant for the shim. A high number keeps it clear of descriptors
	// that the program is handed by number (LISTEN_FDS counts from 3).
	inherited, err := unix.FcntlInt(uintptr(pipe[1]), unix.F_DUPFD, 200)
	syscall.Close(pipe[1])
	if err != nil {
		return 0, err
	}
	shim := boot.Shim{Ignore: cmd.Ignore, ListenPID: cmd.ListenPID, ErrFD: inherited}
	self, shimArgv, env := shim.Command(path, argv, cmd.Env)
	attr.Env = env
	pid, err := syscall.ForkExec(self, shimArgv, attr)
	syscall.Close(inherited)
	if err != nil {
		return 0, err
	}
	var buf [16]byte
	for {
		n, err := syscall.Read(pipe[0], buf[:])
		if err == syscall.EINTR {
			continue
		}
		if n <= 0 {
			return pid, nil
		}
		// The shim leaves with 127; the waiter reaps it, as early, and since nobody
		// claims it, it would count as an orphan: it is not told apart, since
		// its start failed and nothing runs.
		number, _ := strconv.Atoi(string(buf[:n]))
		return 0, syscall.Errno(number)
	}
}

// StartError is why a process was not started.
type StartError struct {
	// Code is the exit code that says so: 127 not found, 126 found but not
	// executable; the shell's, POSIX 2.8.2.
	Code int
	Text string
}

func (e *StartError) Error() string { return e.Text }

// NotStartedCode is the exit code for an error of a start.
func NotStartedCode(err error) int {
	var start *StartError
	if errors.As(err, &start) {
		return start.Code
	}
	return 126
}

// lookPath finds name as execvp(3) does: in the PATH of the environment that
// the program gets, or in /bin and /usr/bin where that has none. The
// first file that can be executed wins; if there is none, the first one that
// is there is the one that the error is about.
func lookPath(name string, env []string) (string, error) {
	if name == "" {
		return "", &StartError{127, "cannot run an empty command name"}
	}
	for i := range len(name) {
		if name[i] == '/' {
			return name, nil
		}
	}
	path, set := "/bin:/usr/bin", false
	for _, entry := range env {
		if len(entry) >= 5 && entry[:5] == "PATH=" {
			path, set = entry[5:], true
			break
		}
	}
	found := ""
	for start := 0; start <= len(path); {
		end := start
		for end < len(path) && path[end] != ':' {
			end++
		}
		file := path[start:end] + "/" + name
		if start == end {
			file = "./" + name // an empty element is the working folder
		}
		start = end + 1
		info, err := os.Stat(file)
		if err != nil {
			continue
		}
		if info.Mode().IsRegular() && unix.Access(file, unix.X_OK) == nil {
			return file, nil
		}
		if found == "" {
			found = file
		}
	}
	if found != "" {
		return found, nil
	}
	text := "cannot find " + strconv.Quote(name) + " in PATH " + strconv.Quote(path)
	if !set {
		text = "cannot find " + strconv.Quote(name) + " in " + path + ", which are searched because PATH is not set"
	}
	return "", &StartError{127, text + "; give the path of the program"}
}

func inDir(dir, path string) string {
	if dir == "" || path[0] == '/' {
		return path
	}
	return dir + "/" + path
}
