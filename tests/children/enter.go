package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// report is the descriptor on which enter tells why it failed. It is closed by
// the successful exec, so that the end of file is the moment of the start.
const report = 3

// enter is the first program in new namespaces, which whoever started it has
// made. It lays them out and then executes what it was told to, as the same
// process: that one is PID 1.
func enter(args []string) int {
	unix.CloseOnExec(report)
	if err := layOut(args); err != nil {
		fmt.Fprint(os.NewFile(report, "report"), err)
		return 125
	}
	return 0
}

func layOut(args []string) error {
	set := flag.NewFlagSet("enter", flag.ContinueOnError)
	proc := set.String("proc", "own", "own, hidden (hidepid=2), none, or kept: what /proc is")
	root := set.String("root", "", "a folder that becomes a read-only root")
	uid := set.Int("uid", -1, "become this user and group, never to gain a capability again")
	as := set.Int("as", -1, "become this user and group; set-uid programs work")
	groups := set.String("cgroups", "", "folders of control groups to join, between colons")
	dir := set.String("dir", "", "the working folder")
	drop := set.Bool("drop", false, "drop all capabilities but stay the same user")
	if err := set.Parse(args); err != nil {
		return err
	}
	// before the mounts: they may hide the folders
	for _, group := range strings.Split(*groups, ":") {
		if group == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte("0"), 0); err != nil {
			return fmt.Errorf("cannot join the control group %s: %w", group, err)
		}
	}
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("cannot bring the loopback interface up: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot make mounts private: %w", err)
	}
	if *root != "" {
		if err := enterRoot(*root); err != nil {
			return err
		}
	}
	if err := mountProc(*proc); err != nil {
		return fmt.Errorf("cannot mount /proc: %w", err)
	}
	if *dir != "" {
		if err := os.Chdir(*dir); err != nil {
			return err
		}
	}
	argv := set.Args()
	if len(argv) == 0 {
		return fmt.Errorf("there is no program to execute")
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	if *drop || *uid >= 0 {
		for c := 0; c <= unix.CAP_LAST_CAP; c++ {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0) // one that this kernel has not
		}
	}
	if id := max(*uid, *as); id >= 0 {
		if err := become(id); err != nil {
			return fmt.Errorf("cannot become user %d: %w", id, err)
		}
	}
	return fmt.Errorf("cannot execute %s: %w", path, syscall.Exec(path, argv, os.Environ()))
}

func become(id int) error {
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setgid(id); err != nil {
		return err
	}
	return syscall.Setuid(id)
}

// loopbackUp gives the network namespace its 127.0.0.1 and ::1.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}

// enterRoot makes dir the root, read-only, as `docker run --read-only` of an
// image that is FROM scratch.
func enterRoot(dir string) error {
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("cannot bind %s: %w", dir, err)
	}
	if err := unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("cannot make %s read-only: %w", dir, err)
	}
	if err := unix.Chroot(dir); err != nil {
		return err
	}
	return os.Chdir("/")
}

func mountProc(what string) error {
	switch what {
	case "kept":
		return nil
	case "none":
		if _, err := os.Stat("/proc"); err != nil {
			return nil
		}
		return unix.Mount("none", "/proc", "tmpfs", unix.MS_RDONLY, "size=4k")
	case "hidden":
		return unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "hidepid=2")
	}
	return unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
}

// first is a plain PID 1 above graced, as a pause container, `docker run --init`
// or somebody's shell is: it starts its command, passes nothing on, reaps what
// it inherits, and leaves with the command's code, or 128+N. It says
// "started PID".
func first(args []string) int {
	// taken, not ignored: what is ignored stays so for the command
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	path, err := exec.LookPath(args[0])
	if err != nil {
		fail("%v", err)
	}
	pid, err := syscall.ForkExec(path, args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		fail("%v", err)
	}
	say("started %d", pid)
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			fail("wait: %v", err)
		case got == pid && status.Signaled():
			return 128 + int(status.Signal())
		case got == pid:
			return status.ExitStatus()
		default:
			say("adopted %d", got) // an orphan that reached the namespace's first process
		}
	}
}
