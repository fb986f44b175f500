package core_test

import (
	"context"
	"slices"
	"testing"

	"parley/core"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
)

// lowPoster shows an answer below a message that stays as it is, as surfaces do when a long answer takes several messages.
type lowPoster struct {
	poster
	above chat.Shown
}

// Show implements [core.Surface].
func (p *lowPoster) Show(ctx context.Context, a *answer.Answer, note func(chat.Shown) error) error {
	if len(p.run.Shown) > 0 {
		p.run.Shown = p.run.Shown[1:]
	} else if err := note(p.above); err != nil {
		return err
	}
	return p.poster.Show(ctx, a, func(s chat.Shown) error {
		s.Part++
		return note(s)
	})
}

// An action of a run that goes on with another process learns of all messages of the answer, also of one that the first process made
// and that does not change any more. The journal keeps that too.
func TestMessagesOfEarlierHolder(t *testing.T) {
	withHarness(t, func(w *harness) {
		above := chat.Shown{ID: "above"}
		w.cfg.Open = func(_ context.Context, r chat.Run) (core.Surface, error) {
			return &lowPoster{poster{chat: w.chat, run: r}, above}, nil
		}
		shop := w.withShop()
		var told []chat.Shown
		shop.do = func(ctx context.Context, call *action.Call) (_ action.Result, err error) {
			told, err = call.UpdateAndWait(ctx, "Ordering.")
			return action.Result{Text: "Ordered."}, err
		}
		w.queueOrder()
		first := w.start()
		acc := first.sendText("Order tea")
		q := w.waitParked(acc)
		first.shutdown()
		w.start().deliver(chat.Choice(pressed(q, 0)))
		o, _ := w.waitAnswer(acc)
		want := []chat.Shown{above, {Part: 1, ID: "m1"}}
		if kept := w.run(acc).Shown; o.Status != answer.Completed || !slices.Equal(told, want) || !slices.Equal(kept, want) {
			t.Errorf("it ended as %+v; the action was told of %+v, and the journal keeps %+v; want %+v", o, told, kept, want)
		}
	})
}
