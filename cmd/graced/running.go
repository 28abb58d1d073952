package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"graced/internal/boot"
	"graced/internal/config"
)

// instance is a running graced: its command line, which everybody may read, says
// its settings.
type instance struct {
	pid  int
	args []string // the words after `graced` or `graced run`
}

// running gives the settings of the graced that runs here. Where there is none
// they are those of this command's own flags and variables, and so where there
// are several of which one cannot be told to be meant; nil if those do not say it
// either.
func running(args []string, stderr io.Writer) *config.Config {
	input := config.Input{Args: args, Environ: boot.Environ(), PID: os.Getpid(), CommandOptional: true}
	if len(args) == 0 {
		found := findRunning()
		said := slices.ContainsFunc(input.Environ, func(entry string) bool { return strings.HasPrefix(entry, "GRACED_LISTEN=") })
		switch {
		case len(found) == 1:
			input = found[0].input(input.Environ)
		case len(found) > 1 && !said:
			fmt.Fprintf(stderr, "graced: several run here: %s; set --listen or GRACED_LISTEN to that of the one you mean\n", listens(found, input.Environ))
			return nil
		}
	}
	cfg, problems := config.Load(input)
	if cfg == nil {
		tell(problems, stderr)
		return nil
	}
	return cfg
}

// input is what the instance was started with. Its environment may be another
// user's; then it is taken for this one's.
func (i instance) input(environ []string) config.Input {
	if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", i.pid)); err == nil {
		environ = strings.Split(strings.TrimRight(string(env), "\x00"), "\x00")
	}
	return config.Input{Args: i.args, Environ: environ, PID: i.pid, CommandOptional: true}
}

// listens says of each where it listens.
func listens(list []instance, environ []string) string {
	var texts []string
	for _, i := range list {
		text := strconv.Itoa(i.pid)
		if cfg, _ := config.Load(i.input(environ)); cfg != nil {
			text += " (--listen " + cfg.Listen.V + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// findRunning looks for the running graced that is meant. Other containers' may be
// seen too (--pid host, --pid container:NAME, shareProcessNamespace); the
// container's own is in this command's cgroup. Where there is none it is PID 1: a
// program may have been moved into a cgroup of its own. Of several that share a
// cgroup it is PID 1, or else the one that has started the others; more than one
// is left where there is none such.
func findRunning() []instance {
	own, _ := os.ReadFile("/proc/self/cgroup")
	var list []instance
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		args, ok := runningFlags(pid)
		if !ok || pid == os.Getpid() {
			continue
		}
		if theirs, err := os.ReadFile(dir + "/cgroup"); err == nil && bytes.Equal(own, theirs) {
			list = append(list, instance{pid, args})
		}
	}
	if first, ok := runningFlags(1); ok && len(list) == 0 {
		return []instance{{1, first}}
	}
	slices.SortFunc(list, func(a, b instance) int { return a.pid - b.pid })
	if len(list) > 0 && list[0].pid == 1 {
		return list[:1]
	}
	return slices.DeleteFunc(slices.Clone(list), func(i instance) bool {
		return slices.ContainsFunc(list, func(other instance) bool { return below(i.pid, other.pid) })
	})
}

// below says whether a process descends from another, and is not it.
func below(pid, other int) bool {
	const deepest = 1000 // pids are used again: what is read may be a circle
	for range deepest {
		if pid = parent(pid); pid == other || pid == 0 {
			return pid != 0
		}
	}
	return false
}

// parent is the parent of a process, 0 if it has none here; proc_pid_stat(5). Its
// name, in brackets, may have any signs.
func parent(pid int) int {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(string(fields[1]))
	return n
}

// runningFlags gives the words after `graced` or `graced run` of a process, if
// it is one that runs a program.
func runningFlags(pid int) ([]string, bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil, false
	}
	words := words(data)
	if len(words) == 0 || !isGraced(pid, words[0]) {
		return nil, false
	}
	switch {
	case len(words) == 1: // a file says all
		return nil, true
	case words[1] == "run":
		return words[2:], true
	case strings.HasPrefix(words[1], "-"):
		return words[1:], true
	}
	return nil, false
}

// isGraced says whether a process is of the same file as this one, whatever its
// name is: graced may be installed as /sbin/init too. Of another user's process
// the kernel does not tell the file (proc_pid_exe(5)); there the name counts, and
// so it does where the file was replaced since.
func isGraced(pid int, name string) bool {
	own, err := os.Stat("/proc/self/exe")
	theirs, refused := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	if err == nil && refused == nil && links(theirs) > 0 {
		return os.SameFile(own, theirs)
	}
	return filepath.Base(name) == filepath.Base(os.Args[0])
}

// links is how many names a file has; none once it was removed or replaced.
func links(info os.FileInfo) uint64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(st.Nlink)
}
