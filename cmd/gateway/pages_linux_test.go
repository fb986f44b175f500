package main

import (
	"os"
	"strings"
	"testing"

	"parley/internal/require"
)

func TestMappingsThatCanBeDropped(t *testing.T) {
	for lines, want := range map[string]bool{
		"00400000-0271d000 r-xp 00001000 fe:00 1310 /bin/gateway\nAnonymous: 0 kB\nSwap: 0 kB":              true,
		"00400000-0271d000 r--p 00001000 fe:00 1310 /a path/gateway (deleted)\nAnonymous: 0 kB\nSwap: 0 kB": true,
		"00400000-0271d000 r--p 00001000 fe:00 1310 /bin/gateway\nAnonymous: 4 kB\nSwap: 0 kB":              false, // filled in by the loader
		"00400000-0271d000 r--p 00001000 fe:00 1310 /bin/gateway\nAnonymous: 0 kB\nSwap: 8 kB":              false,
		"00400000-0271d000 rw-p 00001000 fe:00 1310 /bin/gateway\nAnonymous: 0 kB\nSwap: 0 kB":              false,
		"00400000-0271d000 r--s 00001000 fe:00 1310 /parley.db-shm\nAnonymous: 0 kB\nSwap: 0 kB":            false,
		"c000000000-c000400000 r--p 00000000 00:00 0\nAnonymous: 0 kB\nSwap: 0 kB":                          false,
	} {
		first, rest, _ := strings.Cut(lines, "\n")
		m, ok := parseMapping(first)
		if !ok || m.end <= m.start {
			t.Errorf("%q is read as %+v, %v", first, m, ok)
		}
		for line := range strings.Lines(rest) {
			if _, ok := parseMapping(line); ok {
				t.Errorf("%q begins a mapping", line)
			}
			m.note(line)
		}
		if can := m.file && !m.changed; can != want {
			t.Errorf("%q can be dropped: %v", lines, can)
		}
	}
	for _, line := range []string{"", "VmFlags: rd ex mr mw me", "x-y r--p 0 0 1", "Size: 4 kB"} {
		if _, ok := parseMapping(line); ok {
			t.Errorf("%q begins a mapping", line)
		}
	}
}

// The program goes on as before when its pages are dropped, because they are read from the file again.
func TestDroppedPagesComeBack(t *testing.T) {
	before := os.Getpid()
	require.NoError(t, unmapStart())
	if again := os.Getpid(); again != before || !strings.Contains(strings.Repeat("pages", 1000), "sp") {
		t.Error("the program is not what it was")
	}
}
