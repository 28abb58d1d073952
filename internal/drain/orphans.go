package drain

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// Watches says whether a look has found a listener of the processes.
func (l *Looker) Watches() bool { return len(l.watched.ports) > 0 }

// Orphans counts the connections that still have bytes to deliver and that no
// process has open any more, of one's own cgroup where the kernel tells: for when
// nobody looked at the listeners while there were any. Where the kernel counts no
// orphan, which is what it says nearly always, that is one small read.
func (l *Looker) Orphans() (n int, took time.Duration, err error) {
	start := time.Now()
	if none() {
		return 0, time.Since(start), nil
	}
	err = l.fallingBack(func() error {
		n = 0
		if l.refused == nil {
			if err := l.cgroups.ask(func(visit func(*sock)) error {
				return l.diag.dump(query{v4: true, v6: true, states: listening}, visit)
			}); err != nil {
				return err
			}
		}
		return l.dump(query{v4: true, v6: true, states: closing}, func(s *sock) {
			if s.wqueue > 1 && s.inode == 0 && l.cgroups.owns(s.cgroup) {
				n++
			}
		})
	})
	return n, time.Since(start), err
}

// none says whether the kernel has no orphaned TCP socket: "TCP: inuse 5 orphan 0
// …" of /proc/net/sockstat; networking/proc_net_tcp.rst, sockstat_seq_show in the
// kernel's net/ipv4/proc.c. It counts those of all namespaces.
func none() bool {
	data, err := os.ReadFile("/proc/net/sockstat")
	if err != nil {
		return false
	}
	_, rest, ok := bytes.Cut(data, []byte("\nTCP: inuse "))
	_, rest, has := bytes.Cut(rest, []byte(" orphan "))
	digits, _, _ := bytes.Cut(rest, []byte(" "))
	count, err := strconv.Atoi(string(digits))
	return ok && has && err == nil && count == 0
}
