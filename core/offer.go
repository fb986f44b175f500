package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
)

// choicePoll is how often the store is asked whether somebody has chosen, in case the signal was lost.
const choicePoll = 2 * time.Second

// ask puts a question below the answer, at once. A later one of the same run takes its place. The question comes back when
// somebody has chosen, and not at all if nobody does while it is open and anybody waits for it.
func (x *execution) ask(ctx context.Context, q chat.Question) (<-chan chat.Question, error) {
	q, err := x.rt.choices.asking(q)
	if err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	q.Run, q.Room = x.run.ID, x.run.Room
	if err := x.persist(ctx, func() error { return x.rt.cfg.Store.Ask(ctx, q) }); err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	x.offer(q)
	answered := make(chan chat.Question, 1)
	x.side.Go(func() {
		defer close(answered)
		if now, ok := x.untilChosen(ctx, q); ok {
			answered <- now
		}
	})
	return answered, nil
}

// untilChosen takes the options of q away once it is closed, and says whether somebody has chosen. One that is waited for is closed
// when that is over.
func (x *execution) untilChosen(asker context.Context, q chat.Question) (chat.Question, bool) {
	ctx, cancel := context.WithCancelCause(x.life)
	defer cancel(nil)
	if q.Chooser == action.Awaited {
		for _, over := range []context.Context{asker, x.work} {
			defer context.AfterFunc(over, func() { cancel(context.Cause(over)) })()
		}
		x.side.Go(func() {
			if x.answer.WaitSeen(ctx, answer.AllSeen) == nil { // nobody sees the options
				cancel(chat.ErrUnseen)
			}
		})
	}
	now, err := x.closed(ctx, q)
	if x.life.Err() != nil {
		return q, false
	}
	x.takeBack(q)
	if err == nil {
		return now, now.By != ""
	}
	if err := x.rt.cfg.Store.Withdraw(x.life, q.Room, q.Run); err != nil {
		x.rt.cfg.Log.Warn("an abandoned question stays open until it expires", "run", x.run.ID, "err", err)
	}
	return q, false
}

// closed returns q once it is not open any more, or with the cause of ctx. Where somebody chose on another replica, that is
// seen a little later.
func (x *execution) closed(ctx context.Context, q chat.Question) (chat.Question, error) {
	x.rt.scheduler.parallel.leave(x.run) // meanwhile nothing is made
	defer x.rt.scheduler.parallel.resume(x.run)
	for {
		rung := x.rt.live.ChoiceMade(x.run.ID)
		now, err := x.rt.cfg.Store.Question(ctx, q.ID)
		switch {
		case errors.Is(err, chat.ErrNotFound): // another has taken its place
			return q, nil
		case err == nil && !now.Open(time.Now()):
			return now, nil
		case err != nil && ctx.Err() == nil:
			x.rt.cfg.Log.Warn("can't find out whether somebody has chosen; trying again", "run", x.run.ID, "err", err)
		}
		select {
		case <-rung:
		case <-time.After(choicePoll):
		case <-ctx.Done():
			return q, context.Cause(ctx)
		}
	}
}

// offer shows what may be chosen from: also at the end of an answer that is completed.
func (x *execution) offer(q chat.Question) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.offered = &answer.Choices{ID: q.ID, Options: q.Options}
	x.answer.Apply(answer.Change{Kind: answer.ChoicesChanged, Choices: x.offered})
}

// takeBack takes the options of q away, unless there are others by now.
func (x *execution) takeBack(q chat.Question) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.offered != nil && x.offered.ID == q.ID {
		x.offered = nil
		x.answer.Apply(answer.Change{Kind: answer.ChoicesChanged})
	}
}

func (x *execution) offering() *answer.Choices {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.offered
}

// withdraw closes what the run has asked, now or in an earlier attempt, if nobody is to see it.
func (x *execution) withdraw(o answer.Outcome) error {
	if o.Offer != nil || x.offering() == nil && x.run.Epoch < 2 {
		return nil
	}
	return x.persist(x.life, func() error { return x.rt.cfg.Store.Withdraw(x.life, x.run.Room, x.run.ID) })
}
