package reaper

import (
	"bytes"
	"encoding/binary"
	"strconv"
)

// elfHead is what is needed of the start of an ELF program, elf(5). The
// standard library's debug/elf reads all of it, for 250 KB of binary.
type elfHead struct {
	order  binary.ByteOrder
	wide   bool // 64-bit
	data   []byte
	valid  bool
	target uint16 // e_machine
}

// machines are the names of e_machine that container images are built for.
var machines = map[uint16]string{
	3: "386", 8: "mips", 20: "ppc", 21: "ppc64", 22: "s390x", 40: "arm", 62: "amd64", 183: "arm64", 243: "riscv64", 258: "loong64",
}

// readELF looks at the first bytes of a file.
func readELF(data []byte) elfHead {
	h := elfHead{data: data}
	if len(data) < 64 || !bytes.HasPrefix(data, []byte("\x7fELF")) {
		return h
	}
	h.order = binary.LittleEndian
	if data[5] == 2 {
		h.order = binary.BigEndian
	}
	h.wide, h.valid = data[4] == 2, true
	h.target = h.order.Uint16(data[18:])
	return h
}

// machine is the name of what the program is built for.
func (h elfHead) machine() string {
	if name, ok := machines[h.target]; ok {
		if name == "ppc64" && h.order == binary.LittleEndian {
			name = "ppc64le" // one number for both orders of bytes, and two ports
		}
		return name
	}
	return "machine number " + strconv.Itoa(int(h.target))
}

// interpreter is the dynamic linker that the program asks for, if the data has it.
func (h elfHead) interpreter() string {
	if !h.valid {
		return ""
	}
	var table uint64
	var size, count int
	if h.wide {
		table, size, count = h.order.Uint64(h.data[32:]), int(h.order.Uint16(h.data[54:])), int(h.order.Uint16(h.data[56:]))
	} else {
		table, size, count = uint64(h.order.Uint32(h.data[28:])), int(h.order.Uint16(h.data[42:])), int(h.order.Uint16(h.data[44:]))
	}
	const ptInterp = 3
	for i := range count {
		at := table + uint64(i)*uint64(size)
		if size < 32 || at > uint64(len(h.data)) || at+56 > uint64(len(h.data)) {
			return ""
		}
		header := h.data[at:]
		if h.order.Uint32(header) != ptInterp {
			continue
		}
		var from, length uint64
		if h.wide {
			from, length = h.order.Uint64(header[8:]), h.order.Uint64(header[32:])
		} else {
			from, length = uint64(h.order.Uint32(header[4:])), uint64(h.order.Uint32(header[16:]))
		}
		if from > uint64(len(h.data)) || length > uint64(len(h.data))-from {
			return ""
		}
		return string(bytes.TrimRight(h.data[from:from+length], "\x00"))
	}
	return ""
}
