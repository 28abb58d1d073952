package probe

import (
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

func never() bool { return false }

func TestVictim(t *testing.T) {
	now := epoch
	aged := func(age time.Duration, answered bool, computing int) *conn {
		return &conn{since: now.Add(-age), answered: answered, computing: computing}
	}
	young, old, older := aged(sheltered-1, false, 0), aged(sheltered, false, 0), aged(time.Second, false, 0)
	kept, keptLong, fresh := aged(time.Minute, true, 0), aged(time.Hour, true, 0), aged(sheltered-2, true, 0)
	busy := aged(2*time.Hour, false, 1)
	for _, tt := range []struct {
		name string
		open []*conn
		want *conn
		wait time.Duration
	}{
		{"more strangers: the oldest of them", []*conn{old, older, kept, keptLong, young, busy}, older, 0},
		{"as many: a stranger", []*conn{old, older, kept, keptLong}, older, 0},
		{"more who asked: the one who did so longest ago", []*conn{old, kept, fresh, keptLong, older, busy}, keptLong, 0},
		{"a stranger that just came has its time, and those who asked stay meanwhile", []*conn{keptLong, young}, nil, 1},
		{"so has one that was just answered", []*conn{busy, fresh}, nil, 2},
		{"one that computes is left alone", []*conn{busy}, nil, time.Second},
	} {
		s := newConns(1, never)
		for _, c := range tt.open {
			s.open[c] = struct{}{}
		}
		victim, wait := s.victim(now, sheltered)
		if victim != tt.want || wait != tt.wait {
			t.Errorf("%s: got %v, wait %v", tt.name, victim, wait)
		}
	}
}

// While the kernel's queue fills up the shelter is shorter: who came first goes
// first, but not before its request was read.
func TestVictimOfACrowd(t *testing.T) {
	s := newConns(1, func() bool { return true })
	if s.shelter() != shelteredInCrowd {
		t.Errorf("a shelter of %v in a crowd", s.shelter())
	}
	first, second := &conn{since: epoch.Add(-2 - shelteredInCrowd)}, &conn{since: epoch.Add(-1 - shelteredInCrowd)}
	s.open[first], s.open[second] = struct{}{}, struct{}{}
	if victim, wait := s.victim(epoch, s.shelter()); victim != first || wait != 0 {
		t.Errorf("got %v, wait %v", victim, wait)
	}
	first.asked = epoch.Add(1 - understood)
	if victim, _ := s.victim(epoch, s.shelter()); victim != second {
		t.Errorf("got %v while the first one's request is being read", victim)
	}
	first.asked, first.since, first.computing = time.Time{}, epoch.Add(-time.Hour), 1
	if victim, _ := s.victim(epoch, s.shelter()); victim != second {
		t.Errorf("got %v while the first is answered", victim)
	}
}

// The kernel tells how many wait to be accepted.
func TestCrowded(t *testing.T) {
	s, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	filling := crowded(s.tcp)
	if filling() {
		t.Error("crowded without anybody")
	}
	longest, err := os.ReadFile("/proc/sys/net/core/somaxconn")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(longest)))
	if err != nil || n > 8192 {
		t.Skipf("SKIPPED: a queue of %q cannot be filled here", longest)
	}
	for i := range n/8 + 1 {
		if filling() {
			t.Fatalf("crowded at %d of %d", i, n)
		}
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	if !filling() {
		t.Errorf("not crowded although %d of %d wait", n/8+1, n)
	}
}

// At the bound, somebody who only holds a place makes room; one whose answer
// is being computed, and one that asks now and then, stay.
func TestRoomAtTheBound(t *testing.T) {
	hold, held := make(chan struct{}), make(chan struct{})
	cfg := newWorld(ready).config()
	cfg.MaxConns = 8
	cfg.Metrics = func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { close(held); <-hold; io.WriteString(w, "held") })
	}
	s := serve(t, cfg)
	computing := dial(t, s)
	io.WriteString(computing, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
	<-held
	kept := dial(t, s)
	kept.get("/readyz")
	var strangers []*client
	for range 20 {
		strangers = append(strangers, dial(t, s))
		wantLine(t, get(t, s, "/readyz"), 200, "ok")
	}
	for _, c := range strangers[:20-cfg.MaxConns] {
		if !c.closed() {
			t.Fatal("an old connection that never asked is still there")
		}
	}
	wantLine(t, kept.get("/readyz"), 200, "ok")
	close(hold)
	if resp, err := http.ReadResponse(computing.in, nil); err != nil || resp.StatusCode != 200 {
		t.Errorf("the answer that was being computed: %v", err)
	}
}

// A request that graced had no time to read yet is no silent connection.
func TestUnreadRequestIsLeftAlone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	set := newConns(2, never)
	var clients []net.Conn
	for range 2 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c)
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		admitted, err := set.admit(accepted, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer admitted.Close()
	}
	io.WriteString(clients[0], "G")
	time.Sleep(2 * sheltered)
	victim, _ := set.victim(time.Now(), sheltered)
	if victim == nil || victim.RemoteAddr().String() != clients[1].LocalAddr().String() {
		t.Error("the one that has asked is closed, not the silent one")
	}
}

// With all connections computing, a newcomer waits for one of them, and Close
// does not wait for the newcomer.
func TestAllCompute(t *testing.T) {
	hold, held := make(chan struct{}), make(chan struct{}, 10)
	cfg := newWorld(ready).config()
	cfg.MaxConns = 2
	cfg.Metrics = func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { held <- struct{}{}; <-hold })
	}
	s := serve(t, cfg)
	for range 2 {
		c := dial(t, s)
		io.WriteString(c, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
		<-held
	}
	answered := make(chan int, 1)
	c := dial(t, s)
	go func() {
		got, err := c.try("GET", "/readyz")
		if err != nil {
			t.Error(err)
			answered <- 0
			return
		}
		answered <- got.StatusCode
	}()
	select {
	case <-answered:
		t.Error("answered above the bound")
	case <-time.After(3 * sheltered):
	}
	close(hold)
	if code := <-answered; code != 200 {
		t.Errorf("got %d", code)
	}
}
