package reaper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// bomb is a program that forks without end: a tree of a thousand shells, each in
// a session of its own, which ignore SIGTERM and start their children anew when
// those die.
const bomb = `trap '' TERM
if [ "$1" = 0 ]; then exec sleep 60; fi
while :; do
	for i in 1 2; do setsid sh "$0" $(($1 - 1)) & done
	wait
done
`

// startBomb starts it and waits until it has grown.
func (l *lab) startBomb() {
	l.t.Helper()
	const depth = 8
	grown := times(400)
	file := filepath.Join(l.t.TempDir(), "bomb")
	if err := os.WriteFile(file, []byte(bomb), 0o755); err != nil {
		l.t.Fatal(err)
	}
	l.spawn("sh", file, fmt.Sprint(depth))
	l.spawn("sh", file, fmt.Sprint(depth))
	l.await("bomb", func() bool {
		poke(l.wake)
		tree, _ := l.Descendants()
		return len(tree) > grown
	})
}

// As PID 1 one call reaches all, again and again until nothing is left.
func TestKillNowEndsAForkBomb(t *testing.T) {
	asPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		l.startBomb()
		l.await("end", func() bool {
			l.KillNow()
			return l.Childless()
		})
	})
}

// Elsewhere the tree is walked. What escapes one walk comes to graced when its
// parent dies, so that the next one sees it.
func TestKillTreeEndsAForkBomb(t *testing.T) {
	notPID1(t, func(t *testing.T) {
		l := newLab(t, Options{})
		l.startBomb()
		rounds := 0
		l.await("end", func() bool {
			poke(l.wake)
			rounds++
			l.KillNow()
			if _, err := l.KillTree(); err != nil {
				t.Error(err)
			}
			return l.Childless()
		})
		t.Logf("%d rounds", rounds)
		if tree, err := l.Descendants(); err != nil || len(tree) != 0 {
			t.Errorf("%v, %v", tree, err)
		}
	})
}

// Another user's process cannot be killed without CAP_KILL. That is said, and
// the others are killed all the same.
func TestWhatCannotBeKilledIsSaid(t *testing.T) {
	if os.Getuid() != 0 {
		skip(t, "another user's process takes root")
	}
	place{second: true, more: []string{fmt.Sprintf("drop=%d", unix.CAP_KILL)}}.run(t, func(t *testing.T) {
		l := newLab(t, Options{})
		own := l.spawn("sleep", "60")
		other := l.spawnAs(Command{Argv: []string{"tail", "-f", "/dev/null"}, Env: []string{path}, Stderr: 2, Credential: &syscall.Credential{Uid: 65534, Gid: 65534}})
		l.event(Started, other)
		l.see("sleep", "tail")
		l.KillNow() // which cannot say so
		tree, err := l.KillTree()
		var kill *KillError
		if !errors.Is(err, syscall.EPERM) || !errors.As(err, &kill) || kill.Descendant.Comm != "tail" {
			t.Errorf("%v, want EPERM about tail", err)
		}
		if len(tree) == 0 {
			t.Error("it shows nothing, and something is left")
		}
		if err := l.Signal(other, syscall.SIGTERM, false); err != syscall.EPERM {
			t.Errorf("%v, want EPERM", err)
		}
		if e := l.event(Exited, own); e.Status.Signal() != syscall.SIGKILL {
			t.Errorf("status %#x, want SIGKILL", e.Status)
		}
		l.see("tail")
	})
}
