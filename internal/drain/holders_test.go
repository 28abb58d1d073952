package drain

import (
	"slices"
	"testing"
)

// Two programs on one network and in one cgroup: only what the processes have
// open is theirs, and it is asked for once.
func TestHolders(t *testing.T) {
	alone(t)
	bothSources(t, func(t *testing.T, use func(*lab) *lab) {
		app, stranger := listen(t, "127.0.0.1:0"), listen(t, "127.0.0.1:0")
		var asked []uint32
		l := use(labOf(t, app, Scope{Holders: func(inodes []uint32) (map[uint32]bool, bool) {
			asked = append(asked, inodes...)
			return map[uint32]bool{inode(t, app): true}, true
		}}))
		labOf(t, stranger, Scope{}).hold()
		for range 3 {
			list, err := l.looker.Listeners()
			if err != nil || len(list) != 1 || list[0].Inode != inode(t, app) {
				t.Errorf("%v, %v", list, err)
			}
		}
		want := []uint32{inode(t, app), inode(t, stranger)}
		slices.Sort(want)
		slices.Sort(asked)
		if !slices.Equal(asked, want) {
			t.Errorf("asked for %v, want each of %v once", asked, want)
		}
		l.counts(0)
		l.hold()
		l.counts(1)
	})
}

// Where the descriptors of some process cannot be read, who has a listener open
// is known of those found only; the others are judged by cgroup, and asked again.
func TestHoldersUnreadable(t *testing.T) {
	alone(t)
	app, other := listen(t, "127.0.0.1:0"), listen(t, "127.0.0.1:0")
	calls := 0
	l := labOf(t, app, Scope{Holders: func(inodes []uint32) (map[uint32]bool, bool) {
		calls++
		if calls > 1 && !slices.Equal(inodes, []uint32{inode(t, other)}) {
			t.Errorf("asked again for %v", inodes)
		}
		return map[uint32]bool{inode(t, app): true}, false
	}})
	for range 2 {
		if list, err := l.looker.Listeners(); err != nil || len(list) != 2 {
			t.Errorf("%v, %v", list, err)
		}
	}
	if calls != 2 {
		t.Errorf("asked %d times, want 2", calls)
	}
}

// A port that is configured needs no asking.
func TestHoldersNotAsked(t *testing.T) {
	l := New(Scope{Ports: []uint16{1}, Holders: func([]uint32) (map[uint32]bool, bool) {
		t.Error("asked")
		return nil, true
	}})
	defer l.Close()
	if _, err := l.Listeners(); err != nil {
		t.Error(err)
	}
}
