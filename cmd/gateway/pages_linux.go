package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// unmapStart removes the parts of the program's file from the memory of this process that were read so far: most of them are only
// needed by the start, such as the initialization of packages that this configuration doesn't use. Pages that are needed
// later are mapped again when they are used, usually without reading the disk.
func unmapStart() error {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return fmt.Errorf("reading the mappings of this process: %w", err)
	}
	defer f.Close()
	var errs []error
	lines := bufio.NewScanner(f)
	var at mapping
	for lines.Scan() {
		if next, ok := parseMapping(lines.Text()); ok {
			errs = append(errs, at.unmap())
			at = next
		} else {
			at.note(lines.Text())
		}
	}
	return errors.Join(append(errs, at.unmap(), lines.Err())...)
}

// mapping is a part of the address space.
type mapping struct {
	start, end uintptr
	file       bool // a file, which is not written through it
	changed    bool // this process has pages of its own in it, such as addresses that the loader has filled in
}

// parseMapping parses the first line about a mapping, such as "00400000-0271d000 r-xp 00001000 fe:00 1310 /bin/gateway".
func parseMapping(line string) (m mapping, ok bool) {
	f := strings.Fields(line)
	if len(f) < 5 {
		return m, false
	}
	from, to, ok := strings.Cut(f[0], "-")
	start, err := strconv.ParseUint(from, 16, 64)
	end, err2 := strconv.ParseUint(to, 16, 64)
	if !ok || err != nil || err2 != nil {
		return m, false
	}
	return mapping{uintptr(start), uintptr(end), f[4] != "0" && strings.HasPrefix(f[1], "r-") && strings.HasSuffix(f[1], "p"), false}, true
}

// note reads one of the lines after the first, such as "Anonymous: 4 kB".
func (m *mapping) note(line string) {
	name, value, _ := strings.Cut(line, ":")
	switch name {
	case "Anonymous", "Swap":
		m.changed = m.changed || strings.TrimSpace(value) != "0 kB"
	}
}

// unmap drops the pages of m if they are the same in the file.
func (m mapping) unmap() error {
	if !m.file || m.changed {
		return nil
	}
	if _, _, code := syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, syscall.MADV_DONTNEED); code != 0 {
		return fmt.Errorf("dropping pages of the program's file: %w", code)
	}
	return nil
}
