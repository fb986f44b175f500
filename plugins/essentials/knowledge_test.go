package essentials

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/action"
	"parley/core/chat"
)

// shop is what a character knows.
func shop() []chat.Document {
	return []chat.Document{
		{Name: "hours", Text: "The shop opens at nine and closes at six."},
		{Name: "tea", Text: "The tea in the shop is green. Green tea is made in the pot, and tea is free."},
		{Name: "dog", Text: "The dog of the shop is called Rex and sleeps below the till."},
		{Text: "The shop has a cellar with old maps."},
		{Name: "prices", Text: "Most of what the shop sells is green, and cheaper than tea elsewhere. The rest, which is very old and very rare, is sold once a year by auction."},
		{Name: "日本", Text: "東京の店は九時に開きます。"},
	}
}

// found are the names of the pieces that are told for a question, in order.
func found(t *testing.T, k action.Provider, known []chat.Document, question string) (names []string) {
	t.Helper()
	s := action.TurnContext{Message: chat.Memory{Text: question}}
	s.Agent.Character.Knowledge = known
	f, err := k.Provide(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	text, ok := strings.CutPrefix(f.Text, "# Knowledge about this topic\n")
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
	same := []chat.Document{{Name: "a", Text: "one fox"}, {Name: "b", Text: "one fox"}, {Name: "c", Text: "dog"}, {Name: "d", Text: "cat"}, {Name: "e", Text: "cow"}}
	if got := found(t, newKnowledge(Deps{}), same, "fox"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("of what fits alike it tells %q", got)
	}
	var many []chat.Document
	for i := range 20 {
		many = append(many, chat.Document{Name: fmt.Sprint(i), Text: "sheep"}, chat.Document{Text: "no"}, chat.Document{Text: "no"})
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
			synctest.Test(t, func(t *testing.T) {
				e := c.embedder
				k := working(t, Deps{Embedder: &e})
				found(t, k, shop(), c.question)
				for range 5 {
					synctest.Wait()
					if got := found(t, k, shop(), c.question); !slices.Equal(got, c.want) {
						t.Errorf("%q finds %q, not %q", c.question, got, c.want)
					}
				}
			})
		})
	}
}

// working is knowledge whose work goes on until the test ends.
func working(t *testing.T, d Deps) *knowledge {
	d.Log = slog.New(slog.DiscardHandler)
	k := newKnowledge(d)
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { k.work(ctx) })
	t.Cleanup(func() { stop(); work.Wait() })
	return k
}

// LM-15: the meaning of what is known is asked for once, in parts, whatever fails on the way; until all of it is known, words answer.
func TestKnowledgeIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &slow{senses: senses{err: errors.New("down"), well: 1}}
		k := working(t, Deps{Embedder: e})
		many := cows(150)
		for range 3 {
			if got := found(t, k, many, "dog"); !slices.Equal(got, []string{"140"}) {
				t.Errorf("by words it finds %q", got)
			}
			time.Sleep(time.Hour)
		}
		synctest.Wait()
		e.mu.Lock()
		before := len(e.asked)
		e.err = nil
		e.mu.Unlock()
		if before < 60 || before > 200 {
			t.Errorf("in three hours it was asked %d times", before)
		}
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		for range 3 {
			if got := found(t, k, many, "pet"); !slices.Equal(got, []string{"140"}) {
				t.Errorf("it finds %q", got)
			}
		}
		var sizes []int
		for _, texts := range e.asked[before:] {
			sizes = append(sizes, len(texts))
		}
		if want := []int{1, 2, 4, 8, 16, 32, 23, 1, 1, 1}; !slices.Equal(sizes, want) { // the first 64 were known
			t.Errorf("it was asked for %d texts, not %d", sizes, want)
		}
	})
}

// cows are documents of which number 140 is about a dog.
func cows(n int) (many []chat.Document) {
	for i := range n {
		many = append(many, chat.Document{Name: fmt.Sprint(i), Text: "Something about cows."})
	}
	many[140].Text = "A dog."
	return many
}

// slow is an embedder that takes its time, and heeds its context.
type slow struct {
	senses
	takes time.Duration
	mu    sync.Mutex
}

func (s *slow) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	s.mu.Lock()
	takes := s.takes
	s.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.senses.Embed(ctx, texts)
}

// LM-15: however slow an embedder is, words find something in the same turn, within the provider's time, and meaning as soon as it is
// known.
func TestKnowledgeWithASlowEmbedder(t *testing.T) {
	for _, c := range []struct {
		takes, ready time.Duration // ready is when all of it is known; 0 never
	}{
		{300 * time.Millisecond, 15 * time.Second}, {1100 * time.Millisecond, 40 * time.Second}, {time.Hour, 0},
	} {
		t.Run(c.takes.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := working(t, Deps{Embedder: &slow{takes: c.takes}})
				many := cows(2000)
				ask := func(question string) []string {
					t.Helper()
					begun := time.Now()
					names := found(t, k, many, question)
					if took := time.Since(begun); took >= k.Spec().Limit {
						t.Errorf("%q took %v", question, took)
					}
					return names
				}
				for range 3 {
					if got := ask("Any dog?"); !slices.Equal(got, []string{"140"}) {
						t.Errorf("by words it finds %q", got)
					}
					if got := ask("Any pet?"); got != nil {
						t.Errorf("before it is known it finds %q", got)
					}
					time.Sleep(time.Second)
				}
				time.Sleep(c.ready)
				var want []string
				if c.ready > 0 {
					want = []string{"140"}
				}
				if got := ask("Any pet?"); !slices.Equal(got, want) {
					t.Errorf("by meaning it finds %q", got)
				}
				if got := ask("Any dog?"); !slices.Equal(got, []string{"140"}) {
					t.Errorf("at last it finds %q", got)
				}
			})
		})
	}
}

// LM-15: an embedder that hangs after all was known holds up one question, not each.
func TestEmbedderThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &slow{}
		k := working(t, Deps{Embedder: e})
		many := cows(200)
		found(t, k, many, "dog")
		synctest.Wait()
		e.mu.Lock()
		e.takes = time.Hour
		e.mu.Unlock()
		begun := time.Now()
		for range 5 {
			if got := found(t, k, many, "dog"); !slices.Equal(got, []string{"140"}) {
				t.Errorf("it finds %q", got)
			}
		}
		if took := time.Since(begun); took != questionTime {
			t.Errorf("five questions took %v", took)
		}
		e.mu.Lock()
		e.takes = 0
		e.mu.Unlock()
		time.Sleep(time.Minute)
		if got := found(t, k, many, "pet"); !slices.Equal(got, []string{"140"}) {
			t.Errorf("afterwards it finds %q", got)
		}
	})
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
