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

// Rank returns the texts that have a word of the question, the best first: rare words count more, and a word again
// counts less (BM25, with its usual constants). How rare a word is, is measured among texts. Of equal ones the one with
// the greater ID is first. A word that question repeats counts once.
func Rank(texts []Text, question []string) []Scored {
	const saturation, length = 1.2, 0.75
	asked := map[string]int{}
	for i, w := range question {
		asked[w] = i
	}
	// One slice for all texts: this runs for each question, over thousands of texts.
	counts := make([]float64, len(texts)*len(question))
	spread, average := make([]float64, len(question)), 0.0
	for i, t := range texts {
		of := counts[i*len(question) : (i+1)*len(question)]
		for _, w := range t.Words {
			if q, ok := asked[w]; ok {
				if of[q]++; of[q] == 1 {
					spread[q]++
				}
			}
		}
		average += float64(len(t.Words)) / float64(len(texts))
	}
	var all []Scored
	for i, t := range texts {
		sum := 0.0
		for q, f := range counts[i*len(question) : (i+1)*len(question)] {
			if f > 0 {
				rare := math.Log(1 + (float64(len(texts))-spread[q]+0.5)/(spread[q]+0.5))
				sum += rare * f * (saturation + 1) / (f + saturation*(1-length+length*float64(len(t.Words))/average))
			}
		}
		if sum > 0 {
			all = append(all, Scored{t.ID, sum})
		}
	}
	slices.SortFunc(all, func(a, b Scored) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.ID, a.ID)) })
	return all
}

// Fuse merges rankings into one (reciprocal rank fusion): what several rank high comes first, whatever the scale of
// their scores. The constant is that of the method's authors.
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
