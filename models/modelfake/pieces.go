package modelfake

import (
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// Pieces cuts a text into the deltas of a stream. The pieces joined are the text, and no rune is split.
type Pieces func(text string) []string

// Whole returns the text as one piece.
func Whole(text string) []string { return []string{text} }

// ByRune returns a piece for each rune.
func ByRune(text string) []string { return ByBytes(1)(text) }

// ByWord returns a piece for each word, with the space that follows it.
func ByWord(text string) []string { return strings.SplitAfter(text, " ") }

// ByBytes returns pieces of at most n bytes, or one rune if that is longer.
func ByBytes(n int) Pieces { return cutAt(func() int { return n }) }

// ByChance returns pieces of 1 to 12 bytes, reproducible by seed.
func ByChance(seed uint64) Pieces {
	return func(text string) []string {
		luck := rand.New(rand.NewPCG(seed, 0))
		return cutAt(func() int { return 1 + luck.IntN(12) })(text)
	}
}

func cutAt(size func() int) Pieces {
	return func(text string) (pieces []string) {
		for len(text) > 0 {
			end := min(size(), len(text))
			for end > 0 && end < len(text) && !utf8.RuneStart(text[end]) {
				end--
			}
			if end <= 0 {
				_, end = utf8.DecodeRuneInString(text)
			}
			pieces, text = append(pieces, text[:end]), text[end:]
		}
		return pieces
	}
}
