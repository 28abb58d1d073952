package probe

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"graced/internal/record"
)

// HealthAgent is how the User-Agent of `graced health` begins. It asks on
// somebody else's behalf (Docker's HEALTHCHECK), who does not route traffic by
// the answer, so it is no asker.
const HealthAgent = "graced-health/"

// check is one line of a verbose answer, and what the answer depends on.
type check struct {
	name string
	ok   bool
	why  string // why not
}

// ready answers whether traffic may come. The first check decides; the others
// tell the verbose reader more.
func (h *handler) ready(w *answer, r *http.Request) {
	s := h.looked(r)
	now := time.Now() // after the snapshot: what it says held at now
	ready := isReady(s)
	checks := []check{{"ready", ready, reason(s, now)}}
	for _, p := range s.Processes {
		checks = append(checks, check{"process/" + oneLine(p.Name), p.Ready, processReason(p)})
	}
	w.keepAlive(s)
	w.checks(r, checks)

	agent := r.UserAgent()
	if strings.HasPrefix(agent, HealthAgent) {
		return
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return // of no TCP connection
	}
	h.askers.Ask(from.Addr(), agent, r.URL.Path, now, !ready)
	if !ready {
		h.cfg.Told()
	}
}

// live answers whether graced itself works. It follows neither the processes
// nor the shutdown: a platform that kills what is not alive must not do so in
// the middle of a drain.
func (h *handler) live(w *answer, r *http.Request) {
	ok := h.alive == nil || h.alive.do(r.Context())
	w.checks(r, []check{{"loop", ok, "graced's loop has not answered within " + aliveLimit.String()}})
}

// startup answers whether readiness was true once. It looks, as ready does:
// Kubernetes asks for nothing else before the startup probe has passed.
func (h *handler) startup(w *answer, r *http.Request) {
	s := h.looked(r)
	w.keepAlive(s)
	w.checks(r, []check{{"startup", s.EverReady, reason(s, time.Now())}})
}

// scrape looks first, as ready does: the page says whether graced is ready.
func (h *handler) scrape(w *answer, r *http.Request) {
	h.looked(r)
	if m := h.metrics(); m != nil {
		m.ServeHTTP(w, r)
		return
	}
	w.text(http.StatusServiceUnavailable, "there are no metrics\n")
}

func (h *handler) status(w *answer, r *http.Request) {
	s := h.looked(r)
	if !s.Connections.Known && h.cfg.Connections != nil {
		with := *s
		with.Connections = h.cfg.Connections()
		s = &with
	}
	body, err := json.MarshalIndent(StatusOf(s, time.Now()), "", "  ")
	if err != nil { // cannot be: a Status has plain fields only
		w.text(http.StatusInternalServerError, "cannot write the status as JSON: "+err.Error()+"\n")
		return
	}
	w.write(http.StatusOK, "application/json", append(body, '\n'))
}

// looked is the present snapshot, after a look for a listener if that is what
// is still missing.
func (h *handler) looked(r *http.Request) *record.Snapshot {
	s := h.snapshot()
	if h.look == nil || !s.AwaitsListener || s.Ready || !s.T0.IsZero() {
		return s
	}
	h.look.do(r.Context()) // in vain: the snapshot is as it was
	return h.snapshot()
}

// checks answers by the first check: 200 "ok", or 503 and the line that says
// why not. With ?verbose every check has its line. Both are as the Kubernetes
// API server does it, whose "ok" has no line end.
func (w *answer) checks(r *http.Request, checks []check) {
	code, line := http.StatusOK, "ok"
	if decides := checks[0]; !decides.ok {
		code, line = http.StatusServiceUnavailable, decides.why+"\n"
	}
	if _, verbose := r.URL.Query()["verbose"]; verbose {
		line = verboseText(r.URL.Path, checks)
	}
	w.text(code, line)
}

func verboseText(path string, checks []check) string {
	var b strings.Builder
	for _, c := range checks {
		if c.ok {
			b.WriteString("[+]" + c.name + " ok\n")
		} else {
			b.WriteString("[-]" + c.name + " " + c.why + "\n")
		}
	}
	result := "failed"
	if checks[0].ok {
		result = "passed"
	}
	b.WriteString(strings.TrimPrefix(path, "/") + " check " + result + "\n")
	return b.String()
}
