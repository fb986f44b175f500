package core_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/generate"
	"parley/core/llm"
	"parley/internal/subtest"
)

// form writes an answer in the form, letter by letter.
func form(actions, text string) []step {
	return letters("<response><thought>secret</thought><actions>" + actions + "</actions><text>" + text + "</text></response>")
}

// In the form, actions and the reply happen in the order in which they are listed. A reply below an action is written once more, with what
// the action has told, if there may be another round; otherwise the first text is it.
func TestReplyHasItsPlaceAmongActions(t *testing.T) {
	for name, c := range map[string]struct {
		actions string
		result  string // of A and B
		steps   int
		said    string
		rounds  int
		order   []string // as it is remembered
	}{
		"reply first":           {"REPLY,A", "", 6, "On it.\n\nA", 1, []string{"REPLY", "A"}},
		"reply last":            {"A,REPLY", "found", 6, "A\n\nDone.", 2, []string{"A", "REPLY"}},
		"nothing was found":     {"A,REPLY", "", 6, "A\n\nOn it.", 1, []string{"A", "REPLY"}},
		"between":               {"A,REPLY,B", "found", 6, "A\n\nDone.\n\nB\n\nAnd that.", 3, []string{"A", "REPLY", "B", "REPLY"}},
		"between, nothing told": {"A,REPLY,B", "", 6, "A\n\nOn it.\n\nB", 1, []string{"A", "REPLY", "B"}},
		"two rounds":            {"A,REPLY,B", "found", 2, "A\n\nDone.\n\nB", 2, []string{"A", "REPLY", "B"}},
		"one round":             {"A,REPLY,B", "found", 1, "A\n\nOn it.\n\nB", 1, []string{"A", "REPLY", "B"}},
		"after two":             {"A,B,REPLY", "found", 6, "A\n\nB\n\nDone.", 2, []string{"A", "B", "REPLY"}},
		"an unknown one":        {"NOT_THERE,REPLY", "", 6, "Done.", 2, []string{"NOT_THERE", "REPLY"}},
		"not at all":            {"A", "", 6, "On it.\n\nA", 1, []string{"REPLY", "A"}},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.cfg.Generation = generate.Config{Mode: generate.XML, MaxSteps: c.steps}
			w.addActions(shower("A", c.result), shower("B", c.result))
			w.model.queue(form(c.actions, "On it."), form("REPLY", "Done."), form("REPLY", "And that."))
			acc := w.start().sendText("Do it")
			w.wantAnswer(acc, answer.Completed, c.said)
			asked := w.model.requests()
			if len(asked) != c.rounds {
				w.Errorf("the model was asked %d times; want %d", len(asked), c.rounds)
			}
			if c.rounds > 1 && c.result != "" && !strings.Contains(asked[1].Messages[0].Text, "A {}: found") {
				w.Errorf("the reply was asked for with %q", asked[1].texts())
			}
			if m := w.storedAnswer(acc); !slices.Equal(m.Actions, c.order) {
				w.Errorf("remembered is %q; want %q", m.Actions, c.order)
			}
			w.wantNoTags()
		}))
	}
}

// A text that is listed first is seen while the action works; one that is listed after it is not.
func TestReplyIsHeldWhileTheActionWorks(t *testing.T) {
	for actions, seen := range map[string]bool{"REPLY,A": true, "A,REPLY": false} {
		t.Run(actions, subtest.Of(withHarness, func(w *harness) {
			w.useXML()
			meanwhile := ""
			w.addActions(&fakeAction{name: "A", do: func(context.Context, *action.Call) (action.Result, error) {
				time.Sleep(5 * time.Second)
				meanwhile = strings.Join(w.chat.visible(), "\n")
				return action.Result{}, nil
			}})
			w.model.queue(form(actions, fox))
			w.wantAnswer(w.start().sendText("Do it"), answer.Completed, fox)
			if strings.Contains(meanwhile, fox) != seen {
				w.Errorf("meanwhile people saw %q", meanwhile)
			}
		}))
	}
}

// An answer that was cut off shows its text, says so, and does nothing of what it lists.
func TestHeldReplyOfACutAnswer(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.useXML()
		a := shower("A", "found")
		w.addActions(a)
		w.model.queue([]step{write("<response><actions>A,REPLY</actions><text>I have do"), finish(llm.FinishLength)})
		w.wantAnswer(w.start().sendText("Do it"), answer.Completed, "I have do"+cutMark)
		if a.times() > 0 || len(w.model.requests()) != 1 {
			t.Errorf("made %d times after %d rounds; want none and 1", a.times(), len(w.model.requests()))
		}
	})
}

// An action that waits for an approval holds the reply below it, and what follows that, over a restart.
func TestHeldReplyWaitsForAnApproval(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.useXML()
		shop := w.withShop()
		w.addActions(shower("B", ""))
		w.model.queue(form(`<action name="ORDER"><params>{"item":"tea"}</params></action>,REPLY,B`, "I have ordered tea."), form("REPLY", "Tea is on its way."))
		first := w.start()
		acc := first.send(w.groupMention("ada", "Order tea"))
		q := w.waitParked(acc)
		if shown := strings.Join(w.chat.visible(), "\n"); strings.Contains(shown, "I have ordered") || shop.times() > 0 {
			t.Errorf(`made %d times; people see %q; want it without "I have ordered" and none`, shop.times(), shown)
		}
		second := w.start()
		first.shutdown()
		second.deliver(chat.Choice(pressed(q, 0)))
		o, said := w.waitAnswer(acc)
		if o.Status != answer.Completed || shop.times() != 1 || !strings.HasSuffix(said, "Tea is on its way.\n\nB") || strings.Contains(said, "I have ordered") {
			t.Errorf("made %d times; it ended as %+v and said %q", shop.times(), o, said)
		}
	})
}
