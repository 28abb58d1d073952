package takeover

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"graced/signals"
)

// roleEnv makes the test binary the program that the signals are sent to.
const roleEnv = "TAKEOVER_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "":
		os.Exit(m.Run())
	case "receiver":
		receiver()
	case "released":
		Release()
		receiver()
	}
	panic("no such role")
}

// receiver answers each line with what it has received by then.
func receiver() {
	Wait()
	fmt.Println("up")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		switch word, arg, _ := strings.Cut(in.Text(), " "); word {
		case "await": // the named signal
			fmt.Println(awaitSignal(arg))
		case "take":
			fmt.Println(Take())
		case "child":
			<-Children()
			fmt.Println("child")
		case "write": // to standard error
			_, err := os.Stderr.WriteString("words\n")
			fmt.Println(errors.Is(err, syscall.EPIPE))
		}
	}
	os.Exit(0)
}

// awaitSignal gives all that was received until the one that is named.
func awaitSignal(name string) []syscall.Signal {
	want, _ := signals.Parse(name)
	var got []syscall.Signal
	for {
		got = append(got, Take()...)
		if slices.Contains(got, want) {
			return got
		}
		<-Wake()
	}
}

// target is a receiver.
type target struct {
	t   *testing.T
	cmd *exec.Cmd
	in  *os.File
	out *bufio.Reader
	err *os.File // what it says on standard error
}

func start(t *testing.T, role string) *target {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), roleEnv+"="+role, "GORACE=atexit_sleep_ms=0")
	inR, in := pipe(t)
	out, outW := pipe(t)
	errR, errW := pipe(t)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inR.Close()
	outW.Close()
	errW.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	_ = out.SetReadDeadline(time.Now().Add(30 * time.Second))
	r := &target{t, cmd, in, bufio.NewReader(out), errR}
	r.want("up")
	return r
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func (r *target) want(line string) {
	r.t.Helper()
	if got := r.line(); got != line {
		r.t.Fatalf("it said %q, want %q", got, line)
	}
}

func (r *target) line() string {
	r.t.Helper()
	got, err := r.out.ReadString('\n')
	if err != nil {
		r.t.Fatalf("it said %q, %v", got, err)
	}
	return strings.TrimSuffix(got, "\n")
}

// ask says a line and gives the answer.
func (r *target) ask(line string) string {
	r.t.Helper()
	fmt.Fprintln(r.in, line)
	return r.line()
}

func (r *target) signal(sig syscall.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(sig); err != nil {
		r.t.Fatal(err)
	}
}

// All that a Go program can receive arrives, and none of it ends the program
// or stops it: not SIGSEGV sent by kill(1), not SIGTSTP.
func TestEverySignalIsReceived(t *testing.T) {
	r := start(t, "receiver")
	for n := 1; n <= signals.Max; n++ {
		sig := syscall.Signal(n)
		switch {
		case sig == syscall.SIGCHLD:
			r.signal(sig)
			if got := r.ask("child"); got != "child" {
				t.Errorf("SIGCHLD: %q", got)
			}
		case signals.KindOf(sig) == signals.Forwarded:
			r.signal(sig)
			if got, want := r.ask("await "+signals.Name(sig)), fmt.Sprint([]syscall.Signal{sig}); got != want {
				t.Errorf("%s: it took %s, want %s", signals.Name(sig), got, want)
			}
		case signals.KindOf(sig) == signals.Own || sig == syscall.SIGPROF:
			r.signal(sig)
			if got := r.ask("take"); got != "[]" {
				t.Errorf("%s, which is graced's own: it took %s", signals.Name(sig), got)
			}
		}
	}
}

// The negative control: once they are given back, they have their effect.
func TestReleasedSignalsHaveTheirEffect(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		r := start(t, "released")
		r.signal(sig)
		err := r.cmd.Wait()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != sig {
			t.Errorf("%v: %v", sig, err)
		}
	}
}

// A program that floods graced with one signal does not push another one out.
func TestAFloodDoesNotEvictTheStop(t *testing.T) {
	r := start(t, "receiver")
	for range 1000 {
		r.signal(syscall.SIGUSR1)
	}
	r.signal(syscall.SIGTERM)
	for range 1000 {
		r.signal(syscall.SIGUSR1)
	}
	got := r.ask("await TERM")
	if !strings.Contains(got, syscall.SIGUSR1.String()) || !strings.HasSuffix(got, syscall.SIGTERM.String()+"]") {
		t.Errorf("it took %s", got)
	}
	if n := strings.Count(got, syscall.SIGTERM.String()); n != 1 {
		t.Errorf("SIGTERM was taken %d times", n)
	}
}

// What came before anybody asked is kept, each once, the lowest first.
func TestSignalsWaitToBeTaken(t *testing.T) {
	r := start(t, "receiver")
	for _, sig := range []syscall.Signal{40, syscall.SIGTERM, syscall.SIGHUP, 40} {
		r.signal(sig)
	}
	r.signal(64) // the kernel delivers the lowest first, so the others are on their way
	got := r.ask("await 64")
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, 40} {
		if !strings.Contains(got, sig.String()) {
			got = strings.TrimSuffix(got, "]") + " " + r.ask("await "+signals.Name(sig))
		}
	}
	// the second 40 may have come after the first was taken
	if got := r.ask("take"); got != "[]" && got != "["+syscall.Signal(40).String()+"]" {
		t.Errorf("something is left: %s", got)
	}
}

// A log reader that is gone makes a write fail and does not end PID 1.
func TestSIGPIPE(t *testing.T) {
	r := start(t, "receiver")
	r.err.Close()
	if got := r.ask("write"); got != "true" {
		t.Errorf("EPIPE: %s", got)
	}
	if got := r.ask("take"); got != "[]" {
		t.Errorf("it took %s", got)
	}
}

// Take and Wake lose nothing between them, however they are interleaved: after
// each signal there is a wake-up, or it was taken already.
func TestNoWakeUpIsLost(t *testing.T) {
	Wait()
	Take()
	for range 2000 {
		if err := unix.Kill(os.Getpid(), unix.SIGWINCH); err != nil {
			t.Fatal(err)
		}
		timeout := time.After(20 * time.Second)
		for got := Take(); !slices.Contains(got, syscall.SIGWINCH); got = Take() {
			select {
			case <-Wake():
			case <-timeout:
				t.Fatal("no wake-up after a signal")
			}
		}
	}
}

// What graced listens to is what its settings may name.
func TestUrgentSignalsAreStops(t *testing.T) {
	for _, sig := range signals.Stops() {
		if !slices.Contains(urgent, sig) {
			t.Errorf("%s is a stop signal and not among the first to be received", signals.Name(sig))
		}
	}
}
