package plan

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"

	"graced/signals"
)

// bar is a stretch of time in the drawing, each at its latest.
type bar struct {
	from, to time.Duration
	class    string
	label    string
}

// row is a line of bars.
type row struct {
	name string
	bars []bar
}

// Measures of the drawing, in its own units.
const (
	svgWidth  = 960.0
	svgLeft   = 130.0
	svgRight  = 24.0
	svgTop    = 84.0
	svgRow    = 34.0
	svgBar    = 22.0
	svgLetter = 6.6 // the width of a letter of 11 units, about
)

// SVG draws the timeline: one file without anything beside it, which follows the
// reader's light or dark mode.
func (p *Plan) SVG() string {
	rows := p.rows()
	end := p.Grace
	x := func(d time.Duration) float64 {
		return svgLeft + (svgWidth-svgLeft-svgRight)*float64(d+p.GraceSpent)/float64(end)
	}
	bottom := svgTop + svgRow*float64(len(rows))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img" aria-label="Shutdown timeline" font-family="system-ui, sans-serif" font-size="12">
<style>
 .paper { fill: #fff } text { fill: #1c2330 } .soft { fill: #667085 } .grid { stroke: #d5dae3 }
 .ready { fill: #b4531f } .delay { fill: #2f6fbd } .drain { fill: #1f8a70 } .rung { fill: #6a4fb3 } .rung2 { fill: #8d3f9c }
 .hook { fill: #5d6b7e } .cleanup { fill: #8a6d1a } .margin, .spent { fill: none; stroke: #667085; stroke-dasharray: 3 3 }
 .in { fill: #fff } .kill { stroke: #c62f3b; stroke-width: 2 } .killtext { fill: #c62f3b }
 @media (prefers-color-scheme: dark) {
  .paper { fill: #12161f } text { fill: #e8ecf4 } .soft { fill: #9aa4b8 } .grid { stroke: #384154 }
  .margin, .spent { stroke: #9aa4b8 } .in { fill: #fff } .kill { stroke: #ff6b74 } .killtext { fill: #ff6b74 }
 }
</style>
<rect class="paper" width="100%%" height="100%%"/>
`, svgWidth, bottom+58)
	title := fmt.Sprintf("grace %s", Duration(p.Grace))
	if p.Assumed() {
		title += " (assumed)"
	}
	fmt.Fprintf(&b, `<text x="%g" y="24" font-size="16" font-weight="600">Shutdown: %s, budget %s, margin %s</text>
<text x="%g" y="44" class="soft">Each bar is a ceiling: it ends as soon as its work is done, and what follows moves to the left.</text>
`, 16.0, title, Duration(p.Budget), Duration(p.Margin), 16.0)
	for at := time.Duration(0); at <= end; at += tick(end) {
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%g" y2="%g"/><text class="soft" x="%.1f" y="%g" text-anchor="middle" font-size="11">%s</text>
`, x(at-p.GraceSpent), x(at-p.GraceSpent), svgTop-10, bottom, x(at-p.GraceSpent), svgTop-16, axis(at-p.GraceSpent))
	}
	for i, r := range rows {
		y := svgTop + svgRow*float64(i)
		fmt.Fprintf(&b, `<text x="16" y="%g">%s</text>
`, y+svgBar/2+4, html.EscapeString(clip(r.name, 17)))
		for n, bar := range r.bars {
			left, width := x(bar.from), x(bar.to)-x(bar.from)
			fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%g" rx="3"><title>%s: %s – %s</title></rect>
`, bar.class, left, y, math.Max(width, 1), svgBar, html.EscapeString(bar.label), axis(bar.from), axis(bar.to))
			class, at, anchor := place(bar, left, width, n == 0)
			fmt.Fprintf(&b, `<text class="%s" x="%.1f" y="%.1f" font-size="11" text-anchor="%s">%s</text>
`, class, at, y+svgBar/2+4, anchor, html.EscapeString(bar.label))
		}
	}
	p.drawKills(&b, x, bottom)
	b.WriteString("</svg>\n")
	return b.String()
}

// place puts a bar's label into it, or where it does not fit, beside it: on the
// left of the first of its row, on the right of another.
func place(b bar, left, width float64, first bool) (class string, at float64, anchor string) {
	class = "in"
	if b.class == "margin" || b.class == "spent" {
		class = "soft"
	}
	length := svgLetter * float64(len([]rune(b.label)))
	switch {
	case length+10 <= width:
		return class, left + 5, "start"
	case first && left-length-10 > svgLeft:
		return "soft", left - 6, "end"
	}
	return "soft", left + width + 6, "start"
}

// drawKills draws the two instants that nothing passes.
func (p *Plan) drawKills(b *strings.Builder, x func(time.Duration) float64, bottom float64) {
	platform := p.Grace - p.GraceSpent
	for _, line := range []struct {
		at     time.Duration
		text   string
		anchor string
		y      float64
	}{
		{p.KillAt, "SIGKILL to whatever is left, T+" + Duration(p.KillAt), "end", bottom + 20},
		{platform, "the platform's SIGKILL, T+" + Duration(platform), "end", bottom + 40},
	} {
		fmt.Fprintf(b, `<line class="kill" x1="%.1f" x2="%.1f" y1="%g" y2="%g"/><text class="killtext" x="%.1f" y="%g" text-anchor="%s">%s</text>
`, x(line.at), x(line.at), svgTop-10, line.y-8, x(line.at)-4, line.y, line.anchor, line.text)
	}
}

// rows are what is drawn: readiness, the front, each process, the end.
func (p *Plan) rows() []row {
	rows := []row{{"readiness", []bar{{0, p.Budget, "ready", "503 from the first moment to the last"}}}}
	if p.GraceSpent > 0 {
		rows[0].bars = append(rows[0].bars, bar{-p.GraceSpent, 0, "spent", "spent"})
	}
	var front []bar
	if p.Delay > 0 {
		front = append(front, bar{0, p.Delay, "delay", "delay ≤ " + Duration(p.Delay)})
	}
	if p.Drain != DrainOff && p.DrainMax > 0 {
		front = append(front, bar{p.Delay, p.DrainLatest, "drain", "drain ≤ " + Duration(p.DrainMax)})
	}
	if front != nil {
		rows = append(rows, row{"delay, drain", front})
	}
	rows = append(rows, p.hookRows(PreStop, 0)...)
	for _, i := range p.stopOrder() {
		s := &p.Processes[i]
		r := row{name: s.Name}
		from := s.Start
		for n, rung := range s.Rungs {
			name := "its stop signal"
			if rung.Signal != 0 {
				name = signals.Name(rung.Signal)
			}
			class := "rung"
			if n%2 == 1 {
				class = "rung2"
			}
			r.bars = append(r.bars, bar{from, rung.Until, class, fmt.Sprintf("%s ≤ %s", name, Duration(rung.Until-from))})
			from = rung.Until
		}
		rows = append(rows, r)
	}
	rows = append(rows, p.hookRows(PostStop, p.KillAt)...)
	return append(rows, row{"cleanup | margin", []bar{
		{p.KillAt, p.Budget, "cleanup", "cleanup"},
		{p.Budget, p.Grace - p.GraceSpent, "margin", ""},
	}})
}

// hookRows are the hooks of a point, one after the other.
func (p *Plan) hookRows(at Point, from time.Duration) []row {
	var rows []row
	for _, h := range p.Hooks {
		if h.At == at {
			rows = append(rows, row{"hook " + h.Name, []bar{{from, from + h.Timeout, "hook", "≤ " + Duration(h.Timeout)}}})
			from += h.Timeout
		}
	}
	return rows
}

// tick is the distance of the axis's marks: at most twelve of them.
func tick(end time.Duration) time.Duration {
	for _, d := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, time.Hour} {
		if end/d <= 12 {
			return d
		}
	}
	return end / 12
}

func axis(d time.Duration) string {
	if d < 0 {
		return "−" + Duration(-d)
	}
	return "T+" + Duration(d)
}

// clip shortens a text to n letters; "" where not even a few fit.
func clip(text string, n int) string {
	letters := []rune(text)
	switch {
	case len(letters) <= n:
		return text
	case n < 3:
		return ""
	}
	return string(letters[:n-1]) + "…"
}
