package intake

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/llm"
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
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
	attachment.Uploads
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
}

// Tasks accepts tasks. Its fields are set before use. It is safe for concurrent use.
type Tasks struct {
	Store     TaskStore
	Agent     chat.EntityID
	Pairing   *access.Pairing
	Questions *Questions
	Lanes     *schedule.Lanes
	Emit      func(e event.Event)
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
	if silent, err := t.Pairing.Unwelcome(ctx, t.Agent, room); err != nil || silent {
		return chat.Accepted{Memory: id}, err
	}
	m, j := messageOf(in, room)
	if len(in.Options) > 0 {
		if j.Ask, err = t.question(ctx, in); err != nil {
			return chat.Accepted{}, err
		}
	}
	if in.Speak {
		if m.Files, err = attachment.Save(ctx, t.Store, m.Memory, llm.Showable(in.Content)); err != nil {
			return chat.Accepted{}, err
		}
	}
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
		m.Kind, j.Kind = chat.Draft, chat.RunNotify
	}
	if wait := time.Until(in.NotBefore); !in.NotBefore.IsZero() && wait > 0 {
		j.Window = wait
	}
	return m, j
}

const (
	choosers   = 50             // messages whose authors can choose an option of a task
	taskChoice = 24 * time.Hour // for how long
)

// question returns the question with the options of in, for those who have written in the room lately. It fails with
// [chat.ErrUnreached] if there are none, and with the error of the store.
func (t *Tasks) question(ctx context.Context, in chat.Task) (*chat.Question, error) {
	recent, err := t.Store.Recent(ctx, in.Room, chat.Said, 0, choosers)
	if err != nil {
		return nil, err
	}
	q := chat.Question{Options: in.Options, Handler: action.AsMessage, Expires: time.Now().Add(max(0, time.Until(in.NotBefore)) + taskChoice)}
	for _, m := range recent {
		if m.Author != t.Agent && !m.Author.Automatic() && !slices.Contains(q.For, m.Author) {
			q.For = append(q.For, m.Author)
		}
	}
	if len(q.For) == 0 {
		return nil, chat.ErrUnreached
	}
	q, err = t.Questions.Complete(q)
	return &q, err
}
