package probe

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// epoch is the zero of the times in these tests, which are in milliseconds.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }

// asked is one line of a story: who asked when, and what was the answer.
type asked struct {
	ms     int
	who    string // ADDRESS, or ADDRESS AGENT, or ADDRESS AGENT PATH
	answer int
}

func (k asked) tell(a *Askers) {
	from, rest, _ := strings.Cut(k.who, " ")
	agent, path, _ := strings.Cut(rest, " ")
	a.Ask(netip.MustParseAddr(from), agent, path, at(k.ms), k.answer == 503)
}

// every has who ask each period from first to last, both included.
func every(who string, answer, first, period, last int) (story []asked) {
	for ms := first; ms <= last; ms += period {
		story = append(story, asked{ms, who, answer})
	}
	return story
}

func join(parts ...[]asked) (story []asked) {
	for _, p := range parts {
		story = append(story, p...)
	}
	return story
}

func TestAway(t *testing.T) {
	const since = 100_000
	const lb = "10.0.0.1 lb /readyz"
	tests := []struct {
		name  string
		story []asked
		// held is the first moment from which the rule is asked; away is when it
		// must turn, to the millisecond. away == held: at once.
		held, away int
	}{
		{
			name: "nobody asks: at once",
			held: since, away: since,
		}, {
			name:  "one who asked once is no asker",
			story: []asked{{since - 500, lb, 200}},
			held:  since, away: since,
		}, {
			name:  "told three times, then its interval of 500 ms once more",
			story: join(every(lb, 200, 90_000, 500, 99_900), every(lb, 503, since, 500, since+1000)),
			held:  since + 1000, away: since + 1500,
		}, {
			name:  "told three times, then a second at most, with an interval of two",
			story: join(every(lb, 200, 80_000, 2000, 99_000), every(lb, 503, since, 2000, since+4000)),
			held:  since + 4000, away: since + 5000,
		}, {
			name:  "more tellings do not move it",
			story: join(every(lb, 200, 90_000, 100, 99_950), every(lb, 503, since, 100, since+250)),
			held:  since + 250, away: since + 300,
		}, {
			name:  "told twice: not yet, until it is overdue by its own interval",
			story: join(every(lb, 200, 90_000, 500, 99_900), every(lb, 503, since, 500, since+500)),
			held:  since + 500, away: since + 1500,
		}, {
			name:  "one that had left before",
			story: every(lb, 200, 90_000, 500, 98_500),
			held:  since, away: since,
		}, {
			name:  "one that leaves as the shutdown starts",
			story: every(lb, 200, 90_000, 1000, 99_000),
			held:  since, away: 101_000,
		}, {
			name:  "tellings before since do not count",
			story: join(every(lb, 503, 90_000, 1000, 99_000), every(lb, 503, since, 1000, since+1000)),
			held:  since + 1000, away: since + 3000, // overdue; and not 99_000 + 1000
		}, {
			name:  "a telling at since counts",
			story: join(every(lb, 200, 98_000, 1000, 99_000), every(lb, 503, since, 1000, since+2000)),
			held:  since + 2000, away: since + 3000,
		}, {
			name:  "an answer of 200 since then is no telling",
			story: join(every(lb, 200, 98_000, 1000, since), every(lb, 503, since+1000, 1000, since+2000)),
			held:  since + 2000, away: since + 4000, // overdue
		}, {
			name: "the slowest of several decides",
			story: join(
				every(lb, 503, since-100, 100, since+200),
				every("10.0.0.2 lb /readyz", 200, 80_000, 5000, 95_000),
				every("10.0.0.2 lb /readyz", 503, since, 5000, since+5000)),
			held: since + 5000, away: since + 15_000, // told twice; overdue
		}, {
			name:  "a slow one: falls out of the two minutes before it is overdue",
			story: every(lb, 200, 30_000, 60_000, 90_000),
			held:  since, away: 150_000,
		}, {
			name:  "asks from before the two minutes make no interval",
			story: []asked{{-60_000, lb, 200}, {99_000, lb, 200}, {99_500, lb, 200}},
			held:  since, away: 100_500,
		}, {
			name:  "asks that are two minutes apart make no asker",
			story: []asked{{-21_000, lb, 200}, {99_000, lb, 200}},
			held:  since, away: since,
		}, {
			name:  "one late ask does not change the rhythm",
			story: join(every(lb, 200, 70_000, 1000, 75_000), every(lb, 200, 90_000, 1000, 99_500)),
			held:  since, away: 101_000,
		}, {
			name: "another agent, path or address is another asker",
			story: join(
				[]asked{{99_000, "10.0.0.1 a /readyz", 200}, {99_100, "10.0.0.1 b /readyz", 200}},
				[]asked{{99_200, "10.0.0.1 a /healthz", 200}, {99_300, "10.0.0.2 a /readyz", 200}}),
			held: since, away: since,
		}, {
			name:  "::ffff:10.0.0.1 is 10.0.0.1",
			story: []asked{{99_000, "10.0.0.1 a /readyz", 200}, {99_500, "::ffff:10.0.0.1 a /readyz", 200}},
			held:  since, away: 100_500,
		}, {
			name:  "two requests at once, noted in the other order",
			story: []asked{{99_000, lb, 200}, {99_900, lb, 200}, {99_899, lb, 200}},
			held:  since, away: 101_700,
		}, {
			name:  "a person who asks twice in a row is soon gone",
			story: []asked{{99_950, "10.0.0.9 curl /readyz", 200}, {99_960, "10.0.0.9 curl /readyz", 200}},
			held:  since, away: since,
		}, {
			name:  "one who begins to ask in the delay",
			story: every(lb, 503, since+100, 500, since+1100),
			held:  since + 1100, away: since + 1600,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var a Askers
			for _, k := range tt.story {
				k.tell(&a)
			}
			if tt.away > tt.held {
				for _, now := range []int{tt.held, tt.away - 1} {
					away, next := a.Away(at(now), at(since))
					if away || !next.Equal(at(tt.away)) {
						t.Errorf("at %d: away %v, next %v; want false, %d", now, away, ms(next), tt.away)
					}
				}
			}
			for _, now := range []int{tt.away, tt.away + 1, tt.away + 1_000_000} {
				if away, next := a.Away(at(now), at(since)); !away || !next.IsZero() {
					t.Errorf("at %d: away %v, next %v; want true, none", now, away, ms(next))
				}
			}
		})
	}
}

// Three probers of one balancer that ask within a few milliseconds, each second.
func TestBunch(t *testing.T) {
	for size := 2; size <= 7; size++ {
		var a Askers
		for second := 80; second < 100; second++ {
			for i := range size {
				asked{second*1000 + 5*i, "10.0.0.1 lb /readyz", 200}.tell(&a)
			}
		}
		last := 99_000 + 5*(size-1)
		gap := 1000 - 5*(size-1)
		away, next := a.Away(at(100_000), at(100_000))
		if want := at(last + 2*gap); away || !next.Equal(want) {
			t.Errorf("%d in a bunch: away %v, next %v; want %v", size, away, ms(next), ms(want))
		}
	}
}

func TestAskersAreBounded(t *testing.T) {
	var a Askers
	const real = "10.0.0.1 kube-probe/1.35 /readyz"
	asked{0, real, 200}.tell(&a)
	asked{1000, real, 200}.tell(&a)
	for i := range 10 * maxAskers {
		asked{1001, fmt.Sprintf("10.0.0.2 %d-%s /readyz", i, strings.Repeat("x", 500)), 200}.tell(&a)
	}
	if n := len(a.known); n != maxAskers {
		t.Errorf("%d askers are known, want %d", n, maxAskers)
	}
	if away, next := a.Away(at(2000), at(2000)); away || !next.Equal(at(3000)) {
		t.Errorf("after a flood of names: away %v, next %v; want the real asker to be known, until 3000", away, ms(next))
	}
	// Those that ask twice push out the one that asked longest ago.
	for i := range maxAskers {
		asked{3000 + i, fmt.Sprintf("10.0.0.3 %d", i), 200}.tell(&a)
		asked{3000 + i, fmt.Sprintf("10.0.0.3 %d", i), 200}.tell(&a)
	}
	if n := len(a.known); n != maxAskers {
		t.Errorf("%d askers are known, want %d", n, maxAskers)
	}
}

// Whatever was asked, what Away promises for next is what happens.
func TestAwayKeepsItsWord(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var a Askers
		now := 0
		since := rng.IntN(20_000)
		for range rng.IntN(200) {
			now += rng.IntN(1 + rng.IntN(3000))
			answer := 200
			if now >= since {
				answer = 503
			}
			asked{now, fmt.Sprintf("10.0.0.%d", rng.IntN(4)), answer}.tell(&a)
		}
		now = max(now, since)
		away, next := a.Away(at(now), at(since))
		if away != next.IsZero() {
			t.Fatalf("seed %d: away %v, next %v", seed, away, ms(next))
		}
		if away {
			continue
		}
		if !next.After(at(now)) {
			t.Fatalf("seed %d: next %v is not after now %d: the caller would spin", seed, ms(next), now)
		}
		if away, _ := a.Away(next.Add(-1), at(since)); away {
			t.Fatalf("seed %d: away before next %v", seed, ms(next))
		}
		if away, _ := a.Away(next, at(since)); !away {
			t.Fatalf("seed %d: not away at next %v", seed, ms(next))
		}
	}
}

func ms(t time.Time) string {
	if t.IsZero() {
		return "none"
	}
	return fmt.Sprint(t.Sub(epoch).Milliseconds())
}

func FuzzAskers(f *testing.F) {
	f.Add("kube-probe/1.35", "/readyz", uint16(1000), true)
	f.Add("", "", uint16(0), false)
	f.Add(strings.Repeat("a", 9000), "/%00", uint16(65535), true)
	f.Fuzz(func(t *testing.T, agent, path string, gap uint16, told bool) {
		var a Askers
		from := netip.AddrFrom4([4]byte{10, 0, 0, 1})
		for i := range 40 {
			a.Ask(from, agent, path, at(i*int(gap)), told)
			a.Ask(from, agent+string(rune(i)), path, at(i*int(gap)), told)
		}
		now := at(40 * int(gap))
		if away, next := a.Away(now, epoch); away != next.IsZero() || !away && !next.After(now) {
			t.Errorf("away %v, next %v at %v", away, ms(next), ms(now))
		}
	})
}
