package core_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/plugins/example"
)

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
