package drain

import (
	"fmt"
	"slices"
	"time"
)

// Looker looks at the processes' connections. It is for one goroutine at a time:
// its buffers are used again by each look. It starts no goroutine, and holds at
// most one descriptor, which it opens when it first looks. A look may block for
// longer than a caller that has a deadline can wait, so make it on a goroutine
// that nothing waits for.
type Looker struct {
	scope   Scope
	diag    diag
	proc    procfs
	refused error // why not diag
	cgroups cgroups
	holders holders
	found   []sock // the listeners of the last look, but one's own
	watched watched
	round   uint32
	listed  time.Time // when the listeners were last looked at
	ties    []sock
	tally   tally
}

// New makes a Looker that has not looked yet.
func New(scope Scope) *Looker {
	return &Looker{scope: scope, proc: procfs{dir: "/proc/net"}}
}

// Refused is why socket diagnostics are not used, or nil. It is known once a look
// has failed for it, and does not change afterwards: say it once.
func (l *Looker) Refused() error { return l.refused }

// Close closes the descriptor and lets the buffers go. What was seen is kept, and
// a later look opens again.
func (l *Looker) Close() {
	l.diag.close()
	l.diag.receive, l.proc.buf, l.ties = nil, nil, nil
}

// Forget forgets the listeners that are closed, as is due when a process was
// started anew; those that still listen are back with the next look.
func (l *Looker) Forget() {
	l.watched.mine, l.listed = l.watched.mine[:0], time.Time{}
}

// Listeners are the processes' listening sockets, by port. Each is remembered:
// its connections are counted by every Census from now on.
func (l *Looker) Listeners() (list []Listener, err error) {
	err = l.fallingBack(func() error {
		list = list[:0]
		return l.listeners(func(s *sock) {
			list = append(list, Listener{Addr: s.local(), Inode: s.inode, Cgroup: s.cgroup})
		})
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, byPort)
	return list, nil
}

// Census counts the processes' connections. With an error nothing is known, and
// the Census that comes with it is not quiet.
func (l *Looker) Census(rules Rules) (c Census, err error) {
	start := time.Now()
	if err := l.fallingBack(func() error { return l.census(rules, nil) }); err != nil {
		return Census{Took: time.Since(start)}, err
	}
	source := SourceDiag
	if l.refused != nil {
		source = SourceProc
	}
	return l.tally.census(source, time.Since(start)), nil
}

// fallingBack does what is to be done, and once more by /proc where it fails
// because socket diagnostics are refused.
func (l *Looker) fallingBack(do func() error) error {
	err := do()
	if err == nil {
		return nil
	}
	if l.refused == nil {
		if !l.diag.refuses(err) {
			return err
		}
		l.refused = err
		l.diag.close()
		err = do()
	}
	if err != nil {
		return fmt.Errorf("cannot see connections: %w; %w", l.refused, err)
	}
	return nil
}

func (l *Looker) dump(q query, visit func(*sock)) error {
	if l.refused != nil {
		return l.proc.dump(q, visit)
	}
	return l.diag.dump(q, visit)
}

// listeners looks at who listens, and gives the processes' to visit.
func (l *Looker) listeners(visit func(*sock)) error {
	q := query{v4: true, v6: true, states: listening}
	if len(l.scope.Ports) == 0 && l.refused == nil {
		if err := l.cgroups.ask(func(visit func(*sock)) error { return l.diag.dump(q, visit) }); err != nil {
			return err
		}
	}
	var own []uint32
	if l.scope.Own != nil {
		own = l.scope.Own()
	}
	l.round++
	w := &l.watched
	w.others, l.found = w.others[:0], l.found[:0]
	err := l.dump(q, func(s *sock) {
		if slices.Contains(own, s.inode) {
			w.others = append(w.others, l.at(s))
			return
		}
		l.found = append(l.found, *s)
	})
	l.holders.ask(l.scope, l.found)
	for i := range l.found {
		s := &l.found[i]
		if !l.ofProcesses(s) {
			w.others = append(w.others, l.at(s))
			continue
		}
		w.add(l.at(s))
		visit(s)
	}
	w.settle(l.scope.Ports, l.round)
	if err == nil {
		l.listed = time.Now()
	}
	return err
}

// at is where a socket listens, as this look saw it.
func (l *Looker) at(s *sock) listener {
	return listener{addr: s.laddr, port: s.lport, v6: s.v6, round: l.round}
}

// relist is how old the list of listeners may be where it costs as much as the
// connections: /proc tells of both or of none. A new listener is rare in a drain.
const relist = 5 * time.Second

// ofProcesses reports whose a listener is that is not one's own (see Scope).
func (l *Looker) ofProcesses(s *sock) bool {
	if len(l.scope.Ports) > 0 {
		return slices.Contains(l.scope.Ports, s.lport)
	}
	if slices.Contains(l.scope.Inherited, s.inode) {
		return true
	}
	if held, known := l.holders.of(s.inode); known {
		return held
	}
	return l.cgroups.owns(s.cgroup)
}

// census counts into the tally. each, if not nil, is told of every verdict.
func (l *Looker) census(rules Rules, each func(*sock, Verdict, Rule)) error {
	l.tally = tally{}
	l.ties = l.ties[:0]
	if l.refused == nil || time.Since(l.listed) > relist {
		if err := l.listeners(func(*sock) {}); err != nil {
			return err
		}
	}
	w := &l.watched
	if len(w.ports) == 0 {
		return nil
	}
	count := func(s *sock, v Verdict, rule Rule, idle until) {
		l.tally.add(s, v, rule, idle)
		if each != nil {
			each(s, v, rule)
		}
	}
	err := l.dump(query{v4: w.v4, v6: w.v6, states: connected, ports: w.ports}, func(s *sock) {
		if !w.counts(s) {
			return
		}
		verdict, rule, idle := rules.judge(s)
		if rules.wantsBit(s, rule) {
			l.ties = append(l.ties, *s)
			return
		}
		count(s, verdict, rule, idle)
	})
	if err != nil {
		return err
	}
	l.readBits()
	for i := range l.ties {
		s := &l.ties[i]
		verdict, rule, idle := rules.judge(s)
		count(s, verdict, rule, idle)
	}
	return nil
}

// readBits sets the pingpong bits of the ties. A tie whose line is not there, and
// all of them where /proc is not, stay ties: they wait for Rules.Unsure, and lose
// nothing.
func (l *Looker) readBits() {
	if len(l.ties) == 0 || l.refused != nil {
		return
	}
	q := query{states: setOf(Established), ports: l.watched.ports}
	for i := range l.ties {
		q.v4 = q.v4 || !l.ties[i].v6
		q.v6 = q.v6 || l.ties[i].v6
	}
	byInode := func(s sock, inode uint32) int { return int(int64(s.inode) - int64(inode)) }
	slices.SortFunc(l.ties, func(a, b sock) int { return byInode(a, b.inode) })
	_ = l.proc.bits(q, func(s *sock) {
		i, ok := slices.BinarySearchFunc(l.ties, s.inode, byInode)
		if ok && l.ties[i].lport == s.lport && l.ties[i].pport == s.pport {
			l.ties[i].bit = s.bit
		}
	})
}
