package reaper

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Holders finds which of the sockets with these inodes the descendants have
// open; proc_pid_fd(5). all is false where one that was not found may yet be
// theirs, since the descriptors of some process could not be read: it
// runs as another user, and graced has no CAP_SYS_PTRACE. It reads no
// further once every inode is found.
func (r *Reaper) Holders(inodes []uint32) (held map[uint32]bool, all bool) {
	tree, err := r.Descendants()
	if err != nil {
		return nil, false
	}
	return holders(tree, inodes)
}

// HoldersIn is Holders of one process with its descendants.
func (r *Reaper) HoldersIn(id ID, inodes []uint32) (held map[uint32]bool, all bool) {
	pid, ok := r.PID(id)
	if !ok {
		return nil, true
	}
	tree, err := r.tree(pid)
	if err != nil {
		return nil, false
	}
	return holders(append(tree, Descendant{PID: pid}), inodes)
}

func holders(tree []Descendant, inodes []uint32) (held map[uint32]bool, all bool) {
	held, all = make(map[uint32]bool, len(inodes)), true
	wanted := make(map[uint32]bool, len(inodes))
	for _, inode := range inodes {
		wanted[inode] = true
	}
	for _, d := range tree {
		if len(wanted) == 0 {
			return held, true
		}
		if !sockets("/proc/"+strconv.Itoa(d.PID)+"/fd", func(inode uint32) {
			if wanted[inode] {
				held[inode] = true
				delete(wanted, inode)
			}
		}) {
			all = false
		}
	}
	return held, all || len(wanted) == 0
}

// sockets calls visit with the inode of each open socket of a process. false:
// not all of its descriptors could be read.
func sockets(fds string, visit func(inode uint32)) bool {
	dir, err := os.Open(fds)
	if err != nil {
		return gone(err)
	}
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(512)
		for _, name := range names {
			link, err := os.Readlink(fds + "/" + name)
			if err != nil {
				if gone(err) {
					continue // closed meanwhile
				}
				return false
			}
			if digits, ok := strings.CutPrefix(link, "socket:["); ok {
				if n, err := strconv.ParseUint(strings.TrimSuffix(digits, "]"), 10, 32); err == nil {
					visit(uint32(n))
				}
			}
		}
		if err != nil {
			return err == io.EOF || gone(err)
		}
	}
}

// gone says whether err only says that what was to be read has ended.
func gone(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}
