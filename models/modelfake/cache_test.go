package modelfake

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// The cache finds the longest beginning that any earlier prompt shares, as a comparison with all of them does.
func TestCacheFindsTheLongestBeginning(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var cache Cache
		var before [][]byte
		for range rapid.IntRange(1, 30).Draw(rt, "prompts") {
			prompt := rapid.SliceOfN(rapid.SampledFrom([]byte("ab")), 1, 8).Draw(rt, "prompt")
			keep := rapid.IntRange(0, len(prompt)).Draw(rt, "keep")
			most := 0
			for _, b := range before {
				most = max(most, sharedPrefix(b, prompt))
			}
			if got := cache.Read("m", bytes.Clone(prompt), keep, len(prompt)); got != most {
				rt.Fatalf("%q begins with %d known bytes; want %d of %q", prompt, got, most, before)
			}
			before = append(before, prompt[:keep])
		}
	})
}
