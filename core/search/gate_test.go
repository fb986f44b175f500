package search_test

import (
	"slices"
	"testing"

	"parley/core/search"
	"parley/core/search/searchtest"
)

// Of 200 facts among small talk, the one that a question is about is one of the first five of at least 95 of 100 questions.
func TestRecallByWords(t *testing.T) {
	const wanted, first = 95, 5
	var texts []search.Text
	for i, f := range append(searchtest.Facts(), searchtest.SmallTalk()...) {
		texts = append(texts, search.Text{ID: int64(i), Words: search.Words(f)})
	}
	hits, questions := 0, searchtest.Questions()
	for _, q := range questions {
		ranked := search.Rank(texts, search.Question(q.Text))
		if slices.ContainsFunc(ranked[:min(first, len(ranked))], func(s search.Scored) bool { return s.ID == int64(q.Fact) }) {
			hits++
		} else {
			t.Logf("missed: %s", q.Text)
		}
	}
	t.Logf("recall@%d: %d of %d", first, hits, len(questions))
	if len(questions) != 100 || len(searchtest.Facts()) != 200 || hits < wanted {
		t.Errorf("%d of %d questions find their fact; want at least %d", hits, len(questions), wanted)
	}
}
