package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/schedule"
)

// unseen is how long an action waits until people see what it shows. A platform may hold back edits for that long.
const unseen = 30 * time.Second

// noteEvery is how often the text so far is journaled. If the process dies, the answer ends with the text that is in the journal.
const noteEvery = 5 * time.Second

// Note journals n, also if that has to wait until the store is back. It fails with [answer.ErrLost] if another process has the run.
func (x *execution) Note(ctx context.Context, n chat.Note) error {
	return x.persist(ctx, func() error { return x.note(n) })
}

// Remember stores m as a memory of the room besides the answer, such as the result of an action. If the question was deleted
// meanwhile, nothing is stored.
func (x *execution) Remember(ctx context.Context, m chat.Memory) error {
	return x.persist(ctx, func() error { return chat.Unless(x.store.Remember(ctx, x.run.ID, m), chat.ErrNotFound) })
}

// note journals n. It outlives the turn: what was done must be recorded also when a later turn has the room.
func (x *execution) note(n chat.Note) error {
	n.Risk = x.risk.Now()
	if err := x.store.Note(x.life, x.run.ID, x.run.Epoch, n); err != nil {
		return fmt.Errorf("record %s: %w", x.run.ID, err)
	}
	return nil
}

// persist repeats f while the store is down. What a run has decided, or was billed for, must not be repeated because one write
// failed. It gives up when the run is lost or ctx is done.
func (x *execution) persist(ctx context.Context, f func() error) error {
	for wait := schedule.HeartbeatEvery / 10; ; wait = min(2*wait, schedule.HeartbeatEvery) {
		err := f()
		if err == nil || errors.Is(err, answer.ErrLost) || ctx.Err() != nil {
			return err
		}
		if wait == schedule.HeartbeatEvery/10 { // what follows is no news
			x.rt.cfg.Log.Error("the store is unreachable; retrying", "run", x.run.ID, "err", err)
		}
		select {
		case <-time.After(x.rt.cfg.Jitter(wait)):
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// noteShown is called by the surface before and after each message that it creates, and before each change of one. An error forbids
// the change.
//
// The first message is created only if the turn still has the room: before it, a superseded run can end without a trace. Creations are
// journaled before, without an id, and after, so that another process finds the message or knows that there may be one. Changes need no
// write, but a process that may have lost the run asks first. Once the verdict is stored the tracker is not asked any more: the end of
// the answer must be shown.
func (x *execution) noteShown(s chat.Shown) error {
	if x.isNoted(s) { // it is about to be changed
		return x.holds()
	}
	if !x.seen() && !x.answer.View().Outcome.Done() {
		if err := x.Settle(); err != nil {
			x.quit(err)
			return err
		}
	}
	x.mu.Lock()
	shown := chat.WithShown(x.shown, s)
	x.mu.Unlock()
	n := chat.Note{Shown: shown, Text: x.answer.View().Remembered().Text()} // the process that adopts the run has to know what users have read
	if err := x.Note(x.life, n); err != nil {
		x.quit(err)
		return err
	}
	x.mu.Lock()
	x.posted, x.shown = true, shown
	x.mu.Unlock()
	return x.holds() // the process may have paused since the journal was written
}

// await waits until people see the answer up to at, and returns the messages that it stands in. Where the answer is a stream there are
// none, and it does not wait.
func (x *execution) await(ctx context.Context, at answer.Cursor) ([]chat.Shown, error) {
	if !x.posts {
		return nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, unseen, chat.ErrUnseen)
	defer cancel()
	err := x.answer.WaitSeen(ctx, at)
	x.mu.Lock()
	defer x.mu.Unlock()
	var all []chat.Shown
	for _, s := range x.shown {
		if s.ID != "" {
			all = append(all, s)
		}
	}
	return all, err
}

// seen reports whether people see anything of the answer, or may: a message whose creation is only begun counts.
func (x *execution) seen() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.posted
}

// noteText journals the text so far every few seconds, until the returned function is called, which waits for the last write. Its errors
// are not errors of the turn: the next beat tries again, and the verdict holds the whole text.
func (x *execution) noteText() (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	first := time.AfterFunc(noteEvery, func() { // most answers end before
		defer close(done)
		tick := time.NewTicker(noteEvery)
		defer tick.Stop()
		var at answer.Cursor
		var outage schedule.Outage
		for {
			if v := x.answer.View(); v.At != at {
				if err := x.note(chat.Note{Text: v.Remembered().Text()}); err == nil {
					at = v.At
					outage.Ended()
				} else if errors.Is(err, answer.ErrLost) {
					x.quit(answer.ErrLost)
					return
				} else if outage.Failed() {
					x.rt.cfg.Log.Warn("can't note how far an answer has come; trying again", "run", x.run.ID, "err", err)
				}
			}
			select {
			case <-tick.C:
			case <-quit:
				return
			}
		}
	})
	return func() {
		if !first.Stop() {
			close(quit)
			<-done
		}
	}
}

// holds returns [answer.ErrLost] if another process has the run. While the lease of this process had no gap since the run was known
// to be held, no other can have adopted it, and nothing is asked. After a gap the journal is asked, however long it takes: an edit
// by a process that lost the run would replace the answer of the one that has it.
func (x *execution) holds() error {
	x.mu.Lock()
	since := x.since
	x.mu.Unlock()
	since, err := x.rt.lease.Confirm(since, func() error { return x.Note(x.life, chat.Note{}) })
	if err != nil {
		x.quit(err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.since = since
	return err
}

// isNoted reports whether the journal holds s already: then it is about to be changed and not created.
func (x *execution) isNoted(s chat.Shown) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Contains(x.shown, s)
}
