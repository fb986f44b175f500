package core

import (
	"context"
	"errors"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/quota"
)

// wait shows w.Ask, if there is a question, and has the run wait. It returns [chat.ErrParked], with which the turn ends here and lets
// go of its room. A question that people can't see is taken back, and its error returned: no one could wake the run.
func (ak *asking) wait(ctx context.Context, w action.Wait) error {
	if w.Ask == nil {
		return ak.x.waiting.Begin(w)
	}
	q := *w.Ask
	q.Chooser, q.Payload, q.Expires = action.Parked, w.For, w.Until
	if len(q.For) == 0 {
		q.For = []chat.EntityID{ak.x.turn.Message.Author}
	}
	q, err := ak.put(ctx, q)
	if err != nil {
		return err
	}
	err = ak.x.allSeen(ctx)
	if err == nil && ak.x.posts && ak.x.answer.Hidden() {
		err = chat.ErrUnseen
	}
	if err != nil {
		ak.takeBack(q)
		return errors.Join(err, ak.x.persist(ak.x.life, func() error { return ak.store.Withdraw(ak.x.life, q.Room, q.Run) }))
	}
	return ak.x.waiting.Begin(w)
}

// allSeen waits until people see the answer as it is.
func (x *execution) allSeen(ctx context.Context) error {
	if !x.posts {
		return nil
	}
	return x.answer.WaitSeen(ctx, x.answer.View().At)
}

// park lets go of the run once people see what it waits for. It returns [chat.ErrParked]. If a later turn has the room by then, the run
// stays parked all the same; a stop ends it.
func (x *execution) park(hide context.CancelCauseFunc, shown <-chan error) error {
	_ = x.allSeen(x.work) // an error changes nothing: the next holder shows what is missing, or ends the run
	hide(chat.ErrParked)
	if x.posts {
		<-shown
	}
	if x.life.Err() != nil {
		return context.Cause(x.life)
	}
	quota.WaitSettled(x.life)
	err := x.waiting.LetGo(x.life, func() bool {
		return errors.Is(context.Cause(x.work), chat.ErrStopped) || errors.Is(x.Settle(), chat.ErrStopped) || x.ending.unasked()
	})
	if err != nil {
		return err
	}
	return chat.ErrParked
}

// abandon closes what the run waits for, or has waited for, when it ends without it.
func (x *execution) abandon() {
	if err := x.rt.desk.Abandon(x.life, x.waiting.For()); err != nil {
		x.rt.cfg.Log.Warn("an approval can't be closed; it ends by itself", "run", x.run.ID, "err", err)
	}
}

// startable returns the run among open that starts next and how long until then, or errIdle. A parked run from which a later turn takes
// the room is woken to end as superseded.
func (s *scheduler) startable(ctx context.Context, open []chat.Run) (next chat.Run, wait time.Duration, err error) {
	next, wait, ok := s.rt.cfg.Turns.Due(open, time.Now())
	if !ok {
		return next, 0, errIdle
	}
	if next.Parked && s.rt.cfg.Turns.Taken(open, next) {
		_, err = s.rt.waker.End(ctx, next.ID, next.Room, answer.Superseded)
	}
	return next, wait, err
}
