package search_test

import (
	"slices"
	"testing"

	"parley/internal/search"
	"parley/internal/search/searchtest"
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

// Of 40 facts in 18 languages, asked about with other forms of their words, nearly all are found among 400 other sentences.
func TestRecallOfInflectedWords(t *testing.T) {
	const wanted, first = 38, 5
	facts := searchtest.Languages()
	var texts []search.Text
	for i, f := range facts {
		texts = append(texts, search.Text{ID: int64(i), Words: search.Words(f.Fact)})
	}
	for i, f := range append(searchtest.Facts(), searchtest.SmallTalk()...) {
		texts = append(texts, search.Text{ID: int64(len(facts) + i), Words: search.Words(f)})
	}
	hits := 0
	for i, f := range facts {
		ranked := search.Rank(texts, search.Question(f.Question))
		if slices.ContainsFunc(ranked[:min(first, len(ranked))], func(s search.Scored) bool { return s.ID == int64(i) }) {
			hits++
		} else {
			t.Logf("missed in %s: %s", f.Language, f.Question)
		}
	}
	if len(facts) != 40 || hits < wanted {
		t.Errorf("%d of %d questions find their fact; want at least %d", hits, len(facts), wanted)
	}
}
