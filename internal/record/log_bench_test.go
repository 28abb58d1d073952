package record

import (
	"log/slog"
	"os"
	"testing"
	"time"
)

func BenchmarkEmitBelowLevel(b *testing.B) {
	l := NewLog(-1, Text, slog.LevelInfo)
	b.ReportAllocs()
	for b.Loop() {
		l.Emit(Event{Level: slog.LevelDebug, Kind: Reaped, Msg: "reaped", PID: 7})
	}
}

// BenchmarkEmitQueued is what an event costs its emitter, queued or dropped.
func BenchmarkEmitQueued(b *testing.B) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	l := NewLog(int(null.Fd()), Text, slog.LevelInfo)
	defer l.Close(time.Second)
	b.ReportAllocs()
	for b.Loop() {
		l.Emit(Event{Kind: PhaseEnd, Msg: "drain ended", Phase: "drain", Took: time.Second})
	}
	b.ReportMetric(float64(l.Dropped())/float64(b.N), "dropped/op")
}
