package knowledge

import (
	"cmp"
	"math"
	"slices"

	"parley/internal/search"
)

// index ranks texts by the words that they share with a question: rare words count more, and a word again counts less
// (BM25). For each word it has the texts that contain it, so that a search looks only at these. It does not change, so
// it is safe for concurrent use.
type index struct {
	texts   map[string][]posting
	lengths []float64
	average float64
}

// posting is how often a text has a word.
type posting struct{ text, count int }

// newIndex returns an index of texts, which are identified by their places.
func newIndex(texts []string) index {
	x := index{texts: map[string][]posting{}}
	for i, t := range texts {
		all := search.Words(t)
		for _, w := range all {
			of := x.texts[w]
			if n := len(of); n > 0 && of[n-1].text == i {
				of[n-1].count++
			} else {
				x.texts[w] = append(of, posting{i, 1})
			}
		}
		x.lengths = append(x.lengths, float64(len(all)))
		x.average += float64(len(all)) / float64(len(texts))
	}
	return x
}

// rank returns at most limit texts that have a distinctive word of the question, the best first. A word that is in most
// texts is ignored.
func (x index) rank(question []string, limit int) []int {
	const saturation, length = 1.2, 0.75
	total, scores := float64(len(x.lengths)), map[int]float64{}
	for _, w := range question {
		of := x.texts[w]
		n := float64(len(of))
		if n > total/2 && total > 3 {
			continue
		}
		rare := math.Log(1 + (total-n+0.5)/(n+0.5))
		for _, p := range of {
			f := float64(p.count)
			scores[p.text] += rare * f * (saturation + 1) / (f + saturation*(1-length+length*x.lengths[p.text]/x.average))
		}
	}
	var best []int
	for i := range scores {
		best = append(best, i)
	}
	slices.SortFunc(best, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	return best[:min(len(best), limit)]
}
