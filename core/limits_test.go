package core_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
	"parley/internal/require"
	"parley/internal/subtest"
)

// withLimits runs a test in which so much may be spent. It begins ten minutes before midnight.
func withLimits(t *testing.T, l quota.Limits, play func(*harness, *process)) {
	t.Helper()
	withHarness(t, func(w *harness) {
		w.cfg.Access.Direct = access.DirectOpen
		w.setLimits(l, w.Store)
		now := time.Now().In(zoneOf(l))
		time.Sleep(time.Date(now.Year(), now.Month(), now.Day(), 23, 50, 0, 0, now.Location()).Sub(now))
		play(w, w.start())
	})
}

func zoneOf(l quota.Limits) *time.Location {
	if l.Zone == nil {
		return time.UTC
	}
	return l.Zone
}

func (w *harness) setLimits(l quota.Limits, ledger quota.UsageStore) {
	w.cfg.Meter = quota.NewMeter(l, ledger, w.cfg.Log)
	w.cfg.Models = w.cfg.Meter.Models(llm.Models{Large: w.model}, quota.Tariffs{})
}

// spent is what a bucket has of today.
func (w *harness) spent(bucket string) quota.Cost {
	w.Helper()
	c := require.Value(w.Store.Spent(w.Context(), time.Now().UTC().Format(time.DateOnly), bucket))(w)
	return c
}

// used is a usage that the model reports.
func used(prompt, completion int) step {
	return func(context.Context) (*llm.Chunk, error) {
		return &llm.Chunk{Usage: &llm.Usage{Prompt: prompt, Completion: completion}}, nil
	}
}

// SE-10: who has had enough messages reads so once, then nothing, and costs no call of the model; others go on. The next
// day starts again.
func TestLimitOfMessages(t *testing.T) {
	withLimits(t, quota.Limits{Person: quota.Cost{Messages: 2}}, func(w *harness, n *process) {
		for range 2 {
			if said := n.chatAs("ada", "Hello"); said != "You said: Hello" {
				t.Errorf(`within the limit she reads %q; want "You said: Hello"`, said)
			}
		}
		if said := n.chatAs("ada", "Hello"); said != "You've reached your daily limit. It resets in 10 minutes." {
			t.Errorf(`over the limit she reads %q; want "You've reached your daily limit. It resets in 10 minutes."`, said)
		}
		for range 3 {
			if said := n.chatAs("ada", "Hello"); said != "" {
				t.Errorf("then she reads %q; want none", said)
			}
		}
		if said := n.chatAs("bob", "Hello"); said != "You said: Hello" {
			t.Errorf(`another user reads %q; want "You said: Hello"`, said)
		}
		w.wantModelCalls(3)
		time.Sleep(10 * time.Minute)
		if said := n.chatAs("ada", "Hello"); said != "You said: Hello" {
			t.Errorf(`the next day she reads %q; want "You said: Hello"`, said)
		}
	})
}

// The limit of a room is for all who write there, that of all for everybody, and the day begins where the owner says.
func TestLimitsOfRoomAndTotal(t *testing.T) {
	east := time.FixedZone("east", 3*3600)
	withLimits(t, quota.Limits{Room: quota.Cost{Messages: 2}, Total: quota.Cost{Messages: 3}, Zone: east}, func(w *harness, n *process) {
		in := func(where string, who chat.EntityID) string {
			acc := n.send(w.message(chat.RoomID("fake/"+where), who, "Hello"))
			_, said := w.waitAnswer(acc)
			return said
		}
		for i, c := range []struct {
			where string
			who   chat.EntityID
			want  string
		}{
			{"a", "ada", "You said"}, {"a", "bob", "You said"}, {"a", "eve", "This chat has reached its daily limit. It resets in 10 minutes"},
			{"b", "eve", "You said"}, {"b", "bob", "I've reached my daily limit."}, {"c", "bob", ""},
		} {
			if said := in(c.where, c.who); !strings.Contains(said, c.want) || (said == "") != (c.want == "") {
				t.Errorf("%d: %s in %s reads %q", i, c.who, c.where, said)
			}
		}
		time.Sleep(10 * time.Minute)
		if said := in("a", "ada"); said != "You said: Hello" {
			t.Errorf(`after midnight: %q; want "You said: Hello"`, said)
		}
	})
}

// LM-12: what was reported counts, else an estimate; what a call may need is reserved before it.
func TestLimitOfTokens(t *testing.T) {
	withLimits(t, quota.Limits{Person: quota.Cost{Tokens: 3000}}, func(w *harness, n *process) {
		var while quota.Cost
		look := func(context.Context) (*llm.Chunk, error) { while = w.spent("person/ada"); return nil, nil }
		w.model.queue([]step{look, write("A word."), used(100, 11)})
		n.chatAs("ada", "Hello")
		if got := w.spent("person/ada").Tokens; got != 111 || while.Tokens < 1000 {
			t.Errorf("%d tokens were spent; %d while the model spoke; want 111 and at least 1000", got, while.Tokens)
		}
		w.model.queue([]step{write(strings.Repeat("word ", 300))})
		n.chatAs("ada", "Hello")
		if got := w.spent("person/ada").Tokens - 111; got < 500 || got > 600 {
			t.Errorf("1500 bytes count for %d tokens; want at least 500 and at most 600", got)
		}
		w.model.queue([]step{write("Much."), used(100, 5000)})
		n.chatAs("ada", "Hello")
		if got := w.spent("person/ada").Tokens; got < 5600 {
			t.Errorf("more than was reserved is lost: %d", got)
		}
		if said := n.chatAs("ada", "Hello"); !strings.HasPrefix(said, "You've reached your daily limit.") {
			t.Errorf(`over the limit she reads %q; want it to begin with "You've reached your daily limit."`, said)
		}
		w.wantModelCalls(3)
	})
}

// LM-12: the limit is asked before each step. An answer that it breaks off says so, and keeps what it has.
func TestLimitBetweenSteps(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.setLimits(quota.Limits{Total: quota.Cost{Tokens: 2500}}, w.Store)
		w.cfg.Plugins = []action.Plugin{{Name: "test", Actions: []action.Action{&fakeAction{name: "ROLL"}}}}
		n := w.start()
		w.model.queue([]step{write("I roll."), call(0, "1", "ROLL", "{}"), used(1000, 1300)}, []step{write("never")})
		said := n.chatAs("ada", "Hello")
		if !strings.HasPrefix(said, "I roll.") || !strings.Contains(said, "I've reached my daily limit.") {
			t.Errorf(`she reads %q; want it to begin with "I roll." and it to contain "I've reached my daily limit."`, said)
		}
		w.wantModelCalls(1)
	})
}

// SE-10: many who write at once share what there is. Nothing is reserved beyond it.
func TestLimitOfManyAtOnce(t *testing.T) {
	withLimits(t, quota.Limits{Total: quota.Cost{Tokens: 13_000}}, func(w *harness, n *process) {
		defer func() { w.model = &model{} }() // calls for one room, as far as the harness knows
		w.model.respond = func(llm.Request) []step { return []step{pause(time.Minute), write("Done."), used(10, 1)} }
		var all []chat.Accepted
		for i := range 8 {
			who := chat.EntityID(fmt.Sprint("guest", i))
			all = append(all, n.send(w.message(chat.RoomID("fake/"+who), who, "Hello")))
		}
		synctest.Wait()
		if asked, got := len(w.model.requests()), w.spent("total").Tokens; asked != 4 || got > 13_000 {
			t.Errorf("%d calls at once have reserved %d tokens; want 4 and at most 13_000", asked, got)
		}
		for _, acc := range all {
			w.waitAnswer(acc)
		}
		if got := w.spent("total").Tokens; got != 44 {
			t.Errorf("%d tokens were spent; want 44", got)
		}
	})
}

// LM-12: whatever ends a call, what it took is counted; where no user knows, what was reserved.
func TestLimitCountsHoweverItEnds(t *testing.T) {
	failure := &llm.Failure{Kind: llm.ProviderIssue, Err: errors.New("500")}
	for name, c := range map[string]struct {
		script   []step
		end      func(*process)
		min, max int
	}{
		"refused":        {[]step{fails(failure)}, nil, 5, 100},
		"broken off":     {[]step{write("A word."), fails(failure)}, nil, 1000, 1100},
		"broken":         {[]step{write("A word."), panics()}, nil, 1000, 1100},
		"stopped":        {[]step{write("A word."), pause(time.Hour)}, func(n *process) { n.stopAnswer(room) }, 1000, 1100},
		"stalled":        {[]step{write("A word."), pause(time.Hour)}, func(*process) { time.Sleep(time.Minute + 16*time.Second) }, 1000, 1100},
		"thinking, then": {[]step{alive(), alive(), alive(), write("Done.")}, nil, 10, 100},
	} {
		t.Run(name, func(t *testing.T) {
			withLimits(t, quota.Limits{Total: quota.Cost{Tokens: 10_000}}, func(w *harness, n *process) {
				w.model.queue(c.script)
				acc := n.sendText("Hello")
				synctest.Wait()
				if c.end != nil {
					c.end(n)
				}
				w.waitAnswer(acc)
				if got := w.spent("total").Tokens; got < c.min || got > c.max {
					t.Errorf("%d tokens were spent; want %d to %d", got, c.min, c.max)
				}
			})
		})
	}
}

// downLedger is a store whose ledger is out of reach.
type downLedger struct{ quota.UsageStore }

func (downLedger) Reserve(context.Context, string, quota.Reservation, ...quota.Charge) (int, string, error) {
	return 0, "", errors.New("the ledger is out of reach")
}

func (downLedger) Spend(context.Context, string, ...quota.Charge) (string, error) {
	return "", errors.New("the ledger is out of reach")
}

// Without the ledger nothing is spent: people read that something went wrong.
func TestLimitFailsClosed(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.setLimits(quota.Limits{Total: quota.Cost{Tokens: 10_000}}, downLedger{w.Store})
		n := w.start()
		if o, said := w.waitAnswer(n.sendText("Hello")); o.Status != answer.Failed || said == "" || strings.Contains(said, "ledger") {
			t.Errorf("it ended as %+v with %q", o, said)
		}
		w.wantModelCalls(0)
	})
}

// Who pays is said by the address, where that is not the author (SE-10).
func TestLimitOfPayer(t *testing.T) {
	withLimits(t, quota.Limits{Person: quota.Cost{Messages: 1}}, func(w *harness, n *process) {
		var said []string
		for _, who := range []chat.EntityID{"guest1", "guest2"} {
			m := w.message(chat.RoomID("fake/"+who), who, "Hello")
			m.Address.BilledTo = "somewhere"
			_, text := w.waitAnswer(n.send(m))
			said = append(said, text)
		}
		if said[0] != "You said: Hello" || !strings.HasPrefix(said[1], "You've reached your daily limit") {
			t.Errorf("they read %q", said)
		}
	})
}

// The question whether to answer costs too, and is not asked over the limit.
func TestLimitOfOverheard(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.setLimits(quota.Limits{Total: quota.Cost{Tokens: 1500}}, w.Store)
		w.cfg.Access.Group = access.GroupAmbient
		n := w.start()
		w.model.respond = func(llm.Request) []step { return []step{write("IGNORE"), used(1200, 100)} }
		for range 3 {
			w.wantAnswer(n.send(w.message(group, "ada", "It rains.")), answer.Ignored, "")
		}
		w.wantModelCalls(1)
	})
}

// paid is a chooser whose choice costs something.
type paid struct{ model llm.Model }

func (paid) Name() string { return "paid" }

func (p paid) Chosen(ctx context.Context, _ chat.Question) (says string, err error) {
	for c, err := range p.model.Generate(ctx, llm.Request{}) {
		if err != nil {
			return "", err
		}
		says += c.Text
	}
	return says, nil
}

// SE-16: who pays follows from who triggered the run: the one who pressed a button, whether its chooser calls a model or it is
// answered like a message; the one who wrote the option; the one who gave /retry.
func TestWhoTriggersPays(t *testing.T) {
	for name, c := range map[string]struct {
		chooser string
		trigger func(n *process, q chat.Question) chat.Accepted
		payer   string
	}{
		"a button": {"paid", func(n *process, q chat.Question) chat.Accepted {
			return n.deliver(chat.Choice(pressed(q, 1).by("bob")))
		}, "bob"},
		"a button from an address": {"paid", func(n *process, q chat.Question) chat.Accepted {
			p := chat.Choice(pressed(q, 1).by("bob"))
			p.BilledTo = "somewhere"
			return n.deliver(p)
		}, "somewhere"},
		"a button that is a message": {action.AsMessage, func(n *process, q chat.Question) chat.Accepted {
			p := chat.Choice(pressed(q, 1).by("bob"))
			p.BilledTo = "somewhere"
			return n.deliver(p)
		}, "somewhere"},
		"an option in words": {"paid", func(n *process, q chat.Question) chat.Accepted {
			m := n.h.message(q.Room, "bob", "2")
			m.Addressed, m.Address.BilledTo = true, "somewhere"
			return n.send(m)
		}, "somewhere"},
		"/retry": {"paid", func(n *process, q chat.Question) chat.Accepted {
			m := n.h.message(q.Room, "bob", "/retry")
			m.Addressed = true
			return n.send(m)
		}, "bob"},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.setLimits(quota.Limits{Person: quota.Cost{Messages: 100}}, w.Store)
			w.cfg.Access.Allowed.Accounts["bob"] = true
			w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{Name: "paid", ChoiceHandlers: []action.ChoiceHandler{paid{w.cfg.Models.Large}}})
			n := w.start()
			hello := w.message(group, "ada", "Hello")
			hello.Addressed = true
			w.waitAnswer(n.send(hello))
			before := w.spent("person/ada")
			asked := n.sendNotice(chat.Notice{To: chat.Address{Room: group, ReplyTo: hello.ID}, Text: "Which?", Ask: &chat.Question{
				Options: []string{"Red", "Blue"}, For: []chat.EntityID{"bob"}, Handler: c.chooser,
			}})
			w.waitAnswer(asked)
			w.waitAnswer(c.trigger(n, w.question(asked)))
			if got := w.spent("person/ada"); got != before {
				w.Errorf("Ada pays: %+v after %+v", got, before)
			}
			if got := w.spent("person/" + c.payer); got.Tokens == 0 {
				w.Errorf("%s pays %+v", c.payer, got)
			}
			w.chat.forgetSeen() // the message of the question says more after its run has ended
		}))
	}
}
