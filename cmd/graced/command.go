package main

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"graced/internal/plan"
	"graced/reaper"
)

// environment puts settings on top of env: each replaces the first of its
// name, at its place, or comes at the end.
func environment(env, settings []string) []string {
	env = append([]string(nil), env...)
next:
	for _, entry := range settings {
		name, _, _ := strings.Cut(entry, "=")
		for i := range env {
			if strings.HasPrefix(env[i], name+"=") {
				env[i] = entry
				continue next
			}
		}
		env = append(env, entry)
	}
	return env
}

// account is who a process runs as.
type account struct {
	credential *syscall.Credential
	env        []string // HOME, USER and LOGNAME
}

// findAccount resolves a user and a group, names or numbers. A number needs no
// /etc/passwd, so that it works in a scratch image: its group is then the one
// with the same number, never root's.
func findAccount(name, group string) (account, error) {
	if name == "" && group == "" {
		return account{}, nil
	}
	cred := &syscall.Credential{Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid()), NoSetGroups: os.Getuid() != 0}
	a := account{credential: cred}
	if name != "" {
		u, err := user.Lookup(name)
		id, numeric := parseID(name)
		if err != nil && numeric {
			u, err = user.LookupId(name)
		}
		switch {
		case err == nil:
			cred.Uid, cred.Gid = number(u.Uid), number(u.Gid)
			a.env = []string{"HOME=" + u.HomeDir, "USER=" + u.Username, "LOGNAME=" + u.Username}
			if ids, err := u.GroupIds(); err == nil && group == "" {
				for _, id := range ids {
					cred.Groups = append(cred.Groups, number(id))
				}
			}
		case numeric:
			cred.Uid, cred.Gid = id, id
			a.env = []string{"HOME=/", "USER=" + name, "LOGNAME=" + name}
		default:
			return a, fmt.Errorf("unknown user %q; name one of /etc/passwd, or a number", name)
		}
	}
	if group != "" {
		id, numeric := parseID(group)
		g, err := user.LookupGroup(group)
		switch {
		case err == nil:
			cred.Gid = number(g.Gid)
		case numeric:
			cred.Gid = id
		default:
			return a, fmt.Errorf("unknown group %q; name one of /etc/group, or a number", group)
		}
	}
	return a, nil
}

// parseID reads a number of a user or group. 2^32-1 is none: the kernel takes
// it for "leave it as it is".
func parseID(text string) (uint32, bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err == nil && n != 1<<32-1
}

// number reads an id that was checked before.
func number(id string) uint32 {
	n, _ := strconv.ParseUint(id, 10, 32)
	return uint32(n)
}

// handOver makes the standard streams the new user's, as container runtimes
// do: /dev/stderr and /dev/stdout are opened anew by name by many programs, and
// the pipe behind them is root's, mode 0600. What others share (files, /dev/null)
// is left alone.
func handOver(uid uint32, stderr int) {
	for _, fd := range []int{0, 1, stderr} {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Uid == uid {
			continue
		}
		_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if terminal := err == nil; st.Mode&unix.S_IFMT == unix.S_IFIFO || terminal {
			_ = unix.Fchown(fd, int(uid), -1) // without CAP_CHOWN it stays as it was
		}
	}
}

// commands makes what is needed to start each process and each hook.
func buildCommands(p *plan.Plan, environ []string, base reaper.Command, held bool) (procs, hooks []reaper.Command, err error) {
	for i := range p.Processes {
		proc := &p.Processes[i]
		who, err := findAccount(proc.User, proc.Group)
		if err != nil {
			return nil, nil, err
		}
		cmd := base
		cmd.Argv, cmd.Dir, cmd.Credential = proc.Command, proc.Dir, who.credential
		cmd.Env = environment(environment(environ, who.env), proc.Env)
		if i == p.Main {
			cmd.Foreground = held
			cmd.ListenPID = listenFDs(environ) > 0
		}
		if who.credential != nil && who.credential.Uid != uint32(os.Getuid()) {
			handOver(who.credential.Uid, base.Stderr)
		}
		procs = append(procs, cmd)
	}
	for _, h := range p.Hooks {
		cmd := base
		cmd.Argv, cmd.Env = h.Command, environ
		hooks = append(hooks, cmd)
	}
	return procs, hooks, nil
}

// listenFDsStart is the first descriptor that is handed over; sd_listen_fds(3).
const listenFDsStart = 3

// listenFDs is how many sockets were handed over to graced; sd_listen_fds(3).
// They are the main process's, which takes them only if LISTEN_PID is its pid.
func listenFDs(env []string) int {
	pid := "LISTEN_PID=" + strconv.Itoa(os.Getpid())
	mine, count := false, 0
	for _, entry := range env {
		mine = mine || entry == pid
		if text, ok := strings.CutPrefix(entry, "LISTEN_FDS="); ok {
			count, _ = strconv.Atoi(text)
		}
	}
	if !mine || count < 0 || count > 1024 {
		return 0
	}
	return count
}
