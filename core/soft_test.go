package core_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/access"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
	"parley/internal/subtest"
)

// withSoftLimit gives the next processes a soft limit that each answer exceeds, and two models, of which the second one costs half of the first; or none
// that is cheaper. Olga owns the agent, Ada may let answers go on, and Bob may not.
func (w *harness) withSoftLimit(hard quota.USD, cheaper bool) (dear, cheap *model) {
	return w.withSoftLimits(quota.Limits{Soft: quota.Soft{Total: 1}, Total: quota.Cost{USD: hard}}, cheaper)
}

// withSoftLimits is softly with these limits.
func (w *harness) withSoftLimits(l quota.Limits, cheaper bool) (dear, cheap *model) {
	dear, cheap = w.model, &model{}
	tariff := func(rate quota.Rate) quota.Tariff {
		return quota.Tariff{Price: quota.Price{Rates: quota.Rates{Input: rate, Output: rate}}, Known: true}
	}
	second := tariff(1e6)
	if !cheaper {
		second = tariff(4e6)
	}
	w.cfg.Meter = quota.NewMeter(l, w.Store, w.cfg.Log)
	chain := []llm.Named{{Name: "dear", Model: dear, Fallback: []string{"cheap"}}, {Name: "cheap", Model: cheap}}
	w.cfg.Models = w.cfg.Meter.Models(llm.Models{Large: dear, Chat: chain}, quota.Tariffs{Chat: map[string]quota.Tariff{"dear": tariff(2e6), "cheap": second}})
	w.cfg.Access.Owners, w.cfg.Access.Allowed.Accounts = map[chat.EntityID]bool{"olga": true}, map[chat.EntityID]bool{"ada": true, "bob": true}
	w.cfg.Access.Staff.Accounts = map[chat.EntityID]bool{"ada": true}
	return dear, cheap
}

// labels are the options of a question, without what it costs.
func labels(q chat.Question) (all []string) {
	for _, o := range q.Options {
		all = append(all, strings.SplitN(o, " (", 2)[0])
	}
	return all
}

// Beyond a soft limit, the run waits without its room, also over a restart, and does what was chosen. Only the owner and those who may can
// have the same model go on.
func TestSoftLimitAsks(t *testing.T) {
	for name, c := range map[string]struct {
		asker   chat.EntityID
		options []string
		press   int
		restart bool
		cheap   bool // the second model costs less
		says    string
	}{
		"the owner goes on":        {"olga", []string{"Go on", "Use the cheaper model", "Stop"}, 0, false, true, "Dear."},
		"an approver goes on":      {"ada", []string{"Go on", "Use the cheaper model", "Stop"}, 0, true, true, "Dear."},
		"the cheaper model":        {"ada", []string{"Go on", "Use the cheaper model", "Stop"}, 1, false, true, "Cheap."},
		"the cheaper, restarted":   {"bob", []string{"Use the cheaper model", "Stop"}, 0, true, true, "Cheap."},
		"another one stops":        {"bob", []string{"Use the cheaper model", "Stop"}, 1, false, true, "Okay, I stopped before it cost anything."},
		"without a cheaper model":  {"ada", []string{"Go on", "Stop"}, 0, false, false, "Dear."},
		"stopped without":          {"olga", []string{"Go on", "Stop"}, 1, true, false, "Okay, I stopped before it cost anything."},
		"no option but to stop it": {"bob", nil, 0, false, false, "My owner can let it go on."},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			dear, cheap := w.withSoftLimit(0, c.cheap)
			dear.queue([]step{write("Dear.")})
			cheap.queue([]step{write("Cheap.")})
			n := w.start()
			acc := n.send(w.groupMention(c.asker, "A long story"))
			if c.options == nil {
				if o, said := w.waitAnswer(acc); o.Status != answer.Completed || !strings.HasSuffix(said, c.says) || len(dear.requests())+len(cheap.requests()) > 0 {
					w.Errorf("%+v %q", o, said)
				}
				return
			}
			q := w.waitParked(acc)
			if !slices.Equal(labels(q), c.options) || slices.Contains(q.For, "bob") != (c.asker == "bob") || len(dear.requests())+len(cheap.requests()) > 0 {
				w.Fatalf("it asks %+v", q)
			}
			if shown := w.chat.visible(); len(shown) != 1 || !strings.Contains(shown[0], "would exceed the soft limit of") {
				w.Errorf("people see %q", shown)
			}
			if c.restart {
				n.shutdown()
				time.Sleep(20 * time.Minute) // longer than any turn
				n = w.start()
			}
			if acc := n.deliver(chat.Choice{Question: q.ID, Option: c.press, Room: q.Room, Author: "eve", Name: "Eve"}); acc.Refused == "" {
				w.Error("a stranger can choose")
			}
			n.deliver(chat.Choice{Question: q.ID, Option: c.press, Room: q.Room, Author: c.asker, Name: string(c.asker)})
			if o, said := w.waitAnswer(acc); o.Status != answer.Completed || said != c.says {
				w.Errorf("%+v %q", o, said)
			}
			if acc := n.deliver(chat.Choice{Question: q.ID, Option: 0, Room: q.Room, Author: c.asker}); acc.Refused == "" && c.press != 0 {
				w.Error("the second press was accepted; want it refused")
			}
			if len(dear.requests())+len(cheap.requests()) > 1 || len(w.chat.visible()) != 1 {
				w.Errorf("people see %q", w.chat.visible())
			}
		}))
	}
}

// Simultaneous questions don't exceed a soft limit together: each reserves its cost, also without a hard limit. The reserved amounts
// are given back.
func TestSoftLimitIsReserved(t *testing.T) {
	for name, hard := range map[string]quota.USD{"alone": 0, "with a hard limit": quota.Dollar} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.cfg.Access.Direct = access.DirectOpen
			storyteller := &storyteller{}
			w.withSoftLimits(quota.Limits{Soft: quota.Soft{Total: 10_000_000}, Total: quota.Cost{USD: hard}}, false)
			tariff := quota.Tariff{Price: quota.Price{Rates: quota.Rates{Input: 2e6, Output: 2e6}}, Known: true}
			chain := []llm.Named{{Name: "dear", Model: storyteller}}
			w.cfg.Models = w.cfg.Meter.Models(llm.Models{Large: storyteller, Chat: chain}, quota.Tariffs{Chat: map[string]quota.Tariff{"dear": tariff}})
			n := w.start()
			var all []chat.Accepted
			for i := range 30 {
				who := fmt.Sprint("eve", i)
				all = append(all, n.send(w.message(chat.RoomID("fake/"+who), chat.EntityID(who), "A long story")))
			}
			for _, acc := range all {
				w.waitAnswer(acc)
			}
			synctest.Wait()
			if asked := storyteller.asked.Load(); asked < 1 || asked > 4 { // an answer is estimated at more than $0.002
				w.Errorf("%d of %d passed; want at least 1 and at most 4", asked, len(all))
			}
			if got, want := w.spent("total").USD, quota.USD(storyteller.asked.Load()*200*2000); got != want {
				w.Errorf("%d was spent, not %d", got, want)
			}
		}))
	}
}

// storyteller is a model that takes a minute to answer.
type storyteller struct{ asked atomic.Int64 }

func (s *storyteller) Generate(ctx context.Context, _ llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		s.asked.Add(1)
		select {
		case <-time.After(time.Minute):
			yield(llm.Chunk{Text: "Once.", Usage: &llm.Usage{Prompt: 100, Completion: 100}, Finish: llm.FinishStop}, nil)
		case <-ctx.Done():
			yield(llm.Chunk{}, context.Cause(ctx))
		}
	}
}

// Stopping, a later message and the end of the time end the wait; no model is asked. Who presses then is told that it is over.
func TestSoftLimitIsDenied(t *testing.T) {
	for name, c := range map[string]struct {
		deny   func(n *process, m chat.Message)
		status answer.Status
		says   string
	}{
		"stop":     {func(n *process, m chat.Message) { n.stopAnswer(m.Room) }, answer.Stopped, ""},
		"deleted":  {func(n *process, m chat.Message) { n.remove(m) }, answer.Stopped, ""},
		"the time": {func(*process, chat.Message) { time.Sleep(time.Hour) }, answer.Completed, "No one decided in time, so I stopped before it cost anything."},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			dear, cheap := w.withSoftLimit(0, true)
			n, m := w.start(), w.message(room, "ada", "A long story")
			acc := n.send(m)
			q := w.waitParked(acc)
			c.deny(n, m)
			o, said := w.waitAnswer(acc)
			if o.Status != c.status || c.says != "" && said != c.says || len(dear.requests())+len(cheap.requests()) > 0 {
				w.Errorf("%+v %q", o, said)
			}
			if acc := n.deliver(chat.Choice{Question: q.ID, Option: 0, Room: q.Room, Author: "ada"}); acc.Refused == "" {
				w.Error("a press after the denial was accepted; want it refused")
			}
			synctest.Wait()
			if len(dear.requests()) > 0 {
				w.Error("the dear model was called after the denial; want no call")
			}
		}))
	}
}

// The hard limit holds whatever was chosen.
func TestHardLimitWins(t *testing.T) {
	withHarness(t, func(w *harness) {
		dear, cheap := w.withSoftLimit(2_000_000, true) // a fifth of a cent: not enough for the answer
		n := w.start()
		acc := n.send(w.groupMention("ada", "A long story"+strings.Repeat(" and on", 4000)))
		q := w.waitParked(acc)
		n.deliver(chat.Choice{Question: q.ID, Option: 0, Room: q.Room, Author: "ada"})
		if o, said := w.waitAnswer(acc); !strings.Contains(said, "I've reached my daily limit") || len(dear.requests())+len(cheap.requests()) > 0 {
			t.Errorf("%+v %q", o, said)
		}
	})
}

// What a model used before it failed costs its own price, and what the one used that goes on costs its own.
func TestEachModelAtItsPrice(t *testing.T) {
	withHarness(t, func(w *harness) {
		dear, cheap := w.withSoftLimit(0, true)
		w.cfg.Models.Chat[0].Fallback = []string{"cheap"}
		dear.queue([]step{write("Half"), reported(llm.Usage{Prompt: 1000, Completion: 10}), fails(&llm.Failure{Kind: llm.ProviderIssue, Err: errors.New("cut")})})
		cheap.queue([]step{write("Whole."), reported(llm.Usage{Prompt: 700, Completion: 20})})
		n := w.start()
		acc := n.send(w.groupMention("ada", "A long story"))
		n.deliver(chat.Choice{Question: w.waitParked(acc).ID, Room: group, Author: "ada"})
		w.waitAnswer(acc)
		if got, want := w.spent("total").USD, quota.USD(1010*2000+720*1000); got != want {
			t.Errorf("%s was spent, not %s", got, want)
		}
	})
}
