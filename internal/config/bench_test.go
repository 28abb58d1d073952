package config

import (
	"os"
	"testing"
)

// BenchmarkFlags is a start without a file.
func BenchmarkFlags(b *testing.B) {
	in := world("--grace", "30s", "--delay", "5s", "--stop", "SIGQUIT:20s,SIGTERM:5s", "--", "nginx", "-g", "daemon off;")
	in.Environ = os.Environ()
	b.ReportAllocs()
	for b.Loop() {
		if _, p := Load(in); p != nil {
			b.Fatal(p)
		}
	}
}

// BenchmarkFile is a start with the contract's own file; it must stay under 3 ms.
func BenchmarkFile(b *testing.B) {
	src, err := os.ReadFile("testdata/contract.hcl")
	if err != nil {
		b.Fatal(err)
	}
	in := named("graced.hcl", string(src))
	in.Environ = []string{"LB_TOKEN=x"}
	b.ReportAllocs()
	for b.Loop() {
		if _, p := Load(in); p != nil {
			b.Fatal(p)
		}
	}
}
