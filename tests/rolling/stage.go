package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The program runs itself again for what has to be a process of its own. Which
// of these it is, is in this variable; its words are in the arguments.
const stageVar = "GRACED_ROLLING_STAGE"

// stage does the work of a stage, if this process is one.
func stage() bool {
	var err error
	switch os.Getenv(stageVar) {
	case "":
		return false
	case "lab": // one measured piece, in a network namespace of its own
		err = lab(os.Args[1])
	case "probe": // can there be such namespaces?
		err = prepareLab()
	case "enter": // the first moments of a container
		err = enter(os.Args[1])
	case "serve": // the Go program that is served
		err = serve(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rolling:", err)
		os.Exit(1)
	}
	return true
}

// job is one piece to be measured, and what that takes.
type job struct {
	Spec     Spec
	Graced   string // the binary
	Commit   string // that it was built from, where that is known
	Work     string // a folder for configurations and logs
	Realtime bool
	Self     string // this program, for the containers
}

func (j *job) dir() string {
	return filepath.Join(j.Work, strings.ReplaceAll(j.Spec.Name, "/", "-"))
}

// pieceLimit bounds a piece; the longest takes two minutes.
const pieceLimit = 5 * time.Minute

// measure runs a job in namespaces of its own. All of its processes
// die with it, and it dies with ctx.
func measure(ctx context.Context, j job) (*Record, error) {
	var err error
	if j.Graced, err = filepath.Abs(j.Graced); err != nil {
		return nil, err
	}
	if j.Self, err = os.Executable(); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(j.dir()); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(j.dir(), 0o755); err != nil {
		return nil, err
	}
	for _, dir := range []string{j.Work, j.dir()} { // servers give up their rights
		if err := os.Chmod(dir, 0o755); err != nil {
			return nil, err
		}
	}
	words, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pieceLimit)
	defer cancel()
	var out, said strings.Builder
	cmd := labCommand(ctx, "lab", string(words))
	cmd.Stdout = &out
	// Pdeathsig is about the thread that forks, and so is the priority.
	runtime.LockOSThread()
	if !j.Realtime || realtime() != nil {
		runtime.UnlockOSThread()
	} // else the thread goes with its goroutine, but not before the job is done
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", cmp.Or(ctx.Err(), err), strings.TrimSpace(said.String()))
	}
	record := new(Record)
	if err := json.Unmarshal([]byte(out.String()), record); err != nil {
		return nil, fmt.Errorf("the job's own record: %w", err)
	}
	return record, nil
}

// realtime gives this thread, and all that it starts, precedence over whatever
// else the machine does. All parts of a piece are equals in it.
func realtime() error {
	return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}, 0)
}

// labCommand is a stage in namespaces of its own. It is the first process of its
// PID namespace, so that it takes all others along when it ends.
func labCommand(ctx context.Context, stage string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), stageVar+"="+stage)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWNS,
		Pdeathsig:  syscall.SIGKILL, Setpgid: true,
	}
	return cmd
}

// possible says why nothing can be measured here.
func possible(ctx context.Context) error {
	if text, err := labCommand(ctx, "probe").CombinedOutput(); err != nil {
		return fmt.Errorf("namespaces with a network cannot be made here: %w %s", err, text)
	}
	return nil
}

// prepareLab lays out the namespaces that this process is the first in.
func prepareLab() error {
	if err := errors.Join(
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("proc", "/proc", "proc", 0, ""),
	); err != nil {
		return fmt.Errorf("the mounts: %w", err)
	}
	return makeNetwork()
}

// lab measures one piece and prints its record. It is a process of its own.
func lab(words string) error {
	os.Unsetenv(stageVar)
	var j job
	if err := json.Unmarshal([]byte(words), &j); err != nil {
		return err
	}
	if err := prepareLab(); err != nil {
		return err
	}
	record, err := run(&j)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(record)
}
