package main

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// startOwned starts a process that is killed when this one ends, however it
// ends. The kernel ties that to the thread that forks, so one thread, which
// never goes away, starts them all.
func startOwned(cmd *exec.Cmd) error {
	owner.once.Do(func() {
		owner.start = make(chan func())
		go func() {
			runtime.LockOSThread()
			for start := range owner.start {
				start()
			}
		}()
	})
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // away from a terminal's ^C
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	result := make(chan error)
	owner.start <- func() { result <- cmd.Start() }
	return <-result
}

var owner struct {
	once  sync.Once
	start chan func()
}
