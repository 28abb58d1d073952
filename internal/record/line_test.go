package record

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var noon = time.Date(2026, 11, 29, 13, 0, 0, 5e6, time.FixedZone("CET", 3600))

func TestLine(t *testing.T) {
	full := Event{
		Time: noon, Kind: ShutdownEnd, Level: slog.LevelWarn, Msg: "gone in time",
		Process: "web", Phase: "stop", Hook: "flush", Signal: "SIGTERM", PID: 42,
		Code: 0, Offset: 16 * time.Second, Took: 5020400 * time.Microsecond,
		Deadline: 15 * time.Second, Late: time.Second, Err: "no such file",
		Attrs: []slog.Attr{slog.Int("overruns", 1), slog.Duration("budget", 28*time.Second)},
	}
	tests := []struct {
		name       string
		event      Event
		text, json string
	}{{
		name: "everything", event: full,
		text: `time=2026-11-29T12:00:00.005Z level=WARN msg="gone in time" event=shutdown_end process=web phase=stop hook=flush signal=SIGTERM pid=42 code=0 offset=16.0s took=5.02s deadline=15.0s late=1.0s err="no such file" overruns=1 budget=28.0s`,
		json: `{"time":"2026-11-29T12:00:00.005Z","level":"WARN","msg":"gone in time","event":"shutdown_end","process":"web","phase":"stop","hook":"flush","signal":"SIGTERM","pid":42,"code":0,"offset":"16.0s","took":"5.02s","deadline":"15.0s","late":"1.0s","err":"no such file","overruns":1,"budget":"28.0s"}`,
	}, {
		name: "what does not apply is not there", event: Event{Time: noon, Kind: Signal, Msg: "got it", Code: 7, Offset: Before},
		text: `time=2026-11-29T12:00:00.005Z level=INFO msg="got it" event=signal`,
		json: `{"time":"2026-11-29T12:00:00.005Z","level":"INFO","msg":"got it","event":"signal"}`,
	}, {
		name: "the shutdown's start is an offset", event: Event{Time: noon, Kind: ShutdownStart, Msg: "stop"},
		text: `time=2026-11-29T12:00:00.005Z level=INFO msg=stop event=shutdown_start offset=0.0s`,
		json: `{"time":"2026-11-29T12:00:00.005Z","level":"INFO","msg":"stop","event":"shutdown_start","offset":"0.0s"}`,
	}, {
		name: "hostile", event: Event{Time: noon, Kind: Start, Offset: Before, Process: "a\"b\\c\n\xff\x1b[31m", Msg: "two\nlines"},
		text: `time=2026-11-29T12:00:00.005Z level=INFO msg="two\nlines" event=start process="a\"b\\c\n\xff\x1b[31m"`,
		json: `{"time":"2026-11-29T12:00:00.005Z","level":"INFO","msg":"two\nlines","event":"start","process":"a\"b\\c\n\ufffd\u001b[31m"}`,
	}}
	for _, test := range tests {
		if got := string(newLines(Text).event(&test.event)); got != test.text+"\n" {
			t.Errorf("%s, text:\n got %swant %s", test.name, got, test.text)
		}
		if got := string(newLines(JSON).event(&test.event)); got != test.json+"\n" {
			t.Errorf("%s, JSON:\n got %swant %s", test.name, got, test.json)
		}
	}
}

// panics is an attribute whose method is broken.
type panics struct{}

func (panics) Error() string { panic("broken") }

func TestLineSurvivesABrokenAttribute(t *testing.T) {
	for _, format := range Formats {
		e := Event{Msg: "m", Attrs: []slog.Attr{slog.Any("err", panics{}), slog.Any("f", func() {}), slog.Any("e", errors.New("x"))}}
		line := string(newLines(format).event(&e))
		if strings.Count(line, "\n") != 1 || !strings.Contains(line, "broken") {
			t.Errorf("%s: %q", format, line)
		}
	}
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                          "0.0s",
		16 * time.Second:           "16.0s",
		90 * time.Minute:           "5400.0s",
		2812 * time.Millisecond:    "2.812s", // 2 + 0.812 is another number
		5020499 * time.Microsecond: "5.02s",
		1500 * time.Microsecond:    "0.002s",
		time.Nanosecond:            "0.0s",
		-4 * time.Millisecond:      "-0.004s",
		1<<63 - 1:                  "9223372036.854s",
	} {
		if got := Seconds(d); got != want {
			t.Errorf("Seconds(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestClipped(t *testing.T) {
	long := strings.Repeat("é", maxText) // twice maxText in bytes
	e := Event{Msg: long, Err: "short", Attrs: append(wide(maxAttrs+5), slog.String("long", long))}
	given := slices.Clone(e.Attrs)
	c := e.clipped()
	if !strings.HasSuffix(c.Msg, "é… (2048 bytes)") || len(c.Msg) > maxText+20 || c.Err != "short" {
		t.Errorf("clipped to %d bytes: …%q, %q", len(c.Msg), c.Msg[len(c.Msg)-30:], c.Err)
	}
	if len(c.Attrs) != maxAttrs+1 || c.Attrs[maxAttrs].Key != "omitted" || c.Attrs[maxAttrs].Value.Int64() != 6 {
		t.Errorf("%d attributes, the last is %v", len(c.Attrs), c.Attrs[len(c.Attrs)-1])
	}
	if !slices.EqualFunc(e.Attrs, given, slog.Attr.Equal) {
		t.Error("the emitter's attributes were changed")
	}
	// The control: what is short stays as it is, without a copy.
	e = Event{Msg: "m", Attrs: wide(2)}
	if c := e.clipped(); &c.Attrs[0] != &e.Attrs[0] || c.Msg != "m" {
		t.Error("a short event was changed")
	}
	for i := range given {
		given[i] = slog.String("key", long)
	}
	largest := Event{Msg: long, Process: long, Phase: long, Hook: long, Signal: long, Err: long, Attrs: given}.clipped()
	if n := largest.size(); n > maxBytes {
		t.Errorf("one event can have %d bytes, the queue takes only %d", n, maxBytes)
	}
}

func FuzzHead(f *testing.F) {
	f.Add("a日本\xff\xff\xff\xffé", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 0 {
			return
		}
		got := head(s, n)
		if !strings.HasPrefix(s, got) || len(got) > n || len(got) < min(n, len(s))-utf8.UTFMax {
			t.Errorf("head(%q, %d) = %q", s, n, got)
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("head(%q, %d) = %q cuts a character", s, n, got)
		}
	})
}

func TestEventsOfTheContract(t *testing.T) {
	with := make(map[Kind]bool)
	for _, k := range []Kind{
		Start, ProcessStart, ProcessReady, Ready, NotReady, Signal, Forward, ShutdownStart, PhaseStart, PhaseEnd, Escalate,
		Kill, Overrun, ProcessExit, ProcessRestart, HookStart, HookEnd, Announce, Probe, Reaped, ShutdownEnd, Exit,
	} {
		if k.HasCode() {
			with[k] = true
		}
	}
	if got := slices.Sorted(maps.Keys(with)); !slices.Equal(got, []Kind{Exit, HookEnd, ProcessExit, ShutdownEnd}) {
		t.Errorf("kinds with a code: %v", got)
	}
}
