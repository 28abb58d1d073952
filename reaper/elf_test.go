package reaper

import (
	"bytes"
	"debug/elf"
	"os"
	"strings"
	"testing"
)

// What is read of a program by hand is what the standard library reads.
func TestReadELF(t *testing.T) {
	for _, file := range []string{"/bin/sh", "/proc/self/exe"} {
		f, err := elf.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				data := make([]byte, p.Filesz)
				if _, err := p.ReadAt(data, 0); err != nil {
					t.Fatal(err)
				}
				want = strings.TrimRight(string(data), "\x00")
			}
		}
		f.Close()
		h := readELF(head(file))
		if !h.valid || elf.Machine(h.target) != f.Machine || h.interpreter() != want {
			t.Errorf("%s: valid %v, machine %d, interpreter %q; want machine %d, %q", file, h.valid, h.target, h.interpreter(), f.Machine, want)
		}
	}
	if got := readELF([]byte(dynamic("/lib/x"))).interpreter(); got != "/lib/x" {
		t.Errorf("interpreter %q", got)
	}
}

// A container's files are anything at all.
func FuzzReadELF(f *testing.F) {
	f.Add([]byte(dynamic("/lib/ld.so")))
	f.Add([]byte("\x7fELF"))
	f.Add([]byte("#!/bin/sh\r\n"))
	if data, err := os.ReadFile("/bin/sh"); err == nil {
		f.Add(data[:min(len(data), 4096)])
	}
	f.Add(bytes.Repeat([]byte{0xff}, 128))
	f.Fuzz(func(t *testing.T, data []byte) {
		h := readELF(data)
		if got := h.interpreter(); !bytes.Contains(data, []byte(got)) {
			t.Errorf("interpreter %q is not in the file", got)
		}
		_ = h.machine()
		if name, ok := shebang(data); ok && !bytes.Contains(data, []byte(name)) {
			t.Errorf("interpreter %q is not in the script", name)
		}
	})
}
