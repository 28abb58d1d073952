package plan

import "time"

// forever is more than any plan has. Sums end there, so that a file with a
// hundred thousand rungs of a day does not come round to what fits.
const forever time.Duration = 1 << 60

func sum(a, b time.Duration) time.Duration { return min(a+min(b, forever), forever) }

// bare, as the width of open rungs, leaves them out: only what was set counts.
const bare time.Duration = -1

// open counts the rungs that wait for their share.
func (s *Stopping) open() int {
	n := 0
	for _, r := range s.Rungs {
		if r.Open && !s.shared {
			n++
		}
	}
	return n
}

// set is the sum of the widths that are known.
func (s *Stopping) set() time.Duration {
	var total time.Duration
	for _, r := range s.Rungs {
		total = sum(total, r.Width)
	}
	return total
}

// length is that of the ladder with each open rung at x; it then has MinLadder
// at least.
func (s *Stopping) length(x time.Duration) time.Duration {
	n := time.Duration(s.open())
	if n == 0 || x == bare {
		return s.set()
	}
	return max(sum(s.set(), n*min(x, forever/n)), MinLadder)
}

// chain gives, for each process, the time from the first stop signal of all
// until its own ladder has ended, with each open rung at x.
func (p *Plan) chain(x time.Duration) []time.Duration {
	end := make([]time.Duration, len(p.Processes))
	done := make([]bool, len(p.Processes))
	var visit func(i int) time.Duration
	visit = func(i int) time.Duration {
		if done[i] {
			return end[i]
		}
		done[i] = true
		var start time.Duration
		for _, j := range p.Processes[i].Before {
			start = max(start, visit(j))
		}
		end[i] = sum(start, p.Processes[i].length(x))
		return end[i]
	}
	for i := range p.Processes {
		visit(i)
	}
	return end
}

// longest is the way, in the order of the stop, that sets the longest chain
// with each open rung at x.
func (p *Plan) longest(x time.Duration) []int {
	end := p.chain(x)
	last := 0
	for i := range end {
		if end[i] > end[last] {
			last = i
		}
	}
	var way []int
	for at := last; at >= 0; {
		way = append([]int{at}, way...)
		next := -1
		for _, j := range p.Processes[at].Before {
			if next < 0 || end[j] > end[next] {
				next = j
			}
		}
		at = next
	}
	return way
}

// widths gives the open rungs their widths so that no chain is longer than
// total: all alike, as much as the tightest chain allows, but no ladder under
// MinLadder; the rungs of that chain are then fixed, and the others share what
// their chains have left.
func (p *Plan) widths(total time.Duration) {
	for {
		x, way := p.tightest(total)
		if way == nil {
			return
		}
		for _, i := range way { // at least one of them has open rungs
			p.Processes[i].fix(x)
		}
	}
}

// fix gives each open rung the width x, or what the ladder needs to be at its
// least, once.
func (s *Stopping) fix(x time.Duration) {
	if s.shared {
		return
	}
	n, lack := time.Duration(s.open()), MinLadder-s.set()
	s.shared = true
	for r := range s.Rungs {
		rung := &s.Rungs[r]
		if !rung.Open {
			continue
		}
		rung.Width = x
		if lack > n*x {
			rung.Width = lack / n
			lack, n, x = lack-rung.Width, n-1, 0
		}
	}
}

// tightest is the largest common width of all open rungs with which every
// chain fits into total, and the chain that sets it; nil if none is open.
//
// The longest chain as a function of the width is convex and piecewise linear,
// so Newton's method from above ends after at most one step a piece.
func (p *Plan) tightest(total time.Duration) (time.Duration, []int) {
	x := min(total, forever-1) + 1 // no chain with an open rung fits with that
	var tight []int
	for {
		way := p.longest(x)
		var n, rest time.Duration // the chain's length near x is n times x and rest
		for _, i := range way {
			s := &p.Processes[i]
			if length := s.length(x); s.open() > 0 && length > MinLadder {
				n += time.Duration(s.open())
				rest = sum(rest, s.set())
			} else {
				rest = sum(rest, length)
			}
		}
		if n == 0 || sum(rest, n*min(x, forever/n)) <= total {
			return x, tight
		}
		x, tight = max(0, total-rest)/n, way
	}
}

// times computes the latest times, in the order of the stop.
func (p *Plan) times() {
	end := p.chain(0)
	for i := range p.Processes {
		proc := &p.Processes[i]
		proc.End = p.Front + end[i]
		proc.Start = proc.End - proc.set()
		at := proc.Start
		for r := range proc.Rungs {
			at += proc.Rungs[r].Width
			proc.Rungs[r].Until = at
		}
	}
}
