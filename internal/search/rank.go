package search

import (
	"cmp"
	"math"
	"slices"
)

// Text is a text by its words, as [Words] returns them.
type Text struct {
	ID    int64
	Words []string
}

// Scored is a text with how well it matches.
type Scored struct {
	ID    int64
	Score float64
}

// Spread is the frequency of the words of a question.
type Spread struct {
	Texts int   // that have any of the words
	With  []int // that have each word, in their order
}

// rarity returns the weight of a word.
func (s Spread) rarity(word int) float64 {
	with := float64(s.With[word])
	return math.Log(1 + (float64(s.Texts)-with+0.5)/(with+0.5))
}

// Rank returns the texts that have a word of the question, the best first: rare words count more, and a word again
// counts less (BM25, with its usual constants). How rare a word is, is measured among these texts. Of equal ones the one
// with the greater ID is first. A word that question repeats counts once.
func Rank(texts []Text, question []string) []Scored { return RankSome(texts, question, Spread{}) }

// RankSome is [Rank] for texts that were selected from more, which spread describes. The zero Spread means that they
// were not.
func RankSome(texts []Text, question []string, spread Spread) []Scored {
	c := count(texts, question)
	if spread.With == nil {
		spread = c.spread
	}
	return c.rank(spread)
}

// counted are texts that have a word of a question.
type counted struct {
	texts   []Text
	counts  []float64 // how often each text has each word: one slice, because there can be thousands of texts
	spread  Spread
	average float64 // number of words
}

func count(texts []Text, question []string) (c counted) {
	asked := map[string]int{}
	for i, w := range question {
		asked[w] = i
	}
	c.spread.With = make([]int, len(question))
	of := make([]float64, len(question))
	for _, t := range texts {
		clear(of)
		has := false
		for _, w := range t.Words {
			if q, ok := asked[w]; ok {
				if of[q]++; of[q] == 1 {
					c.spread.With[q]++
				}
				has = true
			}
		}
		if has {
			c.texts, c.counts = append(c.texts, t), append(c.counts, of...)
			c.average += float64(len(t.Words))
		}
	}
	c.spread.Texts = len(c.texts)
	c.average /= float64(max(1, len(c.texts)))
	return c
}

func (c counted) rank(spread Spread) (all []Scored) {
	const saturation, length = 1.2, 0.75
	words := len(spread.With)
	rare := make([]float64, words)
	for q := range rare {
		rare[q] = spread.rarity(q)
	}
	for i, t := range c.texts {
		sum := 0.0
		for q, f := range c.counts[i*words : (i+1)*words] {
			if f > 0 {
				sum += rare[q] * f * (saturation + 1) / (f + saturation*(1-length+length*float64(len(t.Words))/c.average))
			}
		}
		all = append(all, Scored{t.ID, sum})
	}
	sortByScore(all)
	return all
}

// Promising returns the texts that can be among the best, at most limit, and how common the words are. postings has the
// IDs of the texts with each word of the question. The words of a text count here by how rare they are, not by how often
// it has them or how long it is, since only the text itself has these numbers.
func Promising(postings [][]int64, limit int) (ids []int64, spread Spread) {
	sums := map[int64]float64{}
	for _, with := range postings {
		spread.With = append(spread.With, len(with))
		for _, id := range with {
			sums[id] = 0
		}
	}
	spread.Texts = len(sums)
	for word, with := range postings {
		rare := spread.rarity(word)
		for _, id := range with {
			sums[id] += rare
		}
	}
	all := make([]Scored, 0, len(sums))
	for id, sum := range sums {
		all = append(all, Scored{id, sum})
	}
	sortByScore(all)
	for _, s := range all[:min(len(all), limit)] {
		ids = append(ids, s.ID)
	}
	return ids, spread
}

// sortByScore sorts texts, the best first; of equal ones the one with the greater ID is first.
func sortByScore(all []Scored) {
	slices.SortFunc(all, func(a, b Scored) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.ID, a.ID)) })
}

// Fuse merges rankings into one (reciprocal rank fusion): texts that several rank high come first, whatever the scale
// of their scores. The constant is that of the method's authors.
func Fuse[ID comparable](rankings ...[]ID) (all []ID) {
	const damping = 60
	scores := map[ID]float64{}
	for _, r := range rankings {
		for i, id := range r {
			if _, ok := scores[id]; !ok {
				all = append(all, id)
			}
			scores[id] += 1 / float64(damping+i+1)
		}
	}
	slices.SortStableFunc(all, func(a, b ID) int { return cmp.Compare(scores[b], scores[a]) })
	return all
}
