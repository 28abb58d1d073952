// Package metrics is the record as Prometheus series: the page that a
// Prometheus server scrapes and the file for node_exporter's textfile
// collector. It reads what others publish and keeps no state of its own, so
// that a scrape takes no lock that the supervisor needs.
package metrics

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"graced/internal/record"
)

// Source is what the page is made of. All functions are asked once a scrape,
// must answer without waiting, and may be called on several goroutines at
// once; the series of one that is nil are left out.
type Source struct {
	Version     string                    // of graced
	Snapshot    func() *record.Snapshot   // nil before there is one
	Orphans     func() uint64             // reaped so far
	Dropped     func() uint64             // log lines
	Connections func() record.Connections // of the processes; nil: the last ones of the snapshot
}

// Page serves the metrics of a Source.
type Page struct {
	source   Source
	registry func() *prometheus.Registry

	mu   sync.Mutex
	made [2]made // as text, as OpenMetrics
}

// made is a page that was made a moment ago.
type made struct {
	at   time.Time
	page []byte
}

// shared is how long a page serves whoever asks next. Making one takes a hundred
// times as long as any other answer, and a crowd of clients that ask for nothing
// else is not to keep a prober waiting for its own.
const shared = 20 * time.Millisecond

// New makes a page. The registry and the descriptions of the series are made
// at the first scrape: most runs end without one.
func New(source Source) *Page {
	return &Page{source: source, registry: sync.OnceValue(func() *prometheus.Registry {
		// A registry of its own: the default one has series about graced's Go
		// runtime, which nobody asked for, and other packages may write to it.
		r := prometheus.NewRegistry()
		// It fails only for two collectors of the same series.
		_ = r.Register(newCollector(source))
		return r
	})}
}

// ServeHTTP answers a GET or HEAD with all series, as OpenMetrics if the
// client's Accept prefers it, else as Prometheus text. The page is a few
// kilobytes, so it is neither compressed nor streamed.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "metrics are read with GET", http.StatusMethodNotAllowed)
		return
	}
	// The text formats only: every Prometheus reads them, and the encoders of
	// the others stay out of the binary.
	format := expfmt.NegotiateAccept(r.Header,
		expfmt.FmtOpenMetrics_1_0_0, expfmt.FmtOpenMetrics_0_0_1, expfmt.FmtText)
	page, err := p.recent(format.FormatType() == expfmt.TypeOpenMetrics)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", string(format))
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	if r.Method == http.MethodGet {
		// A client that went away is no concern of the server's.
		_, _ = w.Write(page)
	}
}

// recent is a page that is at most shared old. One is made at a time.
func (p *Page) recent(openMetrics bool) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := &p.made[0]
	if openMetrics {
		last = &p.made[1]
	}
	if last.page != nil && time.Since(last.at) < shared {
		return last.page, nil
	}
	var page bytes.Buffer
	if err := p.encode(&page, openMetrics); err != nil {
		return nil, err
	}
	*last = made{time.Now(), page.Bytes()}
	return last.page, nil
}

// WriteTextfile writes all series to path in the format of node_exporter's
// textfile collector. It writes a new file beside it and renames it to path, so
// that a reader sees the old page or the new one, whole. The folder must exist.
func (p *Page) WriteTextfile(path string) error {
	if err := prometheus.WriteToTextfile(path, p.registry()); err != nil {
		return fmt.Errorf("cannot write the metrics to %q: %w", path, err)
	}
	return nil
}

// encode writes the page. Of a series that cannot be shown the others are: a
// page that is missing as a whole would say that graced is down.
func (p *Page) encode(w io.Writer, openMetrics bool) error {
	families, err := p.registry().Gather()
	if len(families) == 0 {
		return fmt.Errorf("cannot gather the metrics: %w", err)
	}
	for _, family := range families {
		if openMetrics {
			_, err = expfmt.MetricFamilyToOpenMetrics(w, family)
		} else {
			_, err = expfmt.MetricFamilyToText(w, family)
		}
		if err != nil {
			return fmt.Errorf("cannot write the metric %s: %w", family.GetName(), err)
		}
	}
	if openMetrics {
		_, err = expfmt.FinalizeOpenMetrics(w)
		return err
	}
	return nil
}
