package modelfake

import (
	"context"
	"slices"
	"strings"
	"unicode"
)

// Concepts is a synthetic embedder for tests: each element lists words that mean the same, and a text lies in the direction of the
// concepts that it mentions. It shows that a search by meaning works, not how well a real model recalls.
type Concepts []string

// Embed implements [parley/core/llm.Embedder].
func (c Concepts) Embed(_ context.Context, texts []string) ([][]float32, error) {
	all := make([][]float32, 0, len(texts))
	for _, t := range texts {
		v := make([]float32, len(c)+1)
		v[len(c)] = 0.1 // of all texts
		for _, word := range strings.FieldsFunc(strings.ToLower(t), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			for i, synonyms := range c {
				if slices.Contains(strings.Fields(synonyms), word) {
					v[i]++
				}
			}
		}
		all = append(all, v)
	}
	return all, nil
}
