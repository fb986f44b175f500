package answer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A trail costs the same however long an action talks, and tells how much of it is left out.
func TestTrailIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		texts, size int
		all         bool
	}{
		"a hundred":        {mostSaid, 20, true},
		"one more":         {mostSaid + 1, 20, false},
		"a lot":            {50_000, 20, false},
		"long ones":        {300, maxOneSaid, false},
		"much too long":    {40, 5 * maxOneSaid, false},
		"as many as bytes": {1000, maxSaid / mostSaid, false},
	} {
		t.Run(name, func(t *testing.T) {
			var s callbackHistory
			text := func(i int) string { return fmt.Sprintf("%07d", i) + strings.Repeat("x", c.size-7) }
			most := 0
			for i := range c.texts {
				s.add(text(i))
				most = max(most, len(s.texts))
			}
			bytes, cut := 0, 0
			for _, said := range s.list() {
				bytes += len(said)
			}
			cut = slices.IndexFunc(s.texts, func(said string) bool { return strings.HasPrefix(said, "… ") })
			if most > mostSaid || bytes > maxSaid || c.all != (cut < 0) {
				t.Fatalf("up to %d texts, %d bytes at last, the mark at %d", most, bytes, cut)
			}
			if c.all {
				return
			}
			var left int
			if _, err := fmt.Sscanf(s.texts[cut], "… %d more …", &left); err != nil || cut != firstSaid || left+len(s.texts)-1 != c.texts {
				t.Errorf("%q at %d, of %d texts there are %d: %v", s.texts[cut], cut, c.texts, len(s.texts)-1, err)
			}
			for i, at := range map[int]int{0: 0, firstSaid - 1: firstSaid - 1, len(s.texts) - 1: c.texts - 1, firstSaid + 1: left + firstSaid} {
				if got := s.texts[i]; !strings.HasPrefix(text(at), strings.TrimSuffix(got, "…")) {
					t.Errorf("text %d is %.10q, want %d", i, got, at)
				}
			}
		})
	}
}

// What was handed out stays as it was.
func TestTrailHandedOut(t *testing.T) {
	var s callbackHistory
	var given, copies [][]string
	for i := range 3 * mostSaid {
		s.add(fmt.Sprint(i))
		given, copies = append(given, s.list()), append(copies, slices.Clone(s.list()))
	}
	for i, list := range given {
		if !slices.Equal(list, copies[i]) {
			t.Fatalf("the list after %d texts has changed", i+1)
		}
	}
}
