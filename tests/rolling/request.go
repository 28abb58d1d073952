package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Kinds of requests, in the words of a mix ("short=60,post=15").
const (
	kindShort    = "short"    // at once, on a kept connection
	kindNew      = "new"      // the same on a new connection
	kindSlow     = "slow"     // silent for 1 to 3 s, then answered
	kindStream   = "stream"   // answered in chunks over 1 to 3 s
	kindPost     = "post"     // a body of 4 to 64 KiB, not to be repeated; the answer is looked at
	kindLong     = "long"     // silent for 6 to 8 s
	kindDownload = "download" // answered in chunks over 20 to 25 s
	kindSocket   = "socket"   // a WebSocket that is quiet for 2 to 6 s between its first word and its last
)

const (
	usualMix = "short=60,new=15,slow=7,stream=3,post=15"
	shortLen = 1 << 10  // of a short answer
	fileLen  = 64 << 10 // of a slow one where files are served
)

// request is one exchange to be made.
type request struct {
	kind, method, path string
	body               int    // bytes of a POST's body
	want               string // the exact answer, where one is known
	wantLen            int    // or its length
	fresh              bool   // a new connection, closed afterwards
}

// mix is a lottery of kinds.
type mix struct {
	kinds   []string
	weights []int
	sum     int
	static  bool // answers are files
}

func parseMix(text string, static bool) (*mix, error) {
	m := mix{static: static}
	for part := range strings.SplitSeq(text, ",") {
		name, weight, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(weight)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("mix %q: %q is no KIND=WEIGHT", text, part)
		}
		m.kinds, m.weights, m.sum = append(m.kinds, name), append(m.weights, n), m.sum+n
	}
	return &m, nil
}

// draw throws the dice for the next request. It throws the same number for each
// kind, so that two mixes differ only where they differ.
func (m *mix) draw(dice *rand.Rand) request {
	n, ms, size := dice.IntN(m.sum), 1000+dice.IntN(2000), 4096+dice.IntN(60*1024)
	i := 0
	for n >= m.weights[i] {
		n -= m.weights[i]
		i++
	}
	q := request{kind: m.kinds[i], method: "GET", wantLen: shortLen}
	switch q.kind {
	case kindSlow:
		q.path = fmt.Sprintf("/slow?ms=%d", ms)
	case kindLong:
		q.path = fmt.Sprintf("/slow?ms=%d", 5000+ms)
	case kindStream:
		q.path, q.wantLen = fmt.Sprintf("/stream?ms=%d&n=10", ms), 10*shortLen
	case kindDownload:
		q.path, q.wantLen = fmt.Sprintf("/stream?ms=%d&n=40", 17500+5*ms/2), 40*shortLen
	case kindPost:
		q.method, q.path, q.body = "POST", "/echo", size
		q.want, q.wantLen = fmt.Sprintf("len=%d", size), 0
	case kindSocket:
		q.path, q.wantLen = fmt.Sprintf("/socket?ms=%d", 2*ms), 0
	default:
		q.path, q.fresh = "/fast", q.kind == kindNew
	}
	if m.static {
		switch q.kind {
		case kindSlow, kindLong, kindStream, kindDownload:
			q.wantLen = fileLen
		case kindPost:
			q.want = ""
		}
	}
	return q
}

// isShort says whether a request's latency tells something of the machine.
func isShort(kind string) bool {
	return kind == kindShort || kind == kindNew || kind == kindPost
}
