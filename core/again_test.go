package core_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
)

// SE-16: who retries a question of another user acts with their own name, rooms and rights, and is asked what there is to choose;
// that it was another one's question stands in the prompt as a quote. Their own question stays theirs.
func TestRetryOfAnother(t *testing.T) {
	for name, c := range map[string]struct {
		asks, retries chat.EntityID
		owner         bool // of the agent, retries
		texts         []string
	}{
		"a guest, of the owner's": {"ada", "gus", false, []string{"ada: Nice weather.", "ada: Which day?",
			"gus: [In reply to ada: Which day?]\n  Answer this again."}},
		"the owner, of a guest's": {"gus", "ada", true, []string{"ada: Nice weather.", "gus: Which day?",
			"ada: [In reply to gus: Which day?]\n  Answer this again."}},
		"the owner, of their own": {"ada", "ada", true, []string{"ada: Nice weather.", "ada: Which day?"}},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, func(w *harness) {
				w.cfg.Access.Owners = map[chat.EntityID]bool{"ada": true}
				w.cfg.Access.Guests = access.RoomSet{Chats: map[string]bool{"fake:here": true}}
				var scenes []action.TurnContext
				w.addActions(&fakeAction{name: "LOOK", do: func(ctx context.Context, c *action.Call) (action.Result, error) {
					scenes = append(scenes, c.Turn)
					return action.Result{Last: true}, c.Ask(ctx, chat.Question{Options: []string{"Yes", "No"}, Handler: action.AsMessage})
				}})
				look := []step{write("Monday?"), call(0, "a", "LOOK", "{}")}
				w.model.queue(look, look)
				n := w.start()
				says := func(author chat.EntityID, text string, addressed bool) chat.Accepted {
					m := w.message(group, author, text)
					m.Addressed, m.Place.Chats = addressed, []string{"here"}
					return n.send(m)
				}
				says("ada", "Nice weather.", false)
				w.waitAnswer(says(c.asks, "Which day?", true))
				again := says(c.retries, "/retry", true)
				w.wantAnswer(again, answer.Completed, "Monday?")
				s := scenes[len(scenes)-1]
				if len(scenes) != 2 || s.Message.Author != c.retries || s.Message.Name != string(c.retries) || s.Message.Text != "Which day?" {
					w.Fatalf("%d scenes, the last is of %+v", len(scenes), s.Message)
				}
				if s.Owner != c.owner || s.Allowed != c.owner || s.Several() {
					w.Errorf("owner %v, allowed %v, several %v", s.Owner, s.Allowed, s.Several())
				}
				if q := w.question(again); !slices.Equal(q.For, []chat.EntityID{c.retries}) {
					w.Errorf("to choose is for %v", q.For)
				}
				if got := w.model.requests()[1].texts(); !slices.Equal(got, c.texts) {
					w.Errorf("the model was asked %q; want %q", got, c.texts)
				}
				w.chat.forgetSeen()
			})
		})
	}
}

// A long question is retried whole, as it was asked.
func TestRetryOfLongQuestion(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		long := strings.Repeat("word ", 2000) + "end"
		w.waitAnswer(n.sendText(long))
		w.model.queue([]step{write("Second.")})
		w.wantAnswer(n.sendText("/retry"), answer.Completed, "Second.")
		if got := w.model.requests()[1].texts(); !slices.Equal(got, []string{long}) {
			w.Errorf("the model was asked %d texts, of %d characters", len(got), len(got[0]))
		}
		w.chat.forgetSeen()
	})
}
