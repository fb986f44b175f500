package core_test

import (
	"context"
	"testing"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
)

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
		t.Run(name, func(t *testing.T) {
			withHarness(t, func(w *harness) {
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
					t.Errorf("Ada pays: %+v after %+v", got, before)
				}
				if got := w.spent("person/" + c.payer); got.Tokens == 0 {
					t.Errorf("%s pays %+v", c.payer, got)
				}
				w.chat.forgetSeen() // the message of the question says more after its run has ended
			})
		})
	}
}
