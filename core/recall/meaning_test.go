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
	"parley/core/quota"
	"parley/internal/require"
	"parley/models/modelfake"
)

// concepts is a synthetic embedder that can fail.
type concepts struct {
	modelfake.Concepts
	broken func(texts []string) error
	asked  []int // the sizes of its batches
}

func (c *concepts) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	c.asked = append(c.asked, len(texts))
	if c.broken != nil {
		if err := c.broken(texts); err != nil {
			return nil, err
		}
	}
	return c.Concepts.Embed(ctx, texts)
}

func pets() *concepts {
	return &concepts{Concepts: modelfake.Concepts{"kitten cat pet tomcat", "name called answers call", "train rail station"}}
}

// shop is a store with messages.
type shop struct {
	*sqlite.Store
	t    *testing.T
	n    int
	file string // with each message
}

func newShop(t *testing.T) *shop {
	s := require.Value(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), sqlite.Options{}))(t)
	t.Cleanup(func() { _ = s.Close() })
	return &shop{Store: s, t: t}
}

func (s *shop) hears(text string) chat.Memory {
	s.n++
	m := chat.Memory{ID: chat.MemoryID(fmt.Sprint(s.n)), Room: "room", Author: "ada", Name: "Ada", Text: text, At: time.Now()}
	if s.file != "" {
		m.Files = []chat.Attachment{{Name: s.file}}
	}
	if _, err := s.Accept(s.t.Context(), chat.Message{Memory: m, Place: chat.Room{ID: "room", Kind: chat.Direct}}, chat.JoinRule{}); err != nil {
		s.t.Fatal(err)
	}
	return m
}

// working runs the background work of a plugin for a while.
func (s *shop) working(d Deps, lasts time.Duration) action.Plugin { return s.workingOn(s, d, lasts) }

func (s *shop) workingOn(store Store, d Deps, lasts time.Duration) action.Plugin {
	d.Store, d.Log = store, slog.New(slog.DiscardHandler)
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
	result := require.Value(p.Providers[0].Provide(s.t.Context(), turn))(s.t)
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
			t.Errorf(`by meaning it recalls %q; want it to contain %q and it without "train"`, got, catFact)
		}
		asked := len(e.asked)
		if s.recalls(p, catQuestion); len(e.asked) != asked {
			t.Error("the same question is embedded again")
		}
		const question = "How is the pet called?"
		e.broken = func([]string) error { return errors.New("down") }
		if got := s.recalls(p, question); strings.Contains(got, catFact) {
			t.Errorf("without an embedder it recalls %q; want it without %q", got, catFact)
		}
		if got := s.recalls(p, "What was with the train?"); !strings.Contains(got, "train was late") {
			t.Errorf(`by words it recalls %q; want it to contain "train was late"`, got)
		}
		asked = len(e.asked)
		s.recalls(p, question)
		if len(e.asked) != asked {
			t.Error("an embedder that has just failed was asked again; want a pause")
		}
		e.broken = nil
		time.Sleep(questionRest)
		if got := s.recalls(p, question); !strings.Contains(got, catFact) {
			t.Errorf("when it is back it recalls %q; want it to contain %q", got, catFact)
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
		s.file = "cat.jpg"
		s.hears("")
		s.file = ""
		e.broken = func(texts []string) error {
			if slices.Contains(texts, "the kitten number 77") {
				return &llm.Failure{Kind: llm.PromptTooLong, Err: errors.New("too long")}
			}
			if slices.Contains(texts, "the kitten number 99") {
				return &llm.Failure{Kind: llm.ProviderIssue, Err: errors.New("unsafe")}
			}
			if slices.Contains(texts, "") {
				return errors.New("empty")
			}
			if fails--; fails >= 0 {
				return errors.New("down")
			}
			return nil
		}
		waiting := func(model string) int {
			all := require.Value(s.Unembedded(t.Context(), model, 1000))(t)
			return len(all)
		}
		s.working(Deps{Embedder: e, Model: "one"}, time.Hour)
		if n := waiting("one"); n != 0 || e.asked[0] != together || e.asked[1] >= together {
			t.Errorf("%d wait; the batches were %v", n, e.asked)
		}
		e.broken, e.asked = nil, nil
		s.working(Deps{Embedder: e, Model: "two"}, time.Minute)
		if n := waiting("two"); n != 0 || len(e.asked) != 4 {
			t.Errorf("of the other model %d wait; the batches were %v; want none and 4", n, e.asked)
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

// Messages that were never indexed, because recall was off or the program is new, are earlier ones too.
func TestNeverIndexed(t *testing.T) {
	for _, backfill := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop(t)
			s.hears(catFact)
			time.Sleep(recent + time.Hour)
			p := s.working(Deps{Embedder: pets(), Model: "pets", Backfill: backfill}, time.Minute)
			if got := s.recalls(p, catQuestion); strings.Contains(got, catFact) != backfill {
				t.Errorf("with backfill %v it recalls %q", backfill, got)
			}
			if got := s.recalls(p, "Where is the kitten?"); !strings.Contains(got, catFact) {
				t.Errorf("by words, with backfill %v, it recalls %q; want it to contain %q", backfill, got, catFact)
			}
		})
	}
}

// claiming is a store whose messages are left to the replica that asks for their vectors, until it gives them back.
type claiming struct {
	*shop
	claimed map[chat.Ticket]bool
	deaf    time.Time // until then another replica has all of them
}

func (c *claiming) Unembedded(ctx context.Context, model string, limit int) (free []chat.Unembedded, err error) {
	all, err := c.shop.Unembedded(ctx, model, 1000)
	for _, u := range all {
		if !c.claimed[u.Ticket] && len(free) < limit && time.Now().After(c.deaf) {
			c.claimed[u.Ticket] = true
			free = append(free, u)
		}
	}
	return free, err
}

func (c *claiming) ReleaseUnembedded(_ context.Context, tickets []chat.Ticket) error {
	for _, t := range tickets {
		delete(c.claimed, t)
	}
	return nil
}

// What fails is given back, so that it is tried again, with fewer at a time; also what another replica left when it died.
func TestFailedBatchIsTriedAgain(t *testing.T) {
	for what, fails := range map[string]int{"failures": 3, "a replica that died": 0} {
		synctest.Test(t, func(t *testing.T) {
			s, e := newShop(t), pets()
			c := &claiming{s, map[chat.Ticket]bool{}, time.Time{}}
			if fails == 0 {
				c.deaf = time.Now().Add(5 * time.Minute)
			}
			for i := range 10 {
				s.hears(fmt.Sprint("the kitten number ", i))
			}
			e.broken = func([]string) error {
				if fails--; fails >= 0 {
					return errors.New("down")
				}
				return nil
			}
			s.workingOn(c, Deps{Embedder: e, Model: "m"}, time.Hour)
			if left, err := s.Unembedded(t.Context(), "m", 100); err != nil || len(left) > 0 {
				t.Errorf("after %s %d wait, %v; the batches were %v; want none", what, len(left), err, e.asked)
			}
		})
	}
}

// Embeddings count towards the limits. When they are reached, words are searched, and the messages are embedded the next day.
func TestEmbeddingsWithinTheLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := newShop(t), pets()
		meter := quota.NewMeter(quota.Limits{Total: quota.Cost{Tokens: 500}}, s, slog.New(slog.DiscardHandler))
		d := Deps{Embedder: meter.Models(llm.Models{Embedder: e}, quota.Tariffs{}).Embedder, Model: "m"}
		s.hears(catFact)
		for i := range 100 {
			s.hears(fmt.Sprint("The train number ", i, " was late again, and it is unclear why"))
		}
		p := s.working(d, time.Minute)
		embedded := 0
		for _, n := range e.asked {
			embedded += n
		}
		if embedded == 0 || embedded > 50 {
			t.Errorf("with 500 tokens %d messages are embedded", embedded)
		}
		if got := s.recalls(p, "What did the kitten do?"); !strings.Contains(got, catFact) {
			t.Errorf("at the limit it recalls %q; want it to contain %q", got, catFact)
		}
	})
}
