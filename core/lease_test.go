package core_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"parley/core"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/storage"
)

// farStore is a store that one process can lose touch with.
type farStore struct {
	storage.Store
	cut atomic.Bool
}

func (s *farStore) RenewLease(ctx context.Context, owner string, until time.Time) error {
	if s.cut.Load() {
		return errDown
	}
	return s.Store.RenewLease(ctx, owner, until)
}

func (s *farStore) Note(ctx context.Context, id chat.RunID, e chat.Epoch, n chat.Note) error {
	if s.cut.Load() {
		return errDown
	}
	return s.Store.Note(ctx, id, e, n)
}

// DI-01: a process that was out of touch for longer than its lease changes no message before the journal has told it that it still has
// the run. Without that its half of an answer would stand over the whole one, which another process has shown meanwhile.
func TestStaleHolderEditsNothing(t *testing.T) {
	withHarness(t, func(w *harness) {
		far := &farStore{Store: w.Store}
		near := w.cfg
		w.cfg.Store = far
		a := w.start()
		w.cfg = near
		w.start()
		asked := 0
		w.model.where = func(llm.Request) chat.RoomID { // who is cut off does not know yet that another one asks
			asked++
			return chat.RoomID(fmt.Sprint("call ", asked))
		}
		w.model.queue([]step{write(fox), pause(40 * time.Second), write(" And more"), pause(2 * time.Second), write(".")}, []step{write("The whole answer.")})
		acc := a.sendText("A")
		time.Sleep(2 * time.Second)
		far.cut.Store(true)
		time.Sleep(36 * time.Second)
		w.wantAnswer(acc, answer.Completed, "The whole answer.")
		far.cut.Store(false)
		time.Sleep(time.Minute)
		w.wantVisible("The whole answer.")
	})
}

// pausing is a store of a process that pauses just after its intent to post was stored.
type pausing struct {
	farStore
	lasts time.Duration
	done  atomic.Bool
}

func (s *pausing) Note(ctx context.Context, id chat.RunID, e chat.Epoch, n chat.Note) error {
	err := s.farStore.Note(ctx, id, e, n)
	if len(n.Shown) > 0 && n.Shown[0].ID == "" && s.done.CompareAndSwap(false, true) {
		s.cut.Store(true)
		time.Sleep(s.lasts)
		s.cut.Store(false)
	}
	return err
}

// DI-01: a process that pauses for longer than its lease between its intent and the request makes the request no more.
func TestStaleHolderPostsNothing(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.chat.noNonces = true
		near := w.cfg
		w.cfg.Store = &pausing{farStore: farStore{Store: w.Store}, lasts: 40 * time.Second}
		a := w.start()
		w.cfg = near
		w.start()
		w.model.queue([]step{write(fox), pause(50 * time.Second)}, []step{write("The whole answer.")})
		asked := 0
		w.model.where = func(llm.Request) chat.RoomID { // who pauses does not know yet that another one asks
			asked++
			return chat.RoomID(fmt.Sprint("call ", asked))
		}
		acc := a.sendText("A")
		w.wantAnswer(acc, answer.Completed, "The whole answer.")
		time.Sleep(time.Minute)
		w.wantVisible("The whole answer.")
	})
}

// A run that waits is started after the heartbeat, not before it: others would take it for the run of a dead process.
func TestNoStartWithoutALease(t *testing.T) {
	withHarness(t, func(w *harness) {
		far := &farStore{Store: w.Store}
		w.cfg.Store = far
		a := w.start()
		w.model.queue([]step{write("Here I am.")})
		far.cut.Store(true)
		time.Sleep(20 * time.Second)
		acc := a.sendText("A")
		time.Sleep(time.Second)
		if r, err := w.Store.Run(w.Context(), acc.Run); err != nil || r.Epoch != 0 {
			w.Errorf("without a heartbeat the run is at epoch %d, %v; want none", r.Epoch, err)
		}
		far.cut.Store(false)
		w.wantAnswer(acc, answer.Completed, "Here I am.")
		if r, err := w.Store.Run(w.Context(), acc.Run); err != nil || r.Deaths != 0 {
			w.Errorf("the run counts %d deaths, %v; want none", r.Deaths, err)
		}
	})
}

// A process that was out of touch, and still has its run, goes on with it.
func TestHolderGoesOnAfterAGap(t *testing.T) {
	withHarness(t, func(w *harness) {
		far := &farStore{Store: w.Store}
		w.cfg.Store = far
		n := w.start()
		w.model.queue([]step{write(fox), pause(40 * time.Second), write(" And more.")})
		acc := n.sendText("A")
		time.Sleep(2 * time.Second)
		far.cut.Store(true)
		time.Sleep(30 * time.Second)
		far.cut.Store(false)
		w.wantAnswer(acc, answer.Completed, fox+" And more.")
		w.wantVisible(fox + " And more.")
	})
}

// deafTracker says what became of a turn only to those who ask.
type deafTracker struct{ core.Tracker }

func (t deafTracker) Claim(ctx context.Context, a chat.AgentID, in chat.RoomID, id chat.ResponseID) (context.Context, error) {
	_, err := t.Tracker.Claim(ctx, a, in, id)
	return ctx, err
}

// I2: a stop that comes just before the first message of an answer is created leaves the notice that it was stopped.
func TestStoppedBeforeTheFirstMessage(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Tracker = deafTracker{w.tracker}
		w.model.queue([]step{pause(2 * time.Second), write(fox), pause(time.Minute)})
		a, b := w.start(), w.start()
		acc := a.sendText("A")
		time.Sleep(time.Second)
		b.stopAnswer(room)
		o, said := w.waitAnswer(acc)
		if got := w.chat.visible(); o.Status != answer.Stopped || !slices.Equal(got, []string{said}) {
			w.Errorf("it ended as %+v, stored is %q, the chat shows %q", o, said, got)
		}
	})
}

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
