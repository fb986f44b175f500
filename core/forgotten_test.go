package core_test

import (
	"errors"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
)

// SE-20: when /new forgets a room, a question that is still open loses its options and stays in the chat as it was, and is not
// remembered again; neither runs nor questions hold what was said.
func TestNewLeavesNoText(t *testing.T) {
	withQuestion(t, func(w *harness, n *process, _ *chooser, q chat.Question) {
		asked := n.sendText("/new")
		w.waitAnswer(asked)
		forgotten := n.sendText("forget it")
		w.waitAnswer(forgotten)
		time.Sleep(time.Minute)
		w.accepted = nil
		const new = "Forget this conversation? Messages in the chat won't be deleted.\n\n→ **Forget it**\n\nDone. I've forgotten this conversation."
		w.wantVisible("You said: A", "Let Eve in?", new)
		for _, kind := range []chat.MemoryKind{chat.Said, chat.KindCommand, chat.Draft} {
			all, err := w.Store.Recent(w.Context(), room, kind, 0, 10)
			w.Must(err)
			for _, m := range all {
				if m.Text != new {
					w.Errorf("remembered is %q; want %q", m.Text, new)
				}
			}
		}
		for i := chat.ResponseID(1); i < 8; i++ {
			r, err := w.Store.Run(w.Context(), chat.RunID(string(room)+"#"+string(rune('0'+i))))
			if err == nil && r.ID != forgotten.Run && (r.Text != "" || r.Verdict != nil || !r.Outcome.Done()) {
				w.Errorf("run %d holds %q, %+v, %+v", i, r.Text, r.Verdict, r.Outcome)
			}
		}
		for _, id := range []string{q.ID, w.questionID(asked)} {
			if _, err := w.Store.Question(w.Context(), id); id != "" && !errors.Is(err, chat.ErrNotFound) {
				w.Errorf("the question is kept: %v", err)
			}
		}
		w.wantAnswer(n.sendText("B"), answer.Completed, "You said: B")
	})
}

// questionID is the id of what a run asks, if anything.
func (w *harness) questionID(acc chat.Accepted) string {
	q, err := w.Store.QuestionOf(w.Context(), acc.Run)
	if errors.Is(err, chat.ErrNotFound) {
		return ""
	}
	w.Must(err)
	return q.ID
}
