package essentials

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/core"
)

// shop is what a character knows.
func shop() []core.Document {
	return []core.Document{
		{Name: "hours", Text: "The shop opens at nine and closes at six."},
		{Name: "tea", Text: "The tea in the shop is green. Green tea is made in the pot, and tea is free."},
		{Name: "dog", Text: "The dog of the shop is called Rex and sleeps below the till."},
		{Text: "The shop has a cellar with old maps."},
		{Name: "prices", Text: "Most of what the shop sells is green, and cheaper than tea elsewhere. The rest, which is very old and very rare, is sold once a year by auction."},
		{Name: "日本", Text: "東京の店は九時に開きます。"},
	}
}

// found are the names of the pieces that are told for a question, in order.
func found(t *testing.T, k core.Provider, known []core.Document, question string) (names []string) {
	t.Helper()
	s := core.Scene{Message: core.Memory{Text: question}}
	s.Agent.Character.Knowledge = known
	f, err := k.Provide(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	text, ok := strings.CutPrefix(f.Text, "# What you know about this\n")
	if ok != (f.Text != "") || f.Values["relevantKnowledge"] != text {
		t.Errorf("told is %q, and as a variable %q", f.Text, f.Values)
	}
	for piece := range strings.SplitSeq(text, "\n- ") {
		if piece = strings.TrimPrefix(piece, "- "); piece != "" {
			name, _, _ := strings.Cut(strings.TrimPrefix(piece, "From "), ":\n")
			names = append(names, name)
		}
	}
	return names
}

// Without an embedder what is known is found by its words: rare ones count more, common ones not at all, and the order is
// always the same.
func TestKnowledgeByWords(t *testing.T) {
	const cellar = "The shop has a cellar with old maps."
	for question, want := range map[string][]string{
		"When does the shop open? It opens at ten?": {"hours"},
		"Any green tea?":                     {"tea", "prices"},
		"REX!":                               {"dog"},
		"Old maps?":                          {cellar, "prices"},
		"Does Rex drink tea below the till?": {"dog", "tea", "prices"},
		"東京":                                 {"日本"},
		"the shop":                           nil, // stands nearly everywhere
		"Elephants":                          nil,
		"":                                   nil,
		"tea tea tea till":                   {"tea", "prices", "dog"},
	} {
		for range 5 {
			if got := found(t, newKnowledge(Deps{}), shop(), question); !slices.Equal(got, want) {
				t.Errorf("%q finds %q, not %q", question, got, want)
			}
		}
	}
	same := []core.Document{{Name: "a", Text: "one fox"}, {Name: "b", Text: "one fox"}, {Name: "c", Text: "dog"}, {Name: "d", Text: "cat"}, {Name: "e", Text: "cow"}}
	if got := found(t, newKnowledge(Deps{}), same, "fox"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("of what fits alike it tells %q", got)
	}
	var many []core.Document
	for i := range 20 {
		many = append(many, core.Document{Name: fmt.Sprint(i), Text: "sheep"}, core.Document{Text: "no"}, core.Document{Text: "no"})
	}
	if got := found(t, newKnowledge(Deps{}), many, "sheep"); !slices.Equal(got, []string{"0", "1", "2", "3"}) {
		t.Errorf("of many it tells %q", got)
	}
	if got := found(t, newKnowledge(Deps{}), shop()[:2], "Elephants"); !slices.Equal(got, []string{"hours", "tea"}) {
		t.Errorf("of little it tells %q", got)
	}
	if got := found(t, newKnowledge(Deps{}), nil, "Elephants"); got != nil {
		t.Errorf("of nothing it tells %q", got)
	}
}

// senses places a text by what it is about: time, drinks, animals.
type senses struct {
	asked [][]string
	err   error // of all after those that go well
	well  int
	short bool // a vector is missing
}

func (s *senses) Embed(_ context.Context, texts []string) ([][]float32, error) {
	s.asked = append(s.asked, texts)
	if s.err != nil && len(s.asked) > s.well {
		return nil, s.err
	}
	var all [][]float32
	for _, text := range texts {
		v := make([]float32, 4)
		for i, about := range []string{"nine six when open", "tea drink pot thirsty", "dog rex pet animal"} {
			for word := range strings.FieldsSeq(about) {
				v[i] += float32(strings.Count(strings.ToLower(text), word))
			}
		}
		v[3] = 0.1
		all = append(all, v)
	}
	if s.short {
		all = all[1:]
	}
	return all, nil
}

// With an embedder it is found by what it means, and by its words while that can't be asked.
func TestKnowledgeByMeaning(t *testing.T) {
	down := errors.New("down")
	for name, c := range map[string]struct {
		embedder senses
		question string
		want     []string
	}{
		"no word in common":    {senses{}, "Any pet?", []string{"dog"}},
		"the nearest first":    {senses{}, "thirsty thirsty pet", []string{"tea", "prices", "dog"}},
		"nothing is near":      {senses{}, "xyzzy", []string{"The shop has a cellar with old maps.", "日本"}},
		"nothing is asked":     {senses{}, " ", nil},
		"it is down":           {senses{err: down}, "Any pet, or REX?", []string{"dog"}},
		"it falls silent":      {senses{err: down, well: 1}, "Rex, any tea?", []string{"dog", "tea", "prices"}},
		"it loses something":   {senses{short: true}, "Any pet, or REX?", []string{"dog"}},
		"it has nothing to go": {senses{err: down}, "Any pet?", nil},
	} {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				e := c.embedder
				if got := found(t, newKnowledge(Deps{Embedder: &e}), shop(), c.question); !slices.Equal(got, c.want) {
					t.Errorf("%q finds %q, not %q", c.question, got, c.want)
				}
			}
		})
	}
}

// What is known is asked for its meaning once, in parts; where that breaks off, the next turn goes on.
func TestKnowledgeIsReadOnce(t *testing.T) {
	var many []core.Document
	for i := range 150 {
		many = append(many, core.Document{Name: fmt.Sprint(i), Text: "Something about cows."})
	}
	many[140].Text = "A dog."
	e := &senses{err: errors.New("down"), well: 1}
	k := newKnowledge(Deps{Embedder: e})
	if got := found(t, k, many, "pet"); got != nil || len(e.asked) != 2 {
		t.Errorf("after %d questions it finds %q", len(e.asked), got)
	}
	e.err = nil
	for range 3 {
		if got := found(t, k, many, "pet"); !slices.Equal(got, []string{"140"}) {
			t.Errorf("it finds %q", got)
		}
	}
	var sizes []int
	for _, texts := range e.asked {
		sizes = append(sizes, len(texts))
	}
	if want := []int{64, 64, 64, 22, 1, 1, 1}; !slices.Equal(sizes, want) {
		t.Errorf("it was asked for %d texts, not %d", sizes, want)
	}
}

func TestPassages(t *testing.T) {
	long := strings.Repeat("word ", 50)
	for text, want := range map[string]int{
		"": 0, " \n\n ": 0, "one": 1, "one\n\ntwo": 1, "one\r\n\r\n" + long + "\n\n" + long: 6, strings.Repeat("x", 250): 3, strings.Repeat("ü", 100): 2,
	} {
		got := passages(text, 100)
		if len(got) != want {
			t.Errorf("%.20q: %d passages: %q", text, len(got), got)
		}
		plain := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if plain(strings.Join(got, "")) != plain(text) {
			t.Errorf("%.20q lost something: %q", text, got)
		}
		for _, p := range got {
			if len(p) > 100+len("word ") || p != strings.ToValidUTF8(p, "?") {
				t.Errorf("%.20q: a passage is %q", text, p)
			}
		}
	}
}
