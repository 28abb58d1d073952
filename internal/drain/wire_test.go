package drain

import (
	"bytes"
	hexa "encoding/hex"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// recorded is an answer of Linux 6.18 on amd64, the datagrams of one dump behind
// one another. There and on arm64 numbers are little-endian.
func recorded(tb testing.TB, name string) []byte {
	tb.Helper()
	if native.Uint16([]byte{1, 0}) != 1 {
		tb.Skip("recorded on a little-endian machine")
	}
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	b, err := hexa.DecodeString(string(bytes.ReplaceAll(text, []byte("\n"), nil)))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// all decodes an answer with the sequence number that it carries.
func all(b []byte) (list []sock, done bool, err error) {
	var s sock
	done, err = messages(b, native.Uint32(b[8:]), &s, func(s *sock) { list = append(list, *s) })
	return list, done, err
}

func TestDecodeRecorded(t *testing.T) {
	addr := func(s string) [16]byte { return netip.MustParseAddr(s).As16() }
	for name, want := range map[string][]sock{
		"listen4.hex": {{
			state: Listen, lport: 8080, laddr: addr("127.0.0.1"), paddr: addr("0.0.0.0"),
			wqueue: 4096, inode: 163578, cgroup: 1, clocks: true, counters: true,
		}},
		"listen6.hex": {{
			state: Listen, v6: true, lport: 8081, wqueue: 4096, inode: 163585, cgroup: 1, clocks: true, counters: true,
		}},
		"connected4.hex": {
			{
				state: Established, lport: 8080, pport: 42438, laddr: addr("127.0.0.1"), paddr: addr("127.0.0.1"),
				inode: 163583, cgroup: 1, clocks: true, sent: 412, recv: 444, counters: true, received: 7, segsOut: 1,
			},
			{
				state: Established, lport: 40638, pport: 8081, laddr: addr("127.0.0.1"), paddr: addr("127.0.0.1"),
				inode: 163587, cgroup: 1, clocks: true, sent: 412, recv: 384, counters: true, received: 6, segsOut: 1,
			},
			{
				state: Established, lport: 42438, pport: 8080, laddr: addr("127.0.0.1"), paddr: addr("127.0.0.1"),
				inode: 163582, cgroup: 1, clocks: true, sent: 444, recv: 412, counters: true, received: 6, segsOut: 1,
			},
		},
		"connected6.hex": {
			{
				state: Established, v6: true, lport: 8081, pport: 40638, laddr: addr("::ffff:127.0.0.1"), paddr: addr("::ffff:127.0.0.1"),
				inode: 164710, cgroup: 1, clocks: true, sent: 388, recv: 416, counters: true, received: 7, segsOut: 1,
			},
			{
				state: Established, v6: true, lport: 8081, pport: 58266, laddr: addr("::1"), paddr: addr("::1"),
				inode: 164713, cgroup: 1, clocks: true, sent: 356, recv: 304, counters: true, received: 15, segsOut: 1,
			},
			{
				state: Established, v6: true, lport: 58266, pport: 8081, laddr: addr("::1"), paddr: addr("::1"),
				inode: 164712, cgroup: 1, clocks: true, sent: 304, recv: 356, counters: true, received: 6, segsOut: 2,
			},
		},
	} {
		got, done, err := all(recorded(t, name))
		if err != nil || !done {
			t.Errorf("%s: done %v, %v", name, done, err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, want)
		}
	}
}

// message builds a struct inet_diag_msg with attributes, in a netlink message.
func message(kind, flags uint16, seq uint32, body []byte) []byte {
	b := native.AppendUint32(nil, uint32(sizeofHeader+len(body)))
	b = native.AppendUint16(b, kind)
	b = native.AppendUint16(b, flags)
	b = native.AppendUint32(b, seq)
	b = native.AppendUint32(b, 0)
	b = append(b, body...)
	return append(b, make([]byte, align(len(b))-len(b))...)
}

func diagMessage(family uint8, state State, attrs ...[]byte) []byte {
	b := make([]byte, sizeofMessage)
	b[0], b[1] = family, byte(state)
	for _, a := range attrs {
		b = append(b, a...)
	}
	return b
}

func attribute(kind uint16, body []byte) []byte {
	b := native.AppendUint16(nil, uint16(sizeofAttr+len(body)))
	b = append(native.AppendUint16(b, kind), body...)
	return append(b, make([]byte, align(len(b))-len(b))...)
}

func TestDecodeAttributes(t *testing.T) {
	info := make([]byte, 280)
	native.PutUint32(info[offDataSent:], 11)
	native.PutUint32(info[offDataRecv:], 22)
	native.PutUint64(info[offReceived:], 1<<40)
	native.PutUint32(info[offNotSent:], 33)
	native.PutUint32(info[offOut:], 44)
	cgroup := native.AppendUint64(nil, 1<<33)
	full := sock{clocks: true, sent: 11, recv: 22, counters: true, received: 1 << 40, notsent: 33, segsOut: 44}
	clocks := sock{clocks: true, sent: 11, recv: 22}
	for _, c := range []struct {
		name  string
		attrs [][]byte
		want  sock
		err   error
	}{
		{"all", [][]byte{attribute(attrInfo, info), attribute(attrCgroup, cgroup)}, func() sock { s := full; s.cgroup = 1 << 33; return s }(), nil},
		{"unknown ones between", [][]byte{attribute(99, []byte{1}), attribute(attrInfo, info), attribute(98, nil)}, full, nil},
		{"longer than known", [][]byte{attribute(attrInfo, append(info[:280:280], 1, 2, 3, 4))}, full, nil},
		{"Linux 4.6", [][]byte{attribute(attrInfo, info[:160])}, full, nil},
		{"before 4.6", [][]byte{attribute(attrInfo, info[:148])}, clocks, nil},
		{"as old as can be", [][]byte{attribute(attrInfo, info[:56])}, clocks, nil},
		{"too short for clocks", [][]byte{attribute(attrInfo, info[:52])}, sock{}, errNoInfo},
		{"none", nil, sock{}, errNoInfo},
		{"short cgroup", [][]byte{attribute(attrInfo, info), attribute(attrCgroup, cgroup[:4])}, full, nil},
		{"a length of less than its own header", [][]byte{{3, 0, attrInfo, 0}}, sock{}, errMalformed},
		{"a length of zero", [][]byte{{0, 0, attrInfo, 0}}, sock{}, errMalformed},
		{"longer than the message", [][]byte{{200, 0, attrInfo, 0}}, sock{}, errMalformed},
		{"trailing bytes", [][]byte{attribute(attrInfo, info), {1, 2}}, full, nil},
	} {
		var s sock
		err := s.decode(diagMessage(unix.AF_INET, Established, c.attrs...))
		c.want.state, c.want.laddr, c.want.paddr = Established, mapped([4]byte{}), mapped([4]byte{})
		if !errors.Is(err, c.err) || err == nil && s != c.want {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", c.name, err, s, c.want)
		}
	}
	var s sock
	if err := s.decode(diagMessage(unix.AF_INET, SynRecv)); err != nil {
		t.Errorf("SYN_RECV has no tcp_info: %v", err)
	}
	if err := s.decode(diagMessage(unix.AF_UNIX, SynRecv)); err == nil {
		t.Error("a UNIX socket was decoded")
	}
	if err := s.decode(make([]byte, sizeofMessage-1)); err == nil {
		t.Error("a short message was decoded")
	}
}

func TestMessages(t *testing.T) {
	one := diagMessage(unix.AF_INET, SynRecv)
	errno := func(e unix.Errno) []byte { return native.AppendUint32(nil, uint32(-int32(e))) }
	for _, c := range []struct {
		name  string
		b     []byte
		socks int
		done  bool
		err   error
	}{
		{"more to come", message(20, 0, 7, one), 1, false, nil},
		{"two and done", slices.Concat(message(20, 0, 7, one), message(20, 0, 7, one), message(unix.NLMSG_DONE, 0, 7, errno(0))), 2, true, nil},
		{"done without a number", message(unix.NLMSG_DONE, 0, 7, nil), 0, true, nil},
		{"done with an error", message(unix.NLMSG_DONE, 0, 7, errno(unix.ENOMEM)), 0, true, unix.ENOMEM},
		{"refused", message(unix.NLMSG_ERROR, 0, 7, errno(unix.EPERM)), 0, true, unix.EPERM},
		{"refused without a number", message(unix.NLMSG_ERROR, 0, 7, nil), 0, true, unix.EIO},
		{"of another request", message(20, 0, 6, one), 0, false, nil},
		{"error of another request", message(unix.NLMSG_ERROR, 0, 6, errno(unix.EPERM)), 0, false, nil},
		{"changed meanwhile", message(20, unix.NLM_F_DUMP_INTR, 7, one), 0, false, errInterrupted},
		{"changed at the end", message(unix.NLMSG_DONE, unix.NLM_F_DUMP_INTR, 7, errno(0)), 0, false, errInterrupted},
		{"no-op", message(unix.NLMSG_NOOP, 0, 7, nil), 0, false, nil},
		{"cut in the header", message(20, 0, 7, one)[:12], 0, false, errMalformed},
		{"cut in the body", message(20, 0, 7, one)[:40], 0, false, errMalformed},
		{"too short", message(20, 0, 7, one[:8]), 0, false, errMalformed},
		{"a length of zero", make([]byte, 16), 0, false, errMalformed},
		{"empty", nil, 0, false, nil},
	} {
		var s sock
		n := 0
		done, err := messages(c.b, 7, &s, func(*sock) { n++ })
		if n != c.socks || done != c.done && err == nil || !errors.Is(err, c.err) {
			t.Errorf("%s: %d sockets, done %v, %v; want %d, %v, %v", c.name, n, done, err, c.socks, c.done, c.err)
		}
	}
}

// accepts runs the filter as the kernel does (inet_diag_bc_run).
func accepts(code []byte, port uint16) bool {
	left := len(code)
	for left > 0 {
		op := code[len(code)-left:]
		yes := true
		switch op[0] {
		case opJump:
			yes = false
		case opSourceGE:
			yes = port >= native.Uint16(op[6:])
		case opSourceLE:
			yes = port <= native.Uint16(op[6:])
		}
		if yes {
			left -= int(op[1])
		} else {
			left -= int(native.Uint16(op[2:]))
		}
	}
	return left == 0
}

func TestPortFilter(t *testing.T) {
	for _, ports := range [][]uint16{{80}, {80, 443}, {1, 80, 443, 8080, 65535}} {
		code := appendPorts(nil, ports)[sizeofAttr:]
		for port := range 1 << 16 {
			if got, want := accepts(code, uint16(port)), slices.Contains(ports, uint16(port)); got != want {
				t.Fatalf("%v: port %d: %v", ports, port, got)
			}
		}
	}
	if b := appendPorts(nil, make([]uint16, maxPorts+1)); len(b) != 0 {
		t.Errorf("a filter of %d bytes for more than %d ports", len(b), maxPorts)
	}
}

func TestRequest(t *testing.T) {
	b := appendRequest([]byte("ahead"), 9, unix.AF_INET6, listening, nil)[5:]
	if len(b) != 72 || native.Uint32(b) != 72 || native.Uint16(b[4:]) != 20 || native.Uint32(b[8:]) != 9 {
		t.Errorf("header % x", b[:16])
	}
	if b[16] != unix.AF_INET6 || b[17] != unix.IPPROTO_TCP || b[18] != 2 || native.Uint32(b[20:]) != 1<<10 {
		t.Errorf("request % x", b[16:])
	}
}

// Whatever comes, decoding ends and does not panic.
func FuzzMessages(f *testing.F) {
	for _, name := range []string{"listen4.hex", "listen6.hex", "connected4.hex", "connected6.hex"} {
		f.Add(recorded(f, name))
	}
	f.Add(message(unix.NLMSG_ERROR, 0, 0, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		seq := uint32(0)
		if len(b) >= sizeofHeader {
			seq = native.Uint32(b[8:])
		}
		var s sock
		var tl tally
		messages(b, seq, &s, func(s *sock) {
			v, rule, idle := DefaultRules.judge(s)
			tl.add(s, v, rule, idle)
		})
		if tl.Open != tl.Busy+tl.Idle+tl.Unsure {
			t.Errorf("counted %+v", tl.Census)
		}
	})
}
