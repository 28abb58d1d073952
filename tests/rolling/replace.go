package main

import (
	"bufio"
	"encoding/json"
	"os"
	"time"
)

// Replace is what became of one server's replace. Times count from the stop.
type Replace struct {
	Server  string
	Stop    seconds // the init's end
	Total   seconds `json:",omitempty"` // the new one takes traffic
	Down    seconds `json:",omitempty"` // the balancer called the server down
	DownWhy string  `json:",omitempty"`
	Last    seconds `json:",omitempty"` // the last answer that came from it
	Exit    string
	Killed  bool `json:",omitempty"` // the platform's SIGKILL struck

	Phases   map[string]seconds `json:",omitempty"` // graced's own word on delay, drain, stop, …
	Warnings []string           `json:",omitempty"` // graced's lines at WARN and above
	Busy     int                `json:",omitempty"` // connections that graced said were busy at the drain's ceiling

	begin, end time.Time
}

// Over is how much longer the stop took than it had to: after the balancer's
// reaction and the last answer.
func (r *Replace) Over() seconds { return r.Stop - max(r.Down, r.Last) }

// signalled is when the program got its signal: at once, unless graced says
// otherwise.
func (r *Replace) signalled() time.Time {
	return r.begin.Add(time.Duration(r.Phases["delay"] + r.Phases["drain"]))
}

// read takes graced's own words from a container's output.
func (r *Replace) read(log string) {
	f, err := os.Open(log)
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var line map[string]any
		if json.Unmarshal(lines.Bytes(), &line) != nil || line["event"] == nil {
			continue // the program's
		}
		if level, _ := line["level"].(string); level == "WARN" || level == "ERROR" {
			r.Warnings = append(r.Warnings, lines.Text())
		}
		if busy, ok := line["busy"].(float64); ok && line["phase"] == "drain" {
			r.Busy = int(busy)
		}
		if line["event"] != "shutdown_end" {
			continue
		}
		r.Phases = make(map[string]seconds)
		for _, phase := range []string{"delay", "drain", "stop", "rest", "cleanup"} {
			text, _ := line[phase].(string)
			if d, err := time.ParseDuration(text); err == nil {
				r.Phases[phase] = seconds(d)
			}
		}
	}
}
