package record

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// helperVar names what the test binary is to be when a test starts it as a
// process of its own.
const helperVar = "RECORD_TEST_HELPER"

func TestMain(m *testing.M) {
	switch os.Getenv(helperVar) {
	case "":
		os.Exit(m.Run())
	case "background":
		os.Exit(backgroundHelper())
	case "wait":
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	case "reports":
		os.Exit(reportsHelper())
	case "report":
		os.Exit(reportHelper())
	default:
		panic("no such helper")
	}
}

func helper(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), helperVar+"="+name, "GORACE=atexit_sleep_ms=0")
	return cmd
}

// newPipe is a pipe whose ends are plain descriptors, blocking unless said
// otherwise.
func newPipe(t *testing.T, flags int) (r, w int) {
	t.Helper()
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|flags); err != nil {
		t.Fatal(err)
	}
	// The smallest buffer, so that it is full soon.
	if _, err := unix.FcntlInt(uintptr(fds[1]), unix.F_SETPIPE_SZ, os.Getpagesize()); err != nil {
		t.Fatal(err)
	}
	return fds[0], fds[1]
}

// fill writes to w until it is full, in whole lines, and leaves it as it was.
func fill(t *testing.T, w int) {
	t.Helper()
	flags, err := unix.FcntlInt(uintptr(w), unix.F_GETFL, 0)
	if err != nil {
		t.Fatal(err)
	}
	setFlags(t, w, flags|unix.O_NONBLOCK)
	line := []byte(strings.Repeat("x", 63) + "\n")
	for {
		if _, err := unix.Write(w, line); err == unix.EAGAIN {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	setFlags(t, w, flags)
}

func setFlags(t *testing.T, fd, flags int) {
	t.Helper()
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags); err != nil {
		t.Fatal(err)
	}
}

// collect reads r to its end and sends the lines, less what fill wrote.
func collect(r int) <-chan []string {
	ch := make(chan []string, 1)
	go func() {
		f := os.NewFile(uintptr(r), "pipe")
		defer f.Close()
		var lines []string
		for s := bufio.NewScanner(f); s.Scan(); {
			if !strings.HasPrefix(s.Text(), "xxx") {
				lines = append(lines, s.Text())
			}
		}
		ch <- lines
	}()
	return ch
}

// writerThreads counts this process's threads that block SIGTTOU and SIGPIPE
// and nothing else, proc_pid_status(5). A thread that is being made blocks all.
func writerThreads(t *testing.T) (n int) {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Skip(err)
	}
	for _, task := range tasks {
		status, err := os.ReadFile("/proc/self/task/" + task.Name() + "/status")
		if err != nil {
			continue // it has ended
		}
		if want := fmt.Sprintf("\nSigBlk:\t%016x\n", 1<<(unix.SIGTTOU-1)|1<<(unix.SIGPIPE-1)); strings.Contains(string(status), want) {
			n++
		}
	}
	return n
}

// within fails the test if f takes longer than d.
func within(t *testing.T, d time.Duration, what string, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took > d {
		t.Errorf("%s took %v, want %v at most", what, took, d)
	}
}

// until waits for what other goroutines, threads or the kernel bring about.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for start := time.Now(); !holds(); time.Sleep(time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatalf("it did not come about that %s", what)
		}
	}
}

func object(t *testing.T, data []byte) map[string]any {
	t.Helper()
	m := make(map[string]any)
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatalf("no JSON object: %v\n%s", err, data)
	}
	return m
}

// reportHelper writes a report to its first argument.
func reportHelper() int {
	if err := WriteReport(os.Args[1], false, Report{Cause: "SIGTERM"}); err != nil {
		_, _ = io.WriteString(os.Stdout, err.Error())
		return 1
	}
	return 0
}

// reportsHelper writes long and short reports to its first argument until it is
// killed.
func reportsHelper() int {
	for first := true; ; first = false {
		for _, r := range []Report{sampleReport(), {Cause: "SIGTERM"}} {
			if err := WriteReport(os.Args[1], false, r); err != nil {
				return 1
			}
		}
		if first {
			fmt.Println("begun")
		}
	}
}
