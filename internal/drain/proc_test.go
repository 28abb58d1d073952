package drain

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	procHead  = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                                                     \n"
	procHead6 = "  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

	lineListen = "   0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1668 1 000000009f85d8a1 100 0 0 10 0                      "
	lineOn     = "   1: 0100007F:1F90 0100007F:B2C4 01 00000000:00000000 02:000004D2 00000000  1000        0 28201 2 0000000000000000 20 4 31 10 -1"
	lineOff    = "  12: 0100007F:1F90 0100007F:B2C6 08 00000003:00000012 01:000004D2 00000000  1000        0 28202 2 0000000000000000 20 4 30 10 -1"
	lineSyn    = "   3: 0100007F:1F90 0200007F:B2C8 03 00000000:00000000 01:00000032 00000002     0        0 0 1 0000000000000000                                   "
	lineWait   = "   4: 020200C0:938A 507100CB:01BB 06 00000000:00000000 03:0000015A 00000000     0        0 0 3 00000000303eaa8e                                     "
	lineSix    = "   5: 00000000000000000000000001000000:1F91 00000000000000000000000001000000:B2CA 01 00000000:00000000 00:00000000 00000000     0        0 28203 1 0000000000000000 20 4 1 10 -1"
	lineMapped = "   6: 0000000000000000FFFF00000100007F:1F91 0000000000000000FFFF00000200007F:B2CA 01 00000000:00000000 00:00000000 00000000     0        0 28204 1 0000000000000000 20 4 0 10 -1"
)

func TestParse(t *testing.T) {
	if native.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the addresses are of a little-endian machine")
	}
	for _, c := range []struct {
		line        string
		v6          bool
		local, peer string
		want        sock
	}{
		{lineListen, false, "0.0.0.0:8080", "0.0.0.0:0", sock{state: Listen, inode: 1668, bit: bitOff}},
		{lineOn, false, "127.0.0.1:8080", "127.0.0.1:45764", sock{state: Established, inode: 28201, bit: bitOn}},
		{lineOff, false, "127.0.0.1:8080", "127.0.0.1:45766", sock{state: CloseWait, inode: 28202, wqueue: 3, rqueue: 18, bit: bitOff}},
		{lineSyn, false, "127.0.0.1:8080", "127.0.0.2:45768", sock{state: SynRecv, retrans: 2}},
		{lineWait, false, "192.0.2.2:37770", "203.0.113.80:443", sock{state: TimeWait}},
		{lineSix, true, "[::1]:8081", "[::1]:45770", sock{state: Established, v6: true, inode: 28203, bit: bitOn}},
		{lineMapped, true, "127.0.0.1:8081", "127.0.0.2:45770", sock{state: Established, v6: true, inode: 28204, bit: bitOff}},
	} {
		var s sock
		if !s.parse([]byte(c.line), c.v6) {
			t.Errorf("not parsed: %s", c.line)
			continue
		}
		if s.local() != netip.MustParseAddrPort(c.local) || s.peer() != netip.MustParseAddrPort(c.peer) {
			t.Errorf("%v and %v, want %v and %v", s.local(), s.peer(), c.local, c.peer)
		}
		s.laddr, s.lport, s.paddr, s.pport = c.want.laddr, 0, c.want.paddr, 0
		if s != c.want {
			t.Errorf("%s\ngot  %+v\nwant %+v", c.line, s, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, line := range []string{
		"", " ", "garbage", "   0: 0100007F:1F90",
		strings.Replace(lineOn, "0100007F:1F90", "0100007F-1F90", 1),
		strings.Replace(lineOn, "0100007F:1F90", "0100007G:1F90", 1),
		strings.Replace(lineOn, "0100007F:1F90", "0100007F:1F9", 1),
		strings.Replace(lineOn, " 01 ", " xy ", 1),
		strings.Replace(lineOn, "00000000:00000000", "0000000000000000", 1),
		strings.Replace(lineOn, "28201", "-1", 1),
		strings.Replace(lineOn, " 31 ", " 3x ", 1),
		lineSix,
	} {
		var s sock
		if s.parse([]byte(line), false) {
			t.Errorf("parsed %q as %+v", line, s)
		}
	}
	var s sock
	short := lineOn[:strings.Index(lineOn, "28201")+5]
	if !s.parse([]byte(short), false) || s.bit != bitUnknown {
		t.Errorf("a line that ends with the inode: %+v", s)
	}
}

// files is a procfs that reads what a test wrote.
func files(t *testing.T, tcp, tcp6 string) *procfs {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"tcp": tcp, "tcp6": tcp6} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &procfs{dir: dir}
}

func TestProcFiles(t *testing.T) {
	many := procHead + strings.Repeat(lineOn+"\n", 1000)
	both := query{v4: true, v6: true, states: connected}
	for _, c := range []struct {
		name      string
		tcp, tcp6 string
		q         query
		n         int
		fails     bool
	}{
		{"both", procHead + lineOn + "\n" + lineOff + "\n", procHead6 + lineSix + "\n", both, 3, false},
		{"states", procHead + lineListen + "\n" + lineOn + "\n" + lineWait + "\n", procHead6, both, 1, false},
		{"listeners", procHead + lineListen + "\n" + lineOn + "\n", procHead6, query{v4: true, v6: true, states: listening}, 1, false},
		{"ports", procHead + lineOn + "\n", procHead6 + lineSix + "\n", query{v4: true, v6: true, states: connected, ports: []uint16{8081}}, 1, false},
		{"longer than the buffer", many, procHead6, both, 1000, false},
		{"an empty line", procHead + "\n", procHead6, both, 0, true},
		{"without IPv6", procHead + lineOn + "\n", "", both, 1, false},
		{"without IPv6, asked for it alone", procHead, "", query{v6: true, states: connected}, 0, true},
		{"without IPv4", "", procHead6 + lineSix + "\n", both, 1, true},
		{"without either", "", "", both, 0, true},
		{"nonsense", procHead + "nonsense\n", procHead6, both, 0, true},
		{"a line without end", procHead + strings.Repeat("x", procBuffer), procHead6, both, 0, true},
	} {
		p := files(t, c.tcp, c.tcp6)
		n := 0
		if err := p.bits(c.q, func(*sock) { n++ }); (err != nil) != c.fails {
			t.Errorf("%s: %v", c.name, err)
		}
		if n != c.n {
			t.Errorf("%s: %d sockets, want %d", c.name, n, c.n)
		}
	}
	if err := files(t, "", "").bits(both, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without /proc: %v", err)
	}
}

// A line that stays as it is makes its connection older; its number and its
// timer do not count.
func TestMemory(t *testing.T) {
	var m memory
	now := time.Now()
	look := func(after time.Duration, lines ...string) (ages []time.Duration, missed int) {
		now = now.Add(after)
		m.begin(now)
		for _, line := range lines {
			var s sock
			if !s.parse([]byte(line), false) {
				t.Fatalf("not parsed: %s", line)
			}
			m.recall(&s, []byte(line))
			ages = append(ages, s.unchanged)
		}
		m.end(func(*sock) { missed++ })
		return ages, missed
	}
	moved := strings.Replace(strings.Replace(lineOn, "   1:", "   7:", 1), "02:000004D2", "02:00000001", 1)
	for i, step := range []struct {
		after  time.Duration
		line   string
		age    time.Duration
		missed int
	}{
		{0, lineOn, 0, 0},
		{time.Second, lineOn, time.Second, 0},
		{time.Second, moved, 2 * time.Second, 0},
		{time.Second, strings.Replace(lineOn, " 31 ", " 30 ", 1), 0, 0}, // the bit went
		{time.Second, lineOn, 0, 0},
		{time.Second, strings.Replace(lineOn, " 28201 ", " 28299 ", 1), 0, 0}, // another connection
		{time.Second, "", 0, 1},                                               // left out, perhaps
		{time.Second, "", 0, 0},                                               // gone
	} {
		var lines []string
		if step.line != "" {
			lines = []string{step.line}
		}
		ages, missed := look(step.after, lines...)
		if len(ages) > 0 && ages[0] != step.age || missed != step.missed {
			t.Errorf("step %d: age %v, missed %d; want %v, %d", i, ages, missed, step.age, step.missed)
		}
	}
	if len(m.seen) != 0 {
		t.Errorf("still remembers %d connections", len(m.seen))
	}
	look(0, lineOn)
	var s sock
	s.parse([]byte(lineOn), false)
	if m.recall(&s, []byte(lineOn)) {
		t.Error("a line that came twice counts twice")
	}
	if _, missed := look(0, strings.Replace(lineOn, " 01 ", " 04 ", 1)); missed != 0 {
		t.Error("a connection that was closed counts as missed")
	}
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{lineListen, lineOn, lineOff, lineSyn, lineWait, lineSix, lineMapped, ""} {
		f.Add([]byte(line), false)
		f.Add([]byte(line), true)
	}
	f.Fuzz(func(t *testing.T, line []byte, v6 bool) {
		var s sock
		if s.parse(line, v6) {
			DefaultRules.judge(&s)
			hashOf(line)
			_ = s.local().String() + s.peer().String() + s.state.String()
			// A line that the filter lets go must not be one on that port.
			if !localPortIn(line, []uint16{s.lport}) {
				t.Errorf("port %d not found in %q", s.lport, line)
			}
		}
	})
}
