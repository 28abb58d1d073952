package drain

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// cgroups tells the listeners that were made in one's own cgroup or below it
// from those of other containers in the same network namespace (a pod, a
// container on the host's network). A socket keeps the cgroup of its creator, and
// socket diagnostics give its id unasked and without a privilege.
type cgroups struct {
	asked bool
	own   uint64          // 0: not told
	below map[uint64]bool // ids met, and whether they are below one's own
}

// maxCgroups bounds the walk below one's own cgroup, and what is remembered.
const maxCgroups = 1024

// ask finds one's own id in the only place where the kernel says it: in a dump, of
// a socket of one's own. Only listeners and connections are dumped, and so it
// listens for as long as the dump takes, on a loopback port that the kernel picks.
func (c *cgroups) ask(dump func(visit func(*sock)) error) error {
	if c.asked {
		return nil
	}
	fd, inode := listenBriefly()
	if fd >= 0 {
		defer unix.Close(fd)
	}
	err := dump(func(s *sock) {
		if fd >= 0 && s.inode == inode {
			c.own = s.cgroup
		}
	})
	c.asked = err == nil
	return err
}

// listenBriefly returns -1 where there is no loopback address to listen on.
func listenBriefly() (fd int, inode uint32) {
	for _, at := range []unix.Sockaddr{&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}, &unix.SockaddrInet6{Addr: [16]byte{15: 1}}} {
		family := unix.AF_INET
		if _, v6 := at.(*unix.SockaddrInet6); v6 {
			family = unix.AF_INET6
		}
		fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Bind(fd, at) == nil && unix.Listen(fd, 0) == nil && unix.Fstat(fd, &st) == nil {
			return fd, uint32(st.Ino)
		}
		unix.Close(fd)
	}
	return -1, 0
}

// owns reports whether a socket of cgroup id is of one's own tree. What the
// kernel does not tell is: better to wait for a stranger than to cut one's own.
func (c *cgroups) owns(id uint64) bool {
	if c.own == 0 || id == 0 || id == c.own {
		return true
	}
	below, met := c.below[id]
	if !met {
		below = cgroupBelow(id)
		if c.below == nil || len(c.below) >= maxCgroups {
			c.below = make(map[uint64]bool)
		}
		c.below[id] = below
	}
	return below
}

// cgroupBelow looks for a directory with the number id below one's own cgroup: the
// id is the inode of the cgroup's directory (kernfs). A program that manages
// cgroups (docker in docker, systemd) puts its children there.
func cgroupBelow(id uint64) bool {
	list, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return false
	}
	path, ok := unified(list)
	if !ok {
		return false
	}
	for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		var fsys unix.Statfs_t
		if unix.Statfs(mount, &fsys) == nil && fsys.Type == unix.CGROUP2_SUPER_MAGIC {
			return directoryBelow(filepath.Join(mount, path), id)
		}
	}
	return false
}

// unified is the path of cgroup v2 in /proc/self/cgroup (cgroups(7)): "0::/path".
func unified(list []byte) (string, bool) {
	for line := range bytes.Lines(list) {
		if path, ok := strings.CutPrefix(string(bytes.TrimSpace(line)), "0::"); ok {
			return path, true
		}
	}
	return "", false
}

func directoryBelow(root string, inode uint64) (found bool) {
	left := maxCgroups
	filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return nil
		case left == 0:
			return fs.SkipAll
		}
		left--
		if info, err := d.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Ino == inode {
				found = true
				return fs.SkipAll
			}
		}
		return nil
	})
	return found
}
