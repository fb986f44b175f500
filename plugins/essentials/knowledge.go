package essentials

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"parley/core"
)

const (
	passage     = 900 // characters of a piece of knowledge
	told        = 4   // pieces that are told
	near        = 0.3 // how near by meaning a piece has to be
	together    = 64  // pieces whose meaning is asked for at a time
	allKnown    = 2   // pieces that are told without a question of whether they fit
	questionMax = 2000
)

// knowledge finds what the character knows that fits a message: by meaning where there is an embedder, else by words.
type knowledge struct {
	embedder core.Embedder

	once   sync.Once
	texts  []string
	names  []string
	byWord index

	mu      sync.Mutex
	vectors [][]float32 // by meaning; nil until they are known
}

func newKnowledge(d Deps) core.Provider {
	k := &knowledge{embedder: d.Embedder}
	spec := core.ProviderSpec{Name: "KNOWLEDGE", Position: 50, Values: []string{"relevantKnowledge"}}
	return provider{spec, k.provide}
}

func (k *knowledge) provide(ctx context.Context, s core.Scene) (core.Fragment, error) {
	k.once.Do(func() { k.read(s.Agent.Character.Knowledge) })
	var lines []string
	for _, i := range k.find(ctx, core.Excerpt(s.Message.Text, questionMax)) {
		text := k.texts[i]
		if k.names[i] != "" {
			text = "From " + k.names[i] + ":\n" + text
		}
		lines = append(lines, text)
	}
	if len(lines) == 0 {
		return core.Fragment{}, nil
	}
	text := dashes(lines)
	return core.Fragment{Text: "# What you know about this\n" + text, Values: map[string]string{"relevantKnowledge": text}}, nil
}

func (k *knowledge) read(documents []core.Document) {
	for _, d := range documents {
		for _, p := range passages(d.Text, passage) {
			k.texts, k.names = append(k.texts, p), append(k.names, d.Name)
		}
	}
	k.byWord = newIndex(k.texts)
}

// find returns the pieces that fit a question, the best first.
func (k *knowledge) find(ctx context.Context, question string) []int {
	if len(k.texts) <= allKnown {
		return rank(len(k.texts), allKnown, func(int) float64 { return 1 })
	}
	if k.embedder != nil {
		if best, err := k.byMeaning(ctx, question); err == nil {
			return best
		} // by words, then: what can't be asked now may be known in the next turn
	}
	asked := words(question)
	return rank(len(k.texts), told, func(i int) float64 { return k.byWord.score(asked, i) })
}

func (k *knowledge) byMeaning(ctx context.Context, question string) ([]int, error) {
	if strings.TrimSpace(question) == "" {
		return nil, nil
	}
	vectors, err := k.meanings(ctx)
	if err != nil {
		return nil, err
	}
	asked, err := k.embedder.Embed(ctx, []string{question})
	if err != nil || len(asked) != 1 {
		return nil, fmt.Errorf("the meaning of a question: %w", err)
	}
	return rank(len(vectors), told, func(i int) float64 { return cosine(vectors[i], asked[0]) - near }), nil
}

// meanings asks for what the pieces mean, once. What one turn has no time for the next ones go on with.
func (k *knowledge) meanings(ctx context.Context) ([][]float32, error) {
	k.mu.Lock()
	known := k.vectors
	k.mu.Unlock()
	for len(known) < len(k.texts) {
		next := k.texts[len(known):min(len(known)+together, len(k.texts))]
		more, err := k.embedder.Embed(ctx, next)
		if err != nil {
			return nil, fmt.Errorf("the meaning of what is known: %w", err)
		}
		if len(more) != len(next) {
			return nil, fmt.Errorf("the meaning of what is known: %d vectors for %d texts", len(more), len(next))
		}
		known = append(known[:len(known):len(known)], more...)
		k.mu.Lock()
		if len(known) > len(k.vectors) {
			k.vectors = known
		}
		k.mu.Unlock()
	}
	return known, nil
}
