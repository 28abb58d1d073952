package plan

import (
	"encoding/json"

	"graced/signals"
)

// MarshalJSON writes the plan for programs: durations are seconds, what does
// not apply is left out. Names keep their meaning; new ones may come.
func (p *Plan) MarshalJSON() ([]byte, error) {
	type step struct {
		Kind     StepKind `json:"kind"`
		Process  string   `json:"process,omitempty"`
		Signal   string   `json:"signal,omitempty"`
		Earliest *float64 `json:"earliest_seconds,omitempty"`
		Latest   float64  `json:"latest_seconds"`
		Text     string   `json:"text,omitempty"`
	}
	type process struct {
		Name  string  `json:"name"`
		Main  bool    `json:"main,omitempty"`
		Start float64 `json:"stop_latest_seconds"`
		End   float64 `json:"kill_latest_seconds"`
	}
	out := struct {
		Platform   string    `json:"platform"`
		Grace      float64   `json:"grace_seconds"`
		GraceFrom  string    `json:"grace_from"`
		Assumed    bool      `json:"grace_assumed"`
		GraceSpent float64   `json:"grace_spent_seconds,omitempty"`
		Margin     float64   `json:"margin_seconds"`
		Budget     float64   `json:"budget_seconds"`
		KillAt     float64   `json:"kill_at_seconds"`
		Cleanup    float64   `json:"cleanup_seconds"`
		Delay      float64   `json:"delay_seconds"`
		DelayAuto  bool      `json:"delay_auto,omitempty"`
		Drain      Drain     `json:"drain"`
		DrainMax   float64   `json:"drain_max_seconds"`
		Stops      []string  `json:"stop_signals"`
		Processes  []process `json:"processes"`
		Steps      []step    `json:"steps"`
		Warnings   []string  `json:"warnings,omitempty"`
		Notes      []string  `json:"notes,omitempty"`
	}{
		Platform: p.Platform.Name, Grace: p.Grace.Seconds(), GraceFrom: p.GraceFrom.String(), Assumed: p.Assumed(),
		GraceSpent: p.GraceSpent.Seconds(), Margin: p.Margin.Seconds(), Budget: p.Budget.Seconds(), KillAt: p.KillAt.Seconds(),
		Cleanup: p.Cleanup.Seconds(), Delay: p.Delay.Seconds(), DelayAuto: p.DelayAuto, Drain: p.Drain, DrainMax: p.DrainMax.Seconds(),
	}
	for _, sig := range p.Stops {
		out.Stops = append(out.Stops, signals.Name(sig))
	}
	for i := range p.Processes {
		s := &p.Processes[i]
		out.Processes = append(out.Processes, process{s.Name, i == p.Main, s.Start.Seconds(), s.End.Seconds()})
	}
	for _, s := range p.Timeline() {
		one := step{s.Kind, s.Process, s.Signal, nil, s.Latest.Seconds(), s.Text}
		if s.Earliest >= 0 {
			at := s.Earliest.Seconds()
			one.Earliest = &at
		}
		out.Steps = append(out.Steps, one)
	}
	for _, w := range p.Warnings {
		out.Warnings = append(out.Warnings, w.String())
	}
	for _, n := range p.Notes {
		out.Notes = append(out.Notes, n.String())
	}
	return json.Marshal(out)
}
