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

// choicePoll is how often the store is asked whether a choice was made, in case the signal was lost.
const choicePoll = 2 * time.Second

// ask puts a question below the answer, at once. A later one of the same run replaces it. The channel receives the question when
// a choice is made, and is closed without it if none is made while the question is open and waited for.
func (ak *asking) ask(ctx context.Context, q chat.Question) (<-chan chat.Question, error) {
	q, err := ak.put(ctx, q)
	if err != nil {
		return nil, err
	}
	answered := make(chan chat.Question, 1)
	ak.x.side.Go(func() {
		defer close(answered)
		if now, ok := ak.untilChosen(ctx, q); ok {
			answered <- now
		}
	})
	return answered, nil
}

// put stores a question and then shows it below the answer: a button that people can press is always one that the store knows.
func (ak *asking) put(ctx context.Context, q chat.Question) (chat.Question, error) {
	q, err := ak.x.rt.choices.asking(q)
	if err != nil {
		return q, fmt.Errorf("ask: %w", err)
	}
	q.Run, q.Room = ak.x.run.ID, ak.x.run.Room
	if err := ak.x.persist(ctx, func() error { return ak.store.Ask(ctx, q) }); err != nil {
		return q, fmt.Errorf("ask: %w", err)
	}
	ak.offer(q)
	return q, nil
}

// untilChosen waits until q is closed, takes its options away, and reports whether a choice was made. A question that an action waits for
// is closed, too, when the action or the turn ends, or when it turns out that people don't see it.
func (ak *asking) untilChosen(asker context.Context, q chat.Question) (chat.Question, bool) {
	ctx, cancel := context.WithCancelCause(ak.x.life)
	defer cancel(nil)
	if q.Chooser == action.Awaited {
		for _, over := range []context.Context{asker, ak.x.work} {
			defer context.AfterFunc(over, func() { cancel(context.Cause(over)) })()
		}
		ak.x.side.Go(func() {
			if ak.x.answer.WaitSeen(ctx, answer.AllSeen) == nil { // the options are not shown
				cancel(chat.ErrUnseen)
			}
		})
	}
	now, err := ak.closed(ctx, q)
	if ak.x.life.Err() != nil {
		return q, false
	}
	ak.takeBack(q)
	if err == nil {
		return now, now.By != ""
	}
	if err := ak.store.Withdraw(ak.x.life, q.Room, q.Run); err != nil {
		ak.x.rt.cfg.Log.Warn("an abandoned question stays open until it expires", "run", ak.x.run.ID, "err", err)
	}
	return q, false
}

// closed returns q once it is not open any more, or the cause of ctx. A choice on this replica, or on one that the bus reaches, is noticed
// at once; if that signal is lost, polling finds it a little later. While an action waits for the choice, the run does not count against the
// limits on parallel answers: its person could otherwise not ask anything else. Other questions stop nothing.
func (ak *asking) closed(ctx context.Context, q chat.Question) (chat.Question, error) {
	if q.Chooser == action.Awaited {
		ak.x.place.Pause()
		defer ak.x.place.Resume()
	}
	for ctx.Err() == nil {
		rung := ak.x.rt.live.ChoiceMade(ak.x.run.ID)
		now, err := ak.store.Question(ctx, q.ID)
		switch {
		case errors.Is(err, chat.ErrNotFound): // another has taken its place
			return q, nil
		case err == nil && !now.Open(time.Now()):
			return now, nil
		case err != nil && ctx.Err() == nil:
			ak.x.rt.cfg.Log.Warn("can't check whether a choice was made; trying again", "run", ak.x.run.ID, "err", err)
		}
		select {
		case <-rung:
		case <-time.After(choicePoll):
		case <-ctx.Done():
		}
	}
	return q, context.Cause(ctx)
}

// offer shows the options of q. They stay at the end of an answer that is completed.
func (ak *asking) offer(q chat.Question) {
	ak.x.mu.Lock()
	defer ak.x.mu.Unlock()
	ak.offered = &answer.Choices{ID: q.ID, Options: q.Options}
	ak.x.answer.Apply(answer.Change{Kind: answer.ChoicesChanged, Choices: ak.offered})
}

// takeBack takes the options of q away, unless there are others by now.
func (ak *asking) takeBack(q chat.Question) {
	ak.x.mu.Lock()
	defer ak.x.mu.Unlock()
	if ak.offered != nil && ak.offered.ID == q.ID {
		ak.offered = nil
		ak.x.answer.Apply(answer.Change{Kind: answer.ChoicesChanged})
	}
}

func (ak *asking) offering() *answer.Choices {
	ak.x.mu.Lock()
	defer ak.x.mu.Unlock()
	return ak.offered
}

// withdraw closes what the run has asked, now or in an earlier attempt, unless the answer ends with it. A first attempt that asked
// nothing needs no write.
func (ak *asking) withdraw(o answer.Outcome) error {
	if o.Offer != nil || ak.offering() == nil && ak.x.run.Epoch < 2 {
		return nil
	}
	return ak.x.persist(ak.x.life, func() error { return ak.store.Withdraw(ak.x.life, ak.x.run.Room, ak.x.run.ID) })
}
