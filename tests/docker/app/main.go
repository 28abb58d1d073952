// App is the program that the container tests wrap: a static binary that does
// one small thing and announces on its standard output what happens to it, a
// line each, with the time in front. One binary plays all parts, so that an
// image FROM scratch needs nothing else.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

var parts = map[string]func(args []string){
	"serve":   serve,
	"exit":    exit,
	"state":   state,
	"bomb":    bomb,
	"eat":     eat,
	"orphan":  orphan,
	"sleep":   sleep,
	"zombies": zombies,
}

func main() {
	if len(os.Args) > 1 {
		if part, ok := parts[os.Args[1]]; ok {
			part(os.Args[2:])
			return
		}
	}
	fmt.Fprintln(os.Stderr, "app: which part?")
	os.Exit(64)
}

// announce says what happened, and when by the clock that all containers of a
// machine share.
func announce(format string, args ...any) {
	fmt.Fprintf(os.Stdout, "%d %s\n", time.Now().UnixNano(), fmt.Sprintf(format, args...))
}

// serve is a server or, without -addr, a worker. It lives until a stop signal.
func serve(args []string) {
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	addr := flags.String("addr", "", "where it listens")
	code := flags.Int("code", 0, "its exit code")
	clean := flags.Duration("clean", 0, "how long it cleans up after a stop signal")
	deaf := flags.Bool("deaf", false, "it goes on after a stop signal")
	naive := flags.Bool("naive", false, "it handles no signal")
	poll := flags.String("poll", "", "whom it asks")
	shut := flags.Bool("close", false, "over a connection of its own each time, as the kubelet does")
	every := flags.Duration("every", 10*time.Millisecond, "how often")
	life := flags.Duration("life", time.Minute, "when it ends by itself")
	_ = flags.Parse(args)

	caught := make(chan os.Signal, 64)
	if !*naive {
		signal.Notify(caught)
	}
	if *addr != "" {
		listener, err := net.Listen("tcp", *addr)
		if err != nil {
			announce("failed %v", err)
			os.Exit(65)
		}
		go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			wait, _ := time.ParseDuration(r.URL.Query().Get("wait"))
			time.Sleep(wait)
			fmt.Fprintln(w, "hello")
		}))
	}
	if *poll != "" {
		http.DefaultTransport.(*http.Transport).DisableKeepAlives = *shut
		go ask(*poll, *every)
	}
	announce("up pid=%d ppid=%d", os.Getpid(), os.Getppid())
	end := time.After(*life)
	for {
		select {
		case sig := <-caught:
			s := sig.(syscall.Signal)
			if s == syscall.SIGURG || s == syscall.SIGCHLD {
				continue // the runtime's own, and a child's end
			}
			if s == syscall.SIGWINCH {
				announce("signal %s %s", name(s), size())
				continue
			}
			announce("signal %s", name(s))
			if !stops(s) || *deaf {
				continue
			}
			time.Sleep(*clean)
			announce("exit %d", *code)
			os.Exit(*code)
		case <-end:
			announce("its life is over")
			os.Exit(66)
		}
	}
}

func stops(s syscall.Signal) bool {
	return s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGQUIT || s == 37
}

// name has the real-time signals as numbers.
func name(s syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGTERM: "SIGTERM",
		syscall.SIGUSR1: "SIGUSR1", syscall.SIGUSR2: "SIGUSR2", syscall.SIGWINCH: "SIGWINCH", syscall.SIGCONT: "SIGCONT",
		syscall.SIGTSTP: "SIGTSTP", syscall.SIGALRM: "SIGALRM",
	}
	if n, ok := names[s]; ok {
		return n
	}
	return strconv.Itoa(int(s))
}

// size is that of the terminal on standard input.
func size() string {
	var ws struct{ row, col, x, y uint16 }
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, 0, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&ws))); errno != 0 {
		return errno.Error()
	}
	return fmt.Sprintf("%dx%d", ws.col, ws.row)
}

// ask asks url again and again, and announces each answer
// that differs from the one before.
func ask(url string, every time.Duration) {
	last := ""
	for {
		answer := "refused"
		if resp, err := http.Get(url); err == nil {
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			answer = fmt.Sprintf("%d %s", resp.StatusCode, strings.TrimSpace(string(body)))
		}
		if answer[:3] != last {
			announce("answer %s", answer)
			last = answer[:3]
		}
		time.Sleep(every)
	}
}

// exit ends with a code.
func exit(args []string) {
	code, _ := strconv.Atoi(args[0])
	os.Exit(code)
}

// state announces what the process is, a line each.
func state([]string) {
	groups, _ := os.Getgroups()
	announce("pid=%d ppid=%d uid=%d gid=%d groups=%v", os.Getpid(), os.Getppid(), os.Getuid(), os.Getgid(), groups)
	announce("HOME=%s USER=%s LOGNAME=%s", os.Getenv("HOME"), os.Getenv("USER"), os.Getenv("LOGNAME"))
	for _, stream := range []string{"/dev/stdout", "/dev/stderr"} {
		f, err := os.OpenFile(stream, os.O_WRONLY, 0)
		if err == nil {
			f.Close()
		}
		announce("open %s: %v", stream, err)
	}
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		for _, key := range []string{"Sig", "Cap", "NoNewPrivs"} {
			if strings.HasPrefix(line, key) {
				announce("%s", strings.Join(strings.Fields(line), " "))
			}
		}
	}
}

// bomb forks without end; its processes ignore SIGTERM, and fork too. They are
// made by the bare system call and never come back to Go's runtime, which
// could not run where no thread can be made.
func bomb([]string) {
	signal.Ignore(syscall.SIGTERM)
	runtime.LockOSThread()
	announce("up")
	for {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			pause := syscall.Timespec{Nsec: 5e6}
			syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&pause)), 0, 0)
		}
	}
}

// eat takes memory until somebody objects.
func eat([]string) {
	announce("up")
	var eaten [][]byte
	for len(eaten) < 4096 {
		piece := make([]byte, 1<<20)
		for i := range piece {
			piece[i] = 1
		}
		eaten = append(eaten, piece)
	}
	announce("ate %d MiB", len(eaten))
}

// orphan leaves a process behind that sleeps for args[0], in a session of its
// own, and ends.
func orphan(args []string) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"app", "sleep", args[0]}, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{null.Fd(), null.Fd(), null.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		panic(err)
	}
	announce("left %d", pid)
}

// sleep sleeps for args[0].
func sleep(args []string) {
	d, _ := time.ParseDuration(args[0])
	time.Sleep(d)
}

// zombies counts them.
func zombies([]string) {
	all, zombies := 0, 0
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if _, number := strconv.Atoi(e.Name()); number != nil || err != nil {
			continue
		}
		all++
		if rest := string(stat[strings.LastIndexByte(string(stat), ')')+1:]); strings.HasPrefix(rest, " Z") {
			zombies++
		}
	}
	announce("processes=%d zombies=%d", all, zombies)
}
