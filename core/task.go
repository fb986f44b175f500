package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/quota"
	"parley/core/text"
)

// mostTasks is how many runs may wait in a room that gets another task.
const mostTasks = 10

// task accepts a [chat.Task]. [chat.ErrNotFound] if the room is unknown, [chat.ErrUnreached] if the agent has left it or was
// never reached there. Without an error, Accepted names no run if the task is left out: the agent is muted, or too much waits.
func (t *intake) task(ctx context.Context, in chat.Task) (chat.Accepted, error) {
	in.Text, in.Files = text.Visible(text.Clean(in.Text)), attachment.Clean(in.Files)
	id := in.Message()
	if strings.TrimSpace(in.Text) == "" {
		return chat.Accepted{}, fmt.Errorf("accept %s: %w", id, errNoText)
	}
	if acc, known, err := t.arrived(ctx, chat.Memory{ID: id, Text: in.Text}); known || err != nil {
		return acc, err
	}
	room, err := t.store.Room(ctx, in.Room)
	switch {
	case err != nil:
		return chat.Accepted{}, fmt.Errorf("accept %s: %w", id, err)
	case room.Gone || room.Address.Connector == "":
		return chat.Accepted{}, fmt.Errorf("accept %s: %w", id, chat.ErrUnreached)
	}
	if a, err := t.store.Attention(ctx, room.ID); err != nil || a == chat.Muted {
		return chat.Accepted{Memory: id}, err
	}
	m := chat.Message{
		Memory: chat.Memory{ID: id, Room: room.ID, Author: in.By, Name: text.Label(in.Name), Text: in.Text, Files: in.Files, At: time.Now()},
		Place:  room, Address: room.Address,
	}
	m.Address.BilledTo = in.By
	j := chat.JoinRule{Kind: chat.RunTask, Limit: mostTasks}
	if in.Speak {
		m.Kind, m.Files, j.Kind = chat.Draft, nil, chat.RunNotify
	}
	if wait := time.Until(in.NotBefore); !in.NotBefore.IsZero() && wait > 0 {
		j.Window = wait
	}
	acc, err := t.store.Accept(ctx, m, j)
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("accept %s: %w", id, err)
	}
	if acc.Run != "" && !acc.Duplicate {
		t.rt.hub.Emit(event.Received(m, acc))
		t.rt.scheduler.wake(m.Room)
	}
	return acc, nil
}

// withinLimits counts what a task has the agent say. At a limit it is left out.
func (x *execution) withinLimits(ctx context.Context, draft chat.Memory) error {
	if !draft.Author.Automatic() {
		return nil
	}
	return x.reportLimit(ctx, x.rt.cfg.Meter.CountMessage(ctx))
}

// unattended reports whether no person has asked for what the run says.
func (x *execution) unattended() bool { return x.run.Address.BilledTo.Automatic() }

// unheard ends a run that is over a limit silently, if no person waits for it. It passes other errors on.
func (x *execution) unheard(err error) error {
	var over *quota.LimitError
	if !errors.As(err, &over) || !x.unattended() || x.answer.View().Text() != "" {
		return err
	}
	x.rt.cfg.Log.Warn("a limit is reached; a task is left out", "run", x.run.ID, "limit", over.Bucket, "until", over.Until)
	return chat.ErrNothingToSay
}
