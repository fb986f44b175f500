// Package initiative makes messages of what the agent does when no person asks for it right then: notices and tasks.
package initiative

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/text"
)

var errNoText = errors.New("the message is empty")

// Store finds where notices go.
type Store interface {
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
	RunOf(ctx context.Context, id chat.MemoryID) (chat.Run, error)
}

// Draft returns what n of agent is to the journal.
func Draft(ctx context.Context, store Store, agent chat.Agent, n chat.Notice) (chat.Message, error) {
	n = text.CleanAll(n)
	switch {
	case strings.TrimSpace(n.Text) == "":
		return chat.Message{}, errNoText
	case len(n.To.ConnectorData) > chat.MaxOwn:
		return chat.Message{}, chat.ErrTooLarge
	}
	room, err := store.Room(ctx, n.To.Room)
	if err != nil {
		return chat.Message{}, err
	}
	to, err := reach(ctx, store, room, n.To)
	if err != nil {
		return chat.Message{}, err
	}
	if n.Key == "" {
		n.Key = rand.Text()
	}
	var files []chat.Attachment
	if n.Image != "" {
		to.BilledTo, files = n.To.BilledTo, []chat.Attachment{{Name: toGenerate, Description: n.Image}}
	}
	return chat.Message{
		Memory: chat.Memory{
			ID: chat.NoticeID(room.ID, n.Key), Room: room.ID, Kind: chat.Draft,
			Author: agent.Entity(), Name: agent.Name, Text: n.Text, InReplyTo: to.ReplyTo, At: time.Now(), Files: attachment.Clean(files),
		},
		Place: room, Address: to,
	}, nil
}

// reach completes an address.
func reach(ctx context.Context, store Store, room chat.Room, to chat.Address) (chat.Address, error) {
	if to.Connector != "" {
		return to, nil
	}
	if to.ReplyTo != "" {
		run, err := store.RunOf(ctx, to.ReplyTo)
		if err == nil && run.Room == room.ID && run.Address.ReplyTo == to.ReplyTo {
			return run.Address, nil
		} else if chat.Unless(err, chat.ErrNotFound) != nil {
			return to, err
		}
	}
	if room.Address.Connector == "" {
		return to, chat.ErrUnreached
	}
	return room.Address, nil
}
