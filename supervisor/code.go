package supervisor

import (
	"slices"
	"syscall"

	"graced/internal/plan"
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

func (m *machine) rawCode() int {
	main := m.main()
	switch {
	case main.begun && main.state == gone:
		return main.code
	case main.begun:
		return codeKilled // it could not be killed: graced's end takes it along
	case main.state == gone:
		return main.code // 126 or 127
	}
	for i := range m.procs {
		if p := &m.procs[i]; p.state == gone && !p.begun {
			return p.code
		}
	}
	if m.trigger == bySignal || m.trigger == byPerson {
		return 128 + int(m.came)
	}
	for i := range m.hooks {
		if h := &m.hooks[i]; h.At == plan.PreStart && h.failed {
			return h.code
		}
	}
	return codeKilled // its exec never returned
}

// stoppedAsTold says whether the main process died of a signal that its ladder
// sent it, before kill_at.
func (m *machine) stoppedAsTold() bool {
	main := m.main()
	return main.state == gone && main.killed != 0 && slices.Contains(main.sent, main.killed) && !main.ended.After(m.killAt)
}
