package metrics

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestFormats(t *testing.T) {
	p := New(source(atTheEnd(hostile, time.Now())))
	for _, test := range []struct {
		accept, contentType string
		openMetrics         bool
	}{
		{"", "text/plain; version=0.0.4", false},
		{"*/*", "text/plain; version=0.0.4", false},
		{"text/plain", "text/plain; version=0.0.4", false},
		{"text/html,application/xhtml+xml;q=0.9", "text/plain; version=0.0.4", false},
		{"application/openmetrics-text; version=0.0.1", "application/openmetrics-text; version=0.0.1", true},
		{"application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.2", "application/openmetrics-text; version=1.0.0", true},
		{"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,text/plain;version=0.0.4;q=0.3", "text/plain; version=0.0.4", false},
		{"%%%;;;q=x,,", "text/plain; version=0.0.4", false},
	} {
		response, page := get(t, p, test.accept)
		if got := response.Header.Get("Content-Type"); !strings.HasPrefix(got, test.contentType) {
			t.Errorf("Accept %q: Content-Type %q, want %q", test.accept, got, test.contentType)
		}
		if got := strings.HasSuffix(page, "\n# EOF\n"); got != test.openMetrics {
			t.Errorf("Accept %q: OpenMetrics %v, want %v", test.accept, got, test.openMetrics)
		}
		if !test.openMetrics {
			parse(t, page)
		}
		if got := response.Header.Get("Content-Length"); got != strconv.Itoa(len(page)) {
			t.Errorf("Content-Length %s of %d bytes", got, len(page))
		}
	}
}

func TestMethods(t *testing.T) {
	p := New(source(atRest("web", time.Now())))
	for method, want := range map[string]int{http.MethodGet: 200, http.MethodHead: 200, http.MethodPost: 405, "ODD": 405} {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(method, "/metrics", nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", method, w.Code, want)
		}
		if method == http.MethodHead && (w.Body.Len() != 0 || w.Header().Get("Content-Length") == "") {
			t.Errorf("HEAD: %d bytes of body, Content-Length %q", w.Body.Len(), w.Header().Get("Content-Length"))
		}
	}
}

// A crowd of scrapers costs one page every 20 ms; whoever comes after that gets a
// new one.
func TestPageIsSharedForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		orphans := uint64(0)
		src := source(atRest("web", time.Now()))
		src.Orphans = func() uint64 { orphans++; return orphans }
		p := New(src)
		for i, want := range []uint64{1, 1, 1, 2} {
			for _, accept := range []string{"", "application/openmetrics-text"} {
				get(t, p, accept)
			}
			if orphans != 2*want { // one for each format
				t.Errorf("after %d ms: asked %d times, want %d", i*7, orphans, 2*want)
			}
			time.Sleep(7 * time.Millisecond)
		}
	})
}

func TestManyScrapesAtOnce(t *testing.T) {
	p := New(source(atTheEnd("web", time.Now())))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 20 {
				w := httptest.NewRecorder()
				p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
				if w.Code != 200 {
					t.Errorf("status %d", w.Code)
				}
			}
		})
	}
	wg.Wait()
}

func TestTextfile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "graced.prom")
	s := atRest("web", time.Now())
	p := New(source(s))
	for range 2 {
		if err := p.WriteTextfile(path); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, parse(t, string(data)), map[string]float64{"ready": 1, "orphans_reaped_total": 4000})
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	// node_exporter has a user of its own.
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	missing := filepath.Join(dir, "no", "folder.prom")
	if err := p.WriteTextfile(missing); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("no folder: error %v", err)
	}
}

func BenchmarkScrape(b *testing.B) {
	p := New(source(atTheEnd("web", time.Now())))
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if w.Code != 200 {
			b.Fatal(w.Code)
		}
	}
}

func BenchmarkFirstScrape(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		p := New(source(atRest("web", time.Now())))
		p.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil))
	}
}
