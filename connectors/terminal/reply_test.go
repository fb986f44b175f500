package terminal

import (
	"math/rand/v2"
	"os"
	"parley/internal/require"
	"slices"
	"testing"
)

// However a text is cut, with the whole of it now and then, it ends exact: its pieces are never compared. At the end one reads
// what one would read had it come at once.
func TestChunkings(t *testing.T) {
	file := require.Value(os.ReadFile("../web/testdata/markdown.md"))(t)
	whole := string(file)
	once := look{width: 60}
	want := once.lines(&reply{text: whole, end: &Frame{}})
	for seed := range uint64(10_000) {
		r := rand.New(rand.NewPCG(seed, 3))
		var got reply
		live := look{width: 60}
		drawn := seed%100 == 0 // to draw takes longer than to read
		for from := 0; from < len(whole); {
			n := min(len(whole)-from, 1+r.IntN(40))
			for from+n < len(whole) && whole[from+n]&0xC0 == 0x80 { // JSON has no half characters
				n++
			}
			f := text(whole[from : from+n])
			if from += n; r.IntN(8) == 0 {
				f = Frame{Type: "token", FullText: ptr(whole[:from])}
			}
			if got.take(f); drawn && r.IntN(4) == 0 {
				live.lines(&got)
			}
		}
		if got.text != whole {
			t.Fatalf("seed %d: %d bytes in place of %d", seed, len(got.text), len(whole))
		}
		if !drawn {
			continue
		}
		got.take(Frame{Type: "done", FullText: &whole})
		if lines := live.lines(&got); !slices.Equal(lines, want) {
			t.Fatalf("seed %d: one reads %q, want %q", seed, lines, want)
		}
	}
}
