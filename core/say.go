package core

import (
	"context"
	"fmt"
	"time"

	"parley/core/access"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/initiative"
)

// Say has the agent send n, once. It is queued like a turn of its room, so it does not interrupt an answer there. Say returns when n is
// stored; what was sent becomes a memory of the agent, and a part of later prompts. It fails with [chat.ErrNotFound] if the room is
// unknown, and with [chat.ErrUnreached] if no message ever came from there; after any other error n must be sent again, with its key.
func (rt *Runtime) Say(ctx context.Context, n chat.Notice) (chat.Accepted, error) {
	if rt.ending() {
		return chat.Accepted{}, chat.ErrShutdown
	}
	return rt.say(ctx, n)
}

// say is Say, but also works while the runtime ends: what it stores then, the next process sends.
func (rt *Runtime) say(ctx context.Context, n chat.Notice) (chat.Accepted, error) {
	m, err := initiative.Draft(ctx, rt.stores.notice, rt.cfg.Agent, n)
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("send a message to %s: %w", n.To.Room, err)
	}
	j := chat.JoinRule{Kind: chat.RunNotify}
	if n.Ask != nil {
		q, err := rt.choices.asking(*n.Ask)
		if err != nil {
			return chat.Accepted{}, fmt.Errorf("send a message to %s: %w", n.To.Room, err)
		}
		j.Ask = &q
	}
	acc, err := rt.stores.notice.Accept(ctx, m, j)
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("send a message to %s: %w", n.To.Room, err)
	}
	rt.scheduler.wake(m.Room)
	return acc, nil
}

// sendNotice answers with the draft that is the input of the run, and shows its question if that is still open.
func (x *execution) sendNotice(ctx context.Context) error {
	draft, err := x.input(ctx)
	if err != nil {
		return err
	}
	if x.unattended() { // what a task says counts as a message
		if err := x.reportLimit(ctx, x.rt.cfg.Meter.CountMessage(ctx)); err != nil {
			return err
		}
	}
	x.answer.Apply(answer.Change{Kind: answer.Text, Text: draft.Text})
	initiative.Illustrate(ctx, x.rt.cfg.Models.Painter, draft, x.answer, x.rt.cfg.Log)
	return x.persist(ctx, func() error {
		q, err := x.store.QuestionOf(ctx, x.run.ID)
		if err == nil && q.Chooser == access.ApprovalHandler {
			x.gen.Trace.Actions = []string{chat.AccessAction}
		}
		if err == nil && q.Open(time.Now()) {
			x.asking.offer(q)
		}
		return chat.Unless(err, chat.ErrNotFound)
	})
}

// input returns the only message of a run that is a command, a choice or a notice. It fails with [chat.ErrStopped] if that was deleted.
func (x *execution) input(ctx context.Context) (m chat.Memory, err error) {
	err = x.persist(ctx, func() (err error) {
		m, err = x.store.Memory(ctx, x.run.Inputs[0])
		return chat.Unless(err, chat.ErrNotFound)
	})
	if err == nil && m.ID == "" {
		err = chat.ErrStopped
	}
	if err != nil {
		return chat.Memory{}, fmt.Errorf("read the input of %s: %w", x.run.ID, err)
	}
	return m, nil
}
