package supervisor

import (
	"slices"
	"syscall"
)

// exitCode is graced's own, by the contract's order, mapped as was asked for.
func (m *machine) exitCode() int {
	code := m.rawCode()
	for _, c := range m.plan.ExitCodes {
		if !c.Stopped && c.From == code {
			return c.To
		}
	}
	for _, c := range m.plan.ExitCodes {
		if c.Stopped && m.stoppedAsTold() {
			return c.To
		}
	}
	return code
}

// codeKilled is the code of a process that SIGKILL ended, 128+9.
const codeKilled = 128 + int(syscall.SIGKILL)

// codeFailed says that graced itself failed.
const codeFailed = 125

func (m *machine) rawCode() int {
	main := m.main()
	if main.begun {
		if main.state == gone {
			return main.code
		}
		return codeKilled // it could not be killed: graced's end takes it along
	}
	switch {
	case m.trigger == bySignal, m.trigger == byPerson:
		return 128 + int(m.came)
	case m.startCode != 0:
		return m.startCode
	}
	return codeFailed
}

// stoppedAsTold says whether the main process's code is 128+N, and its ladder
// sent it N. Some programs end so by themselves: the JVM exits with 143. What
// the ladder sends, it sends before kill_at.
func (m *machine) stoppedAsTold() bool {
	main := m.main()
	return slices.Contains(main.ladder[:main.rung+1], syscall.Signal(main.code-128))
}
