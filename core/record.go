package core

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/schedule"
)

// unseen is how long an action waits until people see what it shows.
const unseen = 30 * time.Second

// noteEvery is how often the text so far is journalled, so that a run that dies can be brought to an end that holds it.
const noteEvery = 5 * time.Second

// Note journals n, also if that has to wait for the store.
func (x *execution) Note(ctx context.Context, n chat.Note) error {
	return x.persist(ctx, func() error { return x.note(n) })
}

// Remember stores m beside the answer, unless what was asked is forgotten.
func (x *execution) Remember(ctx context.Context, m chat.Memory) error {
	return x.persist(ctx, func() error { return chat.Unless(x.store.Remember(ctx, x.run.ID, m), chat.ErrNotFound) })
}

// note journals n. It outlives the turn: what was done must be recorded also when a later turn has the room.
func (x *execution) note(n chat.Note) error {
	if err := x.store.Note(x.life, x.run.ID, x.run.Epoch, n); err != nil {
		return fmt.Errorf("record %s: %w", x.run.ID, err)
	}
	return nil
}

// persist repeats f while the store is down: what was decided must not be decided twice. It gives up when the run is
// lost or ctx is done.
func (x *execution) persist(ctx context.Context, f func() error) error {
	for wait := schedule.HeartbeatEvery / 10; ; wait = min(2*wait, schedule.HeartbeatEvery) {
		err := f()
		if err == nil || errors.Is(err, answer.ErrLost) || ctx.Err() != nil {
			return err
		}
		x.rt.cfg.Log.Error("the store is unreachable; retrying", "run", x.run.ID, "err", err)
		select {
		case <-time.After(x.rt.jitter(wait)):
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// noteShown guards what the run creates: the first message needs the room, each is journalled before and after, also if
// that has to wait for the store. Once the verdict is stored the tracker is not asked any more: the end of the answer must be shown.
func (x *execution) noteShown(s chat.Shown) error {
	if x.isNoted(s) { // it is about to be changed
		err := x.holds()
		if err != nil {
			x.quit(err)
		}
		return err
	}
	if !x.seen() && !x.answer.View().Outcome.Done() {
		if err := x.Settle(); err != nil {
			x.quit(err)
			return err
		}
	}
	n := chat.Note{Shown: []chat.Shown{s}, Text: x.answer.View().Remembered().Text()} // the process that adopts the run has to know what users have read
	if err := x.Note(x.life, n); err != nil {
		x.quit(err)
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.posted = true
	if x.shown == nil {
		x.shown = map[int]chat.Shown{}
	}
	x.shown[s.Part] = s
	return nil
}

// await returns when people see the answer up to at, with the messages that it stands in.
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
	for _, part := range slices.Sorted(maps.Keys(x.shown)) {
		if s := x.shown[part]; s.ID != "" && !s.Gone {
			all = append(all, s)
		}
	}
	return all, err
}

// seen reports whether anything of the answer is, or may be, in sight.
func (x *execution) seen() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.posted
}

// noteText journals the text so far with each beat, until the returned function is called, which waits for it.
func (x *execution) noteText() (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(noteEvery)
		defer tick.Stop()
		var at answer.Cursor
		for {
			select {
			case <-tick.C:
			case <-quit:
				return
			}
			v := x.answer.View()
			if v.At == at {
				continue
			}
			if err := x.note(chat.Note{Text: v.Remembered().Text()}); err == nil {
				at = v.At
			} else if errors.Is(err, answer.ErrLost) {
				x.quit(answer.ErrLost)
				return
			} else {
				x.rt.cfg.Log.Warn("can't note how far an answer has come; trying again", "run", x.run.ID, "err", err)
			}
		}
	}()
	return func() { close(quit); <-done }
}

// holds is [answer.ErrLost] if another process has the run. It asks the journal only if the lease has had a gap, and waits for it:
// what a process shows that has lost a run would stand instead of the answer.
func (x *execution) holds() error {
	x.mu.Lock()
	since := x.since
	x.mu.Unlock()
	if x.rt.lease.Unbroken(since) {
		return nil
	}
	gap := x.rt.lease.Gap()
	if err := x.Note(x.life, chat.Note{}); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.since = gap
	return nil
}

// isNoted reports whether the journal holds s already.
func (x *execution) isNoted(s chat.Shown) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if noted, ok := x.shown[s.Part]; ok {
		return noted == s
	}
	return slices.Contains(x.run.Shown, s)
}
