package reaper

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Descendant is a process that came from one of graced's.
type Descendant struct {
	PID    int
	Parent int
	Group  int
	Comm   string
	// Start is when it started, in clock ticks since boot: with the pid it
	// names a process for ever; proc_pid_stat(5), field 22.
	Start uint64
	// Terminal: it has a controlling terminal.
	Terminal bool
}

// ErrNoProc: /proc is not mounted, or hides other processes.
var ErrNoProc = errors.New("cannot see processes: /proc is not mounted, hides them (hidepid) or is another PID namespace's")

// Descendants walks /proc and gives what graced's processes have left
// running: not zombies, and not what was put into the container from
// outside (docker exec) nor its orphans while its own first process lives.
func (r *Reaper) Descendants() ([]Descendant, error) {
	return r.tree(r.pid)
}

// tree gives the descendants of root, parents before children.
func (r *Reaper) tree(root int) ([]Descendant, error) {
	// A /proc of another PID namespace (unshare --pid without --mount-proc)
	// shows strangers under the numbers of ours.
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(r.pid) {
		return nil, ErrNoProc
	}
	all, err := processes()
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	outside := make(map[int]bool) // sessions of what came from outside
	own := -1                     // graced's session
	for i, p := range all {
		children[p.Parent] = append(children[p.Parent], i)
		switch {
		case p.PID == r.pid:
			own = p.session
		case p.Parent == 0:
			outside[p.session] = true
		}
	}
	if own < 0 {
		return nil, ErrNoProc
	}
	// nsenter(1) makes no session, and one that was made outside has the number 0
	// here, which may be graced's own too.
	delete(outside, own)
	var found []Descendant
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, i := range children[queue[0]] {
			p := all[i]
			if r.pid == 1 && outside[p.session] {
				continue
			}
			queue = append(queue, p.PID)
			if p.state != 'Z' && p.state != 'X' {
				found = append(found, p.Descendant)
			}
		}
	}
	return found, nil
}

type stat struct {
	Descendant
	session int
	state   byte
}

// processes reads the stat of every process that /proc shows.
func processes() ([]stat, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, ErrNoProc
	}
	defer dir.Close()
	var all []stat
	buf := make([]byte, 1024)
	for {
		names, err := dir.Readdirnames(512)
		for _, name := range names {
			if name[0] < '0' || name[0] > '9' {
				continue
			}
			if s, ok := readStat(name, buf); ok {
				all = append(all, s)
			}
		}
		if err != nil || len(names) == 0 {
			break
		}
	}
	if len(all) == 0 {
		return nil, ErrNoProc
	}
	return all, nil
}

// readStat reads /proc/NAME/stat; false if the process is gone.
func readStat(name string, buf []byte) (stat, bool) {
	fd, err := syscall.Open("/proc/"+name+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return stat{}, false
	}
	n, err := syscall.Read(fd, buf)
	syscall.Close(fd)
	if err != nil || n <= 0 {
		return stat{}, false
	}
	return parseStat(buf[:n])
}

// parseStat reads a line of proc_pid_stat(5). The second field, the name, is
// in parentheses and may hold any byte but NUL, so the last ) ends it.
func parseStat(line []byte) (stat, bool) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 1 || end < open {
		return stat{}, false
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(line[:open])))
	fields := bytes.Fields(line[end+1:])
	const (
		state, parent, group, session, terminal, start = 0, 1, 2, 3, 4, 19 // field 3 is the first after the name
	)
	if err != nil || len(fields) <= start || len(fields[state]) != 1 {
		return stat{}, false
	}
	number := func(i int) int { n, _ := strconv.Atoi(string(fields[i])); return n }
	ticks, _ := strconv.ParseUint(string(fields[start]), 10, 64)
	return stat{
		Descendant: Descendant{PID: pid, Parent: number(parent), Group: number(group), Comm: string(line[open+1 : end]), Start: ticks, Terminal: number(terminal) != 0},
		session:    number(session),
		state:      fields[state][0],
	}, true
}

// SignalProcess sends sig to exactly the process that d names, not to a later
// one with its number: the descriptor is opened first, and stands for
// one process; then its start is compared. ESRCH: it is gone.
func (r *Reaper) SignalProcess(d Descendant, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(d.PID, 0)
	if err == unix.ESRCH {
		return syscall.ESRCH
	}
	if now, ok := readStat(strconv.Itoa(d.PID), make([]byte, 1024)); !ok || now.Start != d.Start {
		if err == nil {
			syscall.Close(fd)
		}
		return syscall.ESRCH
	}
	if err != nil { // a kernel before 5.3, or a filter that refuses it
		return syscall.Kill(d.PID, sig)
	}
	err = unix.PidfdSendSignal(fd, unix.Signal(sig), nil, 0)
	syscall.Close(fd)
	if err == unix.ENOSYS {
		return syscall.Kill(d.PID, sig)
	}
	return err
}

// SignalTree sends sig to every descendant of a process, but not to itself, and
// says which it reached.
func (r *Reaper) SignalTree(id ID, sig syscall.Signal) (reached []Descendant, err error) {
	pid, ok := r.PID(id)
	if !ok {
		return nil, syscall.ESRCH
	}
	tree, err := r.tree(pid)
	if now, ok := r.PID(id); !ok || now != pid {
		return nil, syscall.ESRCH // it was reaped meanwhile, and the tree may be that of a later one
	}
	for _, d := range tree {
		switch e := r.SignalProcess(d, sig); e {
		case nil:
			reached = append(reached, d)
		case syscall.ESRCH:
		default:
			err = errors.Join(err, e)
		}
	}
	return reached, err
}

// SignalAll sends sig to every process that graced may signal, but itself; for
// a PID 1 that cannot see what there is.
func (r *Reaper) SignalAll(sig syscall.Signal) error {
	if r.pid != 1 {
		return ErrNoProc
	}
	return syscall.Kill(-1, sig)
}

// KillNow sends SIGKILL to everything that can be reached without looking: as
// PID 1 to the whole namespace, else to the processes and their groups.
// It never waits.
func (r *Reaper) KillNow() {
	if r.pid == 1 {
		// It says that it succeeded even where not one process could be
		// signalled (another user's, without CAP_KILL).
		_ = syscall.Kill(-1, syscall.SIGKILL)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for pid := range r.procs {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// KillTree sends SIGKILL to every descendant that a walk of /proc shows, and
// gives those it showed. One walk is not enough against a process that forks:
// call it until it shows none.
func (r *Reaper) KillTree() ([]Descendant, error) {
	tree, err := r.Descendants()
	for _, d := range tree {
		if e := r.SignalProcess(d, syscall.SIGKILL); e != nil && e != syscall.ESRCH {
			err = errors.Join(err, &KillError{d, e})
		}
	}
	return tree, err
}

// KillError is why a process could not be killed.
type KillError struct {
	Descendant Descendant
	Err        error
}

func (e *KillError) Error() string {
	return "cannot kill " + e.Descendant.Comm + " (pid " + strconv.Itoa(e.Descendant.PID) + "): " + e.Err.Error()
}

func (e *KillError) Unwrap() error { return e.Err }
