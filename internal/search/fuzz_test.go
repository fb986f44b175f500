package search

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
)

// Whatever a question and the texts say, also with repeated words, each text is ranked at most once, by a finite score.
func FuzzRank(f *testing.F) {
	f.Add("cat cat cat", "the cat\nthe cat cat\ndog")
	f.Add("", "\n\n")
	f.Add("a b a b", "b a b\n猫 猫")
	f.Fuzz(func(t *testing.T, question, lines string) {
		var texts []Text
		for i, line := range strings.Split(lines, "\n") {
			texts = append(texts, Text{int64(i), Words(line)})
		}
		asked := Question(question)
		if len(asked) > maxWords {
			t.Errorf("a question of %d words", len(asked))
		}
		for _, words := range [][]string{asked, Words(question)} { // the second one repeats words
			seen := map[int64]bool{}
			for _, s := range Rank(texts, words) {
				if seen[s.ID] || math.IsNaN(s.Score) || math.IsInf(s.Score, 0) || s.Score <= 0 {
					t.Errorf("%q among %q: %+v", question, lines, s)
				}
				seen[s.ID] = true
			}
		}
	})
}

// Vectors of any numbers, packed or damaged, are compared without a panic, and a packed one is like what it was made of.
func FuzzVectors(f *testing.F) {
	f.Add([]byte{0, 0, 128, 63, 0, 0, 0, 64}, []byte{1, 2, 3}, 1)
	f.Add([]byte{1, 0, 0, 0, 1, 0, 0, 0}, []byte{}, 0)       // the smallest numbers there are
	f.Add([]byte{255, 255, 127, 127}, []byte{0, 0, 0, 0}, 2) // the greatest
	f.Fuzz(func(t *testing.T, numbers, stored []byte, limit int) {
		var v []float32
		for b := range slices.Chunk(numbers, 4) {
			if len(b) == 4 {
				v = append(v, math.Float32frombits(binary.LittleEndian.Uint32(b)))
			}
		}
		unit, packed := Unit(v), Pack(v)
		if unit == nil {
			return
		}
		if s, ok := Similarity(unit, packed); !ok || s < 0.9 {
			t.Errorf("%v is like itself by %v, %v", v, s, ok)
		}
		n := Nearest{Unit: unit, Limit: limit}
		for i := range int64(3) {
			n.Add(2*i, packed)
			n.Add(2*i+1, stored)
		}
		if len(n.IDs()) > max(limit, 0) {
			t.Errorf("%d are nearest; the limit is %d", len(n.IDs()), limit)
		}
	})
}
