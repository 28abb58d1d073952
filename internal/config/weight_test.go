package config

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// heavy are files that would overflow the stack, take all memory or never end,
// if nothing bounded them.
var heavy = map[string]string{
	"brackets":     "a = " + strings.Repeat("[", 500_000),
	"blocks":       strings.Repeat("a {\n", 250_000),
	"parentheses":  "grace = " + strings.Repeat("(", 300_000) + "1" + strings.Repeat(")", 300_000),
	"not":          "grace = " + strings.Repeat("!", 900_000) + "true",
	"not, few":     "grace = " + strings.Repeat("!", 9_000) + "true",
	"minus":        "grace = " + strings.Repeat("-", 900_000) + "1",
	"conditionals": "grace = " + strings.Repeat("true ? 1 : ", 2_000) + "1",
	"indexes":      "grace = x" + strings.Repeat("[0]", 3_000),
	"splats":       "grace = x" + strings.Repeat("[*]", 3_000),
	"comparisons":  "grace = 1" + strings.Repeat(" == 1", 3_000),
	"templates":    "grace = " + strings.Repeat(`"${`, 1_500) + "1" + strings.Repeat(`}"`, 1_500),
	"ifs":          "grace = \"" + strings.Repeat("%{if true}", 900) + "x" + strings.Repeat("%{endif}", 900) + "\"",
	"heredocs":     "grace = <<A\n" + strings.Repeat("${<<A\n", 1_600),
	"many words":   "grace = [" + strings.Repeat("0,", 4_900) + "]",
	"ports":        "shutdown {\n drain {\n ports = [" + strings.Repeat("0,", 4_900) + "]\n}\n}\n",
	"many files":   "grace = \"" + strings.Repeat(`${file("big")}`, 900) + "\"",
	"chain":        lines(400, "process \"a%[1]d\" {\n command = [\"x\"]\n after = [\"a%[1]d0\"]\n}\n"),
	"words":        "grace = [" + strings.Repeat("0,", 300_000) + "]",
	"attributes":   lines(1_900, "a%d = 1\n"),
	"long blocks":  lines(1_900, "a%d {}\n"),
	"duplicates":   strings.Repeat("grace = 1\n", 2_400),
	"processes":    lines(1_200, "process \"a%d\" {}\n"),
	"after":        lines(500, "process \"a%d\" {\n after = [\"x\"]\n}\n"),
	"loops":        "grace = [for a in [1,2,3] : [for b in [1,2,3] : a]]",
	"exponent":     `grace = "${1e999999999}"`,
	"exponent 2":   `grace = "${min("1e999999999", 1e99)}"`,
	"exponent 3":   `grace = "${max("1e999999999", 1)}"`,
	"exponent 4":   `grace = format("%d", "1e999999999")`,
	"exponent 5":   `grace = format("%f", "1p999999999")`,
	"exponent 6":   `grace = "${jsondecode("1e999999999")}"`,
	"exponent 7":   `grace = jsonencode("1e999999999" < 5)`,
	"width":        `grace = format("%999999999d", 1)`,
	"precision":    `grace = format("%.999999999f", 1)`,
	"join":         `grace = join("` + strings.Repeat("x", 500_000) + `", [` + strings.Repeat("1,", 4_900) + "])",
	"decode":       "grace = join(\",\", " + strings.Repeat(`jsondecode(file("list")), `, 300) + "[])",
	"expand":       `grace = coalesce(jsondecode(file("list"))...)`,
	"few commas":   `grace = join("x", [` + strings.Repeat("1,", 1_900) + "])",
	"encode":       "grace = " + strings.Repeat("jsonencode(", 60) + `"\"\"\"\""` + strings.Repeat(")", 60),
	"files":        "grace = \"" + strings.Repeat(`${file("big")}`, 3_000) + "\"",
	"one line":     "grace = \"" + strings.Repeat("x", 1_000_000) + "\"",
	"comment":      "grace = 1 #" + strings.Repeat("x", 1_000_000),
	"too large":    strings.Repeat("x", MaxFile+1),
	"json":         `{"a":` + strings.Repeat("[", 500_000),
	"json objects": strings.Repeat(`{"a":`, 200_000),
	"json strings": `{"grace": "` + strings.Repeat("${[", 2_400) + `"}`,
	"json number":  `{"grace": 1e999999999}`,
	"json words":   `{"grace": [` + strings.Repeat("0,", 4_900) + "0]}",
	"json escapes": `{"grace": "\u0024\u007b` + strings.Repeat("!", 9_000) + `true}"}`,
}

func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestHeavyFiles: each is told in under a second and in less than 64 MB.
func TestHeavyFiles(t *testing.T) {
	for name, text := range heavy {
		t.Run(name, func(t *testing.T) {
			file := "graced.hcl"
			if strings.HasPrefix(name, "json") {
				file += ".json"
			}
			in := named(file, text, "--", "x")
			read := in.ReadFile
			in.ReadFile = func(path string) ([]byte, error) {
				switch path {
				case "big":
					return make([]byte, MaxFile), nil
				case "list":
					return []byte("[" + strings.Repeat("0,", maxDecodedCommas) + "0]"), nil
				}
				return read(path)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := used()
			_, p := Load(in)
			said := told(t, p)
			took := used() - start
			runtime.ReadMemStats(&after)
			if p == nil {
				t.Error("it is taken")
			}
			if len(said) > 64<<10 {
				t.Errorf("it is told in %d bytes", len(said))
			}
			if took > slower*time.Second {
				t.Errorf("it took %v", took)
			}
			if made := after.TotalAlloc - before.TotalAlloc; slower == 1 && made > 64<<20 {
				t.Errorf("it took %d MB", made>>20)
			}
			t.Logf("%v, %d KB allocated, %d problems", took, (after.TotalAlloc-before.TotalAlloc)>>10, p.Len())
		})
	}
}

// used is the processor time of this process until now: on a busy machine the
// clock on the wall says nothing of a program.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
