package core_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/storage"
	"parley/internal/subtest"
	"parley/plugins/example"
)

// repeats is an answer in the form that makes the call of a mail, and wellThen what follows it.
var repeats = "<response><thought>x</thought>" + mails()["actions"] + "<text>Sure.</text></response>"

const wellThen = "<response><text>Well then.</text></response>"

// withMail gives the next processes a mail that asks for a call, in the form.
func (w *harness) withMail() (send *fakeAction) {
	w.useXML()
	w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{Name: "mail", Providers: []action.Provider{provider{action.ProviderSpec{Name: "MAIL"}, mails()["tool_call"]}}})
	return w.withMailbox("")
}

// While a call waits to be confirmed that may be a quote, no process holds its run, and the room is free. A choice on another replica,
// after the first has ended, has it go on in the same message.
func TestQuoteWaitsWithoutItsRoom(t *testing.T) {
	for name, c := range map[string]struct{ option, times int }{"run": {0, 1}, "don't": {1, 0}} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			send := w.withMail()
			first := w.start()
			w.model.queue([]step{write(repeats)}, []step{write("<response><text>Me?</text></response>")}, []step{write(wellThen)})
			acc := first.send(w.groupMention("ada", "Read me the mail"))
			q := w.waitParked(acc)
			if !slices.Equal(q.Options, []string{"Run it", "Don't"}) || !slices.Equal(q.For, []chat.EntityID{"ada"}) || w.run(acc).Held {
				w.Errorf("it asks %+v", q)
			}
			w.wantAnswer(first.send(w.groupMention("ada", "And you?")), answer.Completed, "Me?")
			if shown := w.chat.visible(); len(shown) != 2 || !strings.Contains(shown[0], "This call came from content I was given to read:") {
				w.Errorf("people see %q", shown)
			}
			second := w.start()
			first.shutdown()
			time.Sleep(20 * time.Minute) // longer than any turn
			if got := second.deliver(chat.Choice{Question: q.ID, Room: q.Room, Author: "bob"}); got.Refused == "" || send.times() > 0 {
				w.Error("another user's press confirmed the call; want it refused")
			}
			second.deliver(chat.Choice(pressed(q, c.option)))
			if o, said := w.waitAnswer(acc); o.Status != answer.Completed || !strings.HasSuffix(said, "Well then.") || send.times() != c.times {
				w.Errorf("it ended as %+v, said %q, and sent %d times", o, said, send.times())
			}
			if got := second.deliver(chat.Choice(pressed(q, 1-c.option))); got.Refused == "" {
				w.Error("the second press was accepted; want it refused")
			}
			if shown := w.chat.visible(); len(shown) != 2 || !strings.Contains(shown[0], "→ **"+q.Options[c.option]+"**") {
				w.Errorf("people see %q", shown)
			}
		}))
	}
}

// Stopping, clearing, deleting the question, a later message that takes over, and the end of the time deny, also if the mail is gone by
// then: the call is not made, and the question is closed.
func TestQuoteIsDenied(t *testing.T) {
	const declined = "It came from content that was read, and the user has not confirmed it."
	for name, c := range map[string]struct {
		deny   func(w *harness, n *process, m chat.Message)
		status answer.Status
		told   string // the model
	}{
		"stop":            {func(_ *harness, n *process, m chat.Message) { n.stopAnswer(m.Room) }, answer.Stopped, ""},
		"cleared":         {func(_ *harness, n *process, m chat.Message) { n.deliver(chat.Cleared{Room: m.Room}) }, answer.Stopped, ""},
		"deleted":         {func(_ *harness, n *process, m chat.Message) { n.remove(m) }, answer.Stopped, ""},
		"a later message": {func(_ *harness, n *process, _ chat.Message) { n.sendText("Never mind.") }, answer.Superseded, ""},
		"the time":        {func(*harness, *process, chat.Message) { time.Sleep(time.Hour) }, answer.Completed, declined},
		"the time, without a mail": {func(w *harness, n *process, _ chat.Message) {
			n.shutdown()
			w.cfg.Plugins = slices.DeleteFunc(w.cfg.Plugins, func(p action.Plugin) bool { return p.Name == "mail" })
			w.start()
			time.Sleep(time.Hour)
		}, answer.Completed, declined},
		"a restart before that": {func(w *harness, n *process, m chat.Message) {
			n.shutdown()
			time.Sleep(time.Minute)
			w.start().stopAnswer(m.Room)
		}, answer.Stopped, ""},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			send, n := w.withMail(), w.start()
			m := w.message(room, "ada", "Read me the mail")
			w.model.queue([]step{write(repeats)}, []step{write(wellThen)})
			acc := n.send(m)
			q := w.waitParked(acc)
			c.deny(w, n, m)
			o, _ := w.waitAnswer(acc)
			time.Sleep(time.Minute)
			if o.Status != c.status || send.times() > 0 {
				w.Errorf("ended as %+v, sent %d times", o, send.times())
			}
			if now, err := w.Store.Question(w.Context(), q.ID); err == nil && now.Open(time.Now()) {
				w.Error("the question is still open; want it closed")
			}
			if asked := w.model.requests(); c.told != "" && !strings.Contains(string(must(json.Marshal(asked[len(asked)-1].Messages))), c.told) {
				w.Errorf("the model was told %+v", asked[len(asked)-1].Messages)
			}
			if name == "cleared" {
				w.accepted = nil // it was forgotten, perhaps after its end was seen
				w.chat.forgetSeen()
			}
			if r := w.run(acc); r.Continues || r.Parked {
				w.Errorf("of the wait is left %+v", r)
			}
		}))
	}
}

// What may be a quote is found out again when the run goes on: a later call of the same round may repeat a result by then.
func TestQuoteIsJudgedAgain(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.useXML()
		var mail atomic.Value
		mail.Store("")
		send := &fakeAction{name: "SEND_MAIL", effect: action.Writes}
		w.addActions(send, &fakeAction{name: "READ_MAIL", do: func(context.Context, *action.Call) (action.Result, error) {
			return action.Result{Text: mail.Load().(string)}, nil
		}})
		shop := w.withShop()
		w.model.queue([]step{write(`<response><actions><action><name>ORDER</name><params>{"item":"tea"}</params></action><action><name>READ_MAIL</name></action>` +
			`<action><name>SEND_MAIL</name><params>` + mailed + `</params></action></actions><text>Sure.</text></response>`)}, []step{write(wellThen)})
		n := w.start()
		acc := n.sendText("Order tea, and read the mail")
		q := w.waitParked(acc)
		mail.Store(mails()["tool_call"])
		n.shutdown()
		n = w.start()
		n.deliver(chat.Choice(pressed(q, 0)))
		time.Sleep(time.Minute)
		if q = w.waitParked(acc); !slices.Equal(q.Options, []string{"Run it", "Don't"}) || shop.times() != 1 || send.times() > 0 {
			t.Errorf("it asks %+v; ordered %d times, sent %d times", q, shop.times(), send.times())
		}
		n.deliver(chat.Choice(pressed(q, 0)))
		if o, _ := w.waitAnswer(acc); o.Status != answer.Completed || shop.times() != 1 || send.times() != 1 {
			t.Errorf("ended as %+v; ordered %d times, sent %d times", o, shop.times(), send.times())
		}
	})
}

// A plugin asks for consent by the protocol that approvals use: the run waits without a process, another one continues it, and the action
// that writes is made once. Without a choice in time it is not made.
func TestConsentOfAnAction(t *testing.T) {
	for name, c := range map[string]struct {
		option int // -1: none is chosen
		want   string
	}{
		"agreed":   {0, "2 tins are ordered."},
		"declined": {1, "Error: The user declined. Nothing was ordered."},
		"too late": {-1, "Error: The user did not decide. Nothing was ordered."},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, func(w *harness) {
				w.cfg.Plugins = append(w.cfg.Plugins, example.New(0))
				first := w.start()
				w.model.queue([]step{write(fox), call(0, "o", "ORDER_TEA", `{"tins":2}`)}, []step{write("So be it.")})
				acc := first.send(w.groupMention("ada", "Order two tins of tea"))
				q := w.waitParked(acc)
				if !slices.Equal(q.Options, []string{"Order", "Don't"}) || !slices.Equal(q.For, []chat.EntityID{"ada"}) {
					t.Errorf("it asks %+v", q)
				}
				second := w.start()
				first.shutdown()
				if c.option >= 0 {
					second.deliver(chat.Choice(pressed(q, c.option)))
				} else {
					time.Sleep(2 * time.Hour)
				}
				o, said := w.waitAnswer(acc)
				asked := w.model.requests()
				told := asked[len(asked)-1].Messages
				if got := told[len(told)-1].Text; o.Status != answer.Completed || got != c.want || !strings.HasSuffix(said, "So be it.") {
					t.Errorf("ended as %v, the model was told %q, users see %q; want %q", o.Status, got, said, c.want)
				}
			})
		})
	}
}

// A second question of the same answer is answered by words too: the choice before it is not a message that came between.
func TestSecondQuestionIsAnsweredByWords(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Plugins = append(w.cfg.Plugins, example.New(0))
		n := w.start()
		w.model.queue([]step{write(fox), call(0, "a", "ORDER_TEA", `{"tins":2}`), call(1, "b", "ORDER_TEA", `{"tins":3}`)}, []step{write("So be it.")})
		acc := n.sendText("Order tea twice")
		first := w.waitParked(acc)
		n.deliver(chat.Choice(pressed(first, 0)))
		time.Sleep(time.Minute)
		if second := w.waitParked(acc); second.ID == first.ID {
			t.Fatalf("the second order is not asked about: %+v", second)
		}
		if typed := n.sendText("2"); !typed.Chosen {
			t.Errorf("a typed answer was accepted as %+v; want a choice", typed)
		}
		o, _ := w.waitAnswer(acc)
		asked := w.model.requests()
		told := asked[len(asked)-1].Messages
		if got := told[len(told)-1].Text; o.Status != answer.Completed || got != "Error: The user declined. Nothing was ordered." {
			t.Errorf(`ended as %v, the model was told %q; want %v and "Error: The user declined. Nothing was ordered."`, o.Status, got, answer.Completed)
		}
	})
}

// heldUp holds up the readers of questions until release is closed, so that all of them see what there is before.
type heldUp struct {
	storage.Store
	release chan struct{}
}

func (s heldUp) Question(ctx context.Context, id string) (chat.Question, error) {
	q, err := s.Store.Question(ctx, id)
	<-s.release
	return q, err
}

// If two options are pressed at the same moment, only one counts, even if different users pressed them. The other press is told that the
// question has closed; only the same option of the same person counts as the same press.
func TestTwoPressesAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		by    chat.EntityID // of the second press
		other int           // its option
		lost  bool
	}{
		"two options":            {"ada", 1, true},
		"the same option":        {"ada", 0, false},
		"two people":             {"bob", 1, true},
		"two people, one option": {"bob", 0, true},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			h := &chooser{says: "Done."}
			w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{Name: "test", ChoiceHandlers: []action.ChoiceHandler{h}})
			w.cfg.Access.Allowed.Accounts["bob"] = true
			n := w.start()
			w.waitAnswer(n.sendText("A"))
			acc := n.sendNotice(chat.Notice{To: chat.Address{Room: room}, Text: "Well?", Ask: &chat.Question{
				Options: []string{"Yes", "No"}, For: []chat.EntityID{"ada", "bob"}, Handler: "test",
			}})
			w.waitAnswer(acc)
			q := w.question(acc)
			release := make(chan struct{})
			w.cfg.Store = heldUp{w.Store, release}
			racing := w.start()
			results := make(chan chat.Accepted, 2)
			for _, p := range []chat.Choice{chat.Choice(pressed(q, 0).by("ada")), chat.Choice(pressed(q, c.other).by(c.by))} {
				go func() {
					acc, err := racing.ProcessMessage(w.Context(), p)
					if err != nil {
						w.Error(err)
					}
					results <- acc
				}()
			}
			synctest.Wait()
			close(release)
			a, b := <-results, <-results
			refused := 0
			for _, acc := range []chat.Accepted{a, b} {
				if acc.Refused != "" {
					refused++
				} else {
					w.waitAnswer(acc)
				}
			}
			if want := map[bool]int{true: 1, false: 0}[c.lost]; refused != want {
				w.Errorf("%d presses are refused, want %d: %+v, %+v", refused, want, a, b)
			}
			w.chat.forgetSeen()
		}))
	}
}
