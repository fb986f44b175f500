package essentials

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// passages splits a text at blank lines into passages of about size characters. It splits a longer paragraph at spaces.
func passages(text string, size int) (all []string) {
	var b strings.Builder
	flush := func() {
		if s := strings.TrimSpace(b.String()); s != "" {
			all = append(all, s)
		}
		b.Reset()
	}
	for _, paragraph := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		for _, word := range strings.SplitAfter(paragraph, " ") {
			for len(word) > size { // a text without spaces
				cut := strings.LastIndexFunc(word[:size+1], func(r rune) bool { return r >= ' ' })
				b.WriteString(word[:max(cut, 1)])
				word = word[max(cut, 1):]
				flush()
			}
			if b.Len()+len(word) > size {
				flush()
			}
			b.WriteString(word)
		}
		b.WriteString("\n\n")
		if b.Len() > size/2 {
			flush()
		}
	}
	flush()
	return all
}

// words returns the words of a text in lower case. For scripts without spaces it returns each pair of characters.
func words(text string) (all []string) {
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		runes := []rune(w)
		if len(runes) < 2 || !dense(runes[0]) {
			all = append(all, w)
			continue
		}
		for i := range len(runes) - 1 {
			all = append(all, string(runes[i:i+2]))
		}
	}
	return all
}

// dense reports whether r belongs to a script without spaces between words.
func dense(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// index ranks passages by the words that they share with a question: rare words count more, and a word again counts less
// (BM25).
type index struct {
	counts  []map[string]int
	lengths []float64
	average float64
	spread  map[string]int // the number of passages with a word
}

func newIndex(texts []string) index {
	x := index{spread: map[string]int{}}
	for _, t := range texts {
		count := map[string]int{}
		all := words(t)
		for _, w := range all {
			count[w]++
		}
		for w := range count {
			x.spread[w]++
		}
		x.counts, x.lengths = append(x.counts, count), append(x.lengths, float64(len(all)))
		x.average += float64(len(all)) / float64(len(texts))
	}
	return x
}

// rank returns at most limit passages with a positive score, the best first.
func rank(n, limit int, score func(i int) float64) []int {
	type scored struct {
		i     int
		score float64
	}
	var all []scored
	for i := range n {
		if s := score(i); s > 0 {
			all = append(all, scored{i, s})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var best []int
	for _, s := range all[:min(limit, len(all))] {
		best = append(best, s.i)
	}
	return best
}

// score returns how well passage i matches the words of question.
func (x index) score(question []string, i int) (sum float64) {
	const saturation, length = 1.2, 0.75
	for _, w := range question {
		n, f := float64(x.spread[w]), float64(x.counts[i][w])
		if f == 0 || n > float64(len(x.counts))/2 && len(x.counts) > 3 {
			continue // a word in most passages is not specific
		}
		rare := math.Log(1 + (float64(len(x.counts))-n+0.5)/(n+0.5))
		sum += rare * f * (saturation + 1) / (f + saturation*(1-length+length*x.lengths[i]/x.average))
	}
	return sum
}

// cosine returns the cosine similarity of two vectors.
func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range min(len(a), len(b)) {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}
