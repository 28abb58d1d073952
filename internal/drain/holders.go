package drain

// holders knows which listeners the processes have open, by their descriptors:
// the one thing that tells them from others of the same cgroup and network
// namespace, where graced does not have these to itself (a plain shell, a
// container on the host's network). It costs a walk through /proc, so what was
// found once is kept: a socket's inode is its own until it is closed.
type holders struct {
	verdict map[uint32]bool
}

// maxHolders bounds what is kept.
const maxHolders = 4096

// ask looks at the listeners of which nothing is known yet.
func (h *holders) ask(scope Scope, found []sock) {
	if scope.Holders == nil || len(scope.Ports) > 0 {
		return
	}
	var unknown []uint32
	for i := range found {
		if _, known := h.verdict[found[i].inode]; !known {
			unknown = append(unknown, found[i].inode)
		}
	}
	if len(unknown) == 0 {
		return
	}
	held, all := scope.Holders(unknown)
	if h.verdict == nil || len(h.verdict) > maxHolders {
		h.verdict = make(map[uint32]bool)
	}
	for _, inode := range unknown {
		// What was not found can still be handed to a process later (SCM_RIGHTS),
		// which is rarer than a stranger's listener that is asked for at each look.
		if held[inode] || all {
			h.verdict[inode] = held[inode]
		}
	}
}

// of says whether the processes hold a listener, if that is known.
func (h *holders) of(inode uint32) (held, known bool) {
	held, known = h.verdict[inode]
	return held, known
}
