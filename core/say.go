package core

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/text"
)

// Notice is a message of the agent's own: nobody needs to have asked for it.
type Notice struct {
	// To is where it is said. A room alone is enough, if people have written there: then that is where it was last
	// reached, or the place of the message that is replied to.
	To   Address
	Text string
	// Key makes a notice the same as an earlier one of its room, which is then not said again. Without a key it is new.
	Key string
	// Ask is what people are asked with it; nil if nothing.
	Ask *Question
}

var errNoText = errors.New("the message is empty")

// Say has the agent say n, once, when it is the turn of that in its room: what is being answered there is neither
// interrupted nor held up for long. It returns when n is safe. What was said is a memory of the agent's, and a part of later
// prompts. [ErrNotFound] if nobody knows the room, [ErrUnreached] if it was never reached; any other error means that n is
// not safe.
func (rt *Runtime) Say(ctx context.Context, n Notice) (Accepted, error) {
	if rt.ending() {
		return Accepted{}, ErrShutdown
	}
	m, err := draft(ctx, rt.cfg.Store, rt.cfg.Agent, n)
	if err != nil {
		return Accepted{}, fmt.Errorf("send a message to %s: %w", n.To.Room, err)
	}
	j := JoinRule{Kind: RunNotify}
	if n.Ask != nil {
		q, err := rt.asking(*n.Ask)
		if err != nil {
			return Accepted{}, fmt.Errorf("send a message to %s: %w", n.To.Room, err)
		}
		j.Ask = &q
	}
	acc, err := rt.cfg.Store.Accept(ctx, m, j)
	if err != nil {
		return Accepted{}, fmt.Errorf("send a message to %s: %w", n.To.Room, err)
	}
	rt.wake(m.Room)
	return acc, nil
}

// draft is what n of agent is to the journal.
func draft(ctx context.Context, store Store, agent Agent, n Notice) (Message, error) {
	text := text.Clean(n.Text)
	switch {
	case strings.TrimSpace(text) == "":
		return Message{}, errNoText
	case len(n.To.ConnectorData) > MaxOwn:
		return Message{}, ErrTooLarge
	}
	room, err := store.Room(ctx, n.To.Room)
	if err != nil {
		return Message{}, err
	}
	to, err := reach(ctx, store, room, n.To)
	if err != nil {
		return Message{}, err
	}
	if n.Key == "" {
		n.Key = rand.Text()
	}
	return Message{
		Memory: Memory{
			ID: MemoryID(fmt.Sprintf("%s/notice/%s", room.ID, n.Key)), Room: room.ID, Kind: Draft,
			Author: agent.entity(), Name: agent.Name, Text: text, InReplyTo: to.ReplyTo, At: time.Now(),
		},
		Place: room, Address: to,
	}, nil
}

// reach completes an address.
func reach(ctx context.Context, store Store, room Room, to Address) (Address, error) {
	if to.Connector != "" {
		return to, nil
	}
	if to.ReplyTo != "" {
		run, err := store.RunOf(ctx, to.ReplyTo)
		if err == nil && run.Room == room.ID && run.Address.ReplyTo == to.ReplyTo {
			return run.Address, nil
		} else if ignore(err, ErrNotFound) != nil {
			return to, err
		}
	}
	if room.Address.Connector == "" {
		return to, ErrUnreached
	}
	return room.Address, nil
}

// sendNotice says what was drafted.
func (x *execution) sendNotice(ctx context.Context) error {
	draft, err := x.input(ctx)
	if err != nil {
		return err
	}
	x.answer.Apply(answer.Change{Kind: answer.Text, Text: draft.Text})
	return x.persist(ctx, func() error {
		q, err := x.rt.cfg.Store.QuestionOf(ctx, x.run.ID)
		if err == nil && q.Chooser == letIn {
			x.trace.Actions = []string{accessWord}
		}
		if err == nil && q.Open(time.Now()) {
			x.offer(q)
		}
		return ignore(err, ErrNotFound)
	})
}

// input is the only one of a run that is [RunKind.Single]. [ErrStopped] if it was taken back.
func (x *execution) input(ctx context.Context) (m Memory, err error) {
	err = x.persist(ctx, func() (err error) {
		m, err = x.rt.cfg.Store.Memory(ctx, x.run.Inputs[0])
		return ignore(err, ErrNotFound)
	})
	if err == nil && m.ID == "" {
		err = ErrStopped
	}
	if err != nil {
		return Memory{}, fmt.Errorf("read the input of %s: %w", x.run.ID, err)
	}
	return m, nil
}
