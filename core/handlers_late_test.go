package core_test

import (
	"context"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/schedule"
	"parley/core/storage"
	"parley/internal/subtest"
)

// slowRevision takes two minutes to store another text.
type slowRevision struct{ storage.Store }

func (s slowRevision) Revise(ctx context.Context, id chat.MemoryID, text string, files []chat.Attachment) error {
	time.Sleep(2 * time.Minute)
	return s.Store.Revise(ctx, id, text, files)
}

// IN-12: a run that starts while the new text is being stored is answered again: it may have read the old one.
func TestEditIsStoredLate(t *testing.T) {
	for name, waits := range map[string]bool{"a run that waits": true, "an answer that stands": false} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.cfg.Turns.Direct = schedule.Queue
			w.cfg.Store = slowRevision{w.Store}
			n := w.start()
			if waits {
				w.model.queue([]step{pause(time.Minute), write("A")})
				n.sendText("a")
				time.Sleep(time.Second)
			}
			m := w.message(room, "ada", "fox?")
			acc := n.send(m)
			if !waits {
				w.waitAnswer(acc)
			}
			n.edit(m, "hare?")
			time.Sleep(time.Minute)
			w.wantAnswer(acc, answer.Completed, "You said: hare?")
			w.chat.forgetSeen()
			calls := w.model.requests()
			if texts := calls[len(calls)-2].texts(); texts[len(texts)-1] != "fox?" {
				w.Errorf("it did not start before the new text was stored, but was asked %q", texts)
			}
		}))
	}
}
