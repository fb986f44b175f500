package intake

import (
	"context"
	"fmt"
	"strings"
	"time"

	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/schedule"
	"parley/core/text"
)

// mostTasks is the maximum number of waiting runs in a room that accepts another task.
const mostTasks = 10

// TaskStore contains the store methods of [Tasks].
type TaskStore interface {
	KnownStore
	Accept(ctx context.Context, in chat.Message, j chat.JoinRule) (chat.Accepted, error)
	Attention(ctx context.Context, room chat.RoomID) (chat.Attention, error)
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
}

// Tasks accepts tasks. Its fields are set before use. It is safe for concurrent use.
type Tasks struct {
	Store TaskStore
	Lanes *schedule.Lanes
	Emit  func(e event.Event)
}

// accept accepts in. It fails with [chat.ErrNotFound] if the room is unknown, and with [chat.ErrUnreached] if the agent
// has left it or was never reached there. Without an error, Accepted names no run if the task is left out: the agent is
// muted, or too many runs wait.
func (t *Tasks) accept(ctx context.Context, in chat.Task) (acc chat.Accepted, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("accept %s: %w", in.Message(), err)
		}
	}()
	in.Text, in.Files = text.Visible(text.Clean(in.Text)), attachment.Clean(in.Files)
	id := in.Message()
	if strings.TrimSpace(in.Text) == "" {
		return chat.Accepted{}, errNoText
	}
	acc, err = t.Store.Known(ctx, chat.Memory{ID: id, Text: in.Text})
	if err == nil || chat.Unless(err, chat.ErrNotFound) != nil {
		return acc, err
	}
	room, err := t.Store.Room(ctx, in.Room)
	switch {
	case err != nil:
		return chat.Accepted{}, err
	case room.Gone || room.Address.Connector == "":
		return chat.Accepted{}, chat.ErrUnreached
	}
	if a, err := t.Store.Attention(ctx, room.ID); err != nil || a == chat.Muted {
		return chat.Accepted{Memory: id}, err
	}
	m, j := messageOf(in, room)
	acc, err = t.Store.Accept(ctx, m, j)
	if err == nil && acc.Run != "" && !acc.Duplicate {
		t.Emit(event.Received(m, acc))
		t.Lanes.WakeRoom(m.Room)
	}
	return acc, err
}

// messageOf returns the message and the rule for storing in.
func messageOf(in chat.Task, room chat.Room) (chat.Message, chat.JoinRule) {
	m := chat.Message{
		Memory: chat.Memory{ID: in.Message(), Room: room.ID, Author: in.By, Name: text.Label(in.Name), Text: in.Text, Files: in.Files, At: time.Now()},
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
	return m, j
}
