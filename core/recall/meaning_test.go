package recall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/backends/sqlite"
	"parley/core/action"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/llm"
	"parley/core/search"
)

// concepts is a synthetic embedder: each of its lines is a direction, and the words of it mean the same.
type concepts struct {
	lines  []string
	broken func(texts []string) error
	asked  []int // the sizes of its batches
}

func (c *concepts) Embed(_ context.Context, texts []string) (all [][]float32, err error) {
	c.asked = append(c.asked, len(texts))
	if c.broken != nil {
		if err := c.broken(texts); err != nil {
			return nil, err
		}
	}
	for _, t := range texts {
		v := make([]float32, len(c.lines)+1)
		v[len(c.lines)] = 0.1
		for i, line := range c.lines {
			for _, w := range search.Words(t) {
				if slices.Contains(strings.Fields(line), w) {
					v[i]++
				}
			}
		}
		all = append(all, v)
	}
	return all, nil
}

func pets() *concepts {
	return &concepts{lines: []string{"kitten cat pet tomcat", "name called answers call", "train rail station"}}
}

// shop is a store with messages.
type shop struct {
	*sqlite.Store
	t *testing.T
	n int
}

func newShop(t *testing.T) *shop {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &shop{s, t, 0}
}

func (s *shop) hears(text string) chat.Memory {
	s.n++
	m := chat.Memory{ID: chat.MemoryID(fmt.Sprint(s.n)), Room: "room", Author: "ada", Name: "Ada", Text: text, At: time.Now()}
	if _, err := s.Accept(s.t.Context(), chat.Message{Memory: m, Place: chat.Room{ID: "room", Kind: chat.Direct}}, chat.JoinRule{}); err != nil {
		s.t.Fatal(err)
	}
	return m
}

// working runs the background work of a plugin for a while.
func (s *shop) working(d Deps, lasts time.Duration) action.Plugin {
	d.Store, d.Log = s, slog.New(slog.DiscardHandler)
	p := New(d)
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); p.Work(ctx) }()
	synctest.Wait()
	p.Observers[0].Observe(event.MessageReceived{})
	time.Sleep(lasts)
	cancel()
	<-ended
	return p
}

func (s *shop) recalls(p action.Plugin, question string) string {
	s.t.Helper()
	m := s.hears(question)
	turn := turn(chat.Direct, question)
	turn.Message, turn.Recent, turn.Answered = m, []chat.Memory{m}, []chat.MemoryID{m.ID}
	result, err := p.Providers[0].Provide(s.t.Context(), turn)
	if err != nil {
		s.t.Fatal(err)
	}
	return result.Text
}

const catFact, catQuestion = "Our kitten answers to Miso", "How is the tomcat called?"

// Synthetic: a message is found that shares no word with the question. A failing embedder falls back to words.
func TestRecallByMeaning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := newShop(t), pets()
		s.hears(catFact)
		s.hears("The train was late again")
		p := s.working(Deps{Embedder: e, Model: "pets"}, time.Minute)
		if got := s.recalls(p, catQuestion); !strings.Contains(got, catFact) || strings.Contains(got, "train") {
			t.Errorf("by meaning it recalls %q", got)
		}
		e.broken = func([]string) error { return errors.New("down") }
		if got := s.recalls(p, catQuestion); strings.Contains(got, catFact) {
			t.Errorf("without an embedder it recalls %q", got)
		}
		if got := s.recalls(p, "What was with the train?"); !strings.Contains(got, "train was late") {
			t.Errorf("by words it recalls %q", got)
		}
		asked := len(e.asked)
		s.recalls(p, catQuestion)
		if len(e.asked) != asked {
			t.Error("an embedder that has just failed is asked again")
		}
		e.broken = nil
		time.Sleep(questionRest)
		if got := s.recalls(p, catQuestion); !strings.Contains(got, catFact) {
			t.Errorf("when it is back it recalls %q", got)
		}
	})
}

// The embedder that hangs does not hold up a turn for longer than the time of a question.
func TestHangingEmbedder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		s.hears("The train was late again")
		s.working(Deps{}, time.Minute)
		p := New(Deps{Store: s, Embedder: hangs{}, Model: "m", Log: slog.New(slog.DiscardHandler)})
		began := time.Now()
		if got := s.recalls(p, "Which train?"); !strings.Contains(got, "late") || time.Since(began) > questionTime {
			t.Errorf("after %v it recalls %q", time.Since(began), got)
		}
	})
}

type hangs struct{}

func (hangs) Embed(ctx context.Context, _ []string) ([][]float32, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Messages are embedded in batches. What fails is tried again with fewer; a text that the model does not take holds up no other, and a
// changed model embeds all again.
func TestEveryMessageIsEmbedded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e, fails := newShop(t), pets(), 3
		for i := range 200 {
			s.hears(fmt.Sprint("the kitten number ", i))
		}
		e.broken = func(texts []string) error {
			if slices.Contains(texts, "the kitten number 77") {
				return &llm.Failure{Kind: llm.PromptTooLong, Err: errors.New("too long")}
			}
			if fails--; fails >= 0 {
				return errors.New("down")
			}
			return nil
		}
		waiting := func(model string) int {
			all, err := s.Unembedded(t.Context(), model, 1000)
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}
		s.working(Deps{Embedder: e, Model: "one"}, time.Hour)
		if n := waiting("one"); n != 0 || e.asked[0] != together || e.asked[1] >= together {
			t.Errorf("%d wait; the batches were %v", n, e.asked)
		}
		e.broken, e.asked = nil, nil
		s.working(Deps{Embedder: e, Model: "two"}, time.Minute)
		if n := waiting("two"); n != 0 || len(e.asked) != 4 {
			t.Errorf("of the other model %d wait; the batches were %v", n, e.asked)
		}
	})
}

// Messages from before there was an embedder are embedded only on request.
func TestBackfill(t *testing.T) {
	for _, backfill := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop(t)
			s.hears(catFact)
			s.working(Deps{}, time.Minute)
			p := s.working(Deps{Embedder: pets(), Model: "pets", Backfill: backfill}, time.Minute)
			if got := s.recalls(p, catQuestion); strings.Contains(got, catFact) != backfill {
				t.Errorf("with backfill %v it recalls %q", backfill, got)
			}
		})
	}
}
