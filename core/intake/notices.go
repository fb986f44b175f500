package intake

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/core/access"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/schedule"
	"parley/core/text"
)

var errNoText = errors.New("the message is empty")

// AddressStore finds the addresses of notices.
type AddressStore interface {
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
	RunOf(ctx context.Context, id chat.MemoryID) (chat.Run, error)
}

// NoticeStore contains the store methods of [Notices].
type NoticeStore interface {
	AddressStore
	Accept(ctx context.Context, in chat.Message, j chat.JoinRule) (chat.Accepted, error)
}

// Notices accepts messages of the agent that are no answers. Its fields are set before use. It is safe for concurrent
// use.
type Notices struct {
	Store     NoticeStore
	Agent     chat.Agent
	Pairing   *access.Pairing
	Questions *Questions
	Lanes     *schedule.Lanes
}

// Say is [Notices.Send] until the shutdown begins; then it fails with [chat.ErrShutdown].
func (ns *Notices) Say(ctx context.Context, n chat.Notice) (chat.Accepted, error) {
	if ns.Lanes.Closed() {
		return chat.Accepted{}, chat.ErrShutdown
	}
	return ns.Send(ctx, n)
}

// Send stores n with the run that sends it, once for each key. During the shutdown it still stores n, and the next
// process sends it. It fails like [parley/core.Runtime.Say], without [chat.ErrShutdown].
func (ns *Notices) Send(ctx context.Context, n chat.Notice) (chat.Accepted, error) {
	acc, err := ns.send(ctx, n)
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("send a message to %s: %w", n.To.Room, err)
	}
	return acc, nil
}

func (ns *Notices) send(ctx context.Context, n chat.Notice) (chat.Accepted, error) {
	m, err := Draft(ctx, ns.Store, ns.Agent, n)
	if err != nil {
		return chat.Accepted{}, err
	}
	if silent, err := ns.Pairing.Unwelcome(ctx, ns.Agent.Entity(), m.Place); err != nil || silent {
		return chat.Accepted{Memory: m.ID}, err
	}
	j := chat.JoinRule{Kind: chat.RunNotify}
	if n.Ask != nil {
		q, err := ns.Questions.Complete(*n.Ask)
		if err != nil {
			return chat.Accepted{}, err
		}
		j.Ask = &q
	}
	acc, err := ns.Store.Accept(ctx, m, j)
	if err != nil {
		return chat.Accepted{}, err
	}
	ns.Lanes.WakeRoom(m.Room)
	return acc, nil
}

// Draft returns the message and the rule for storing n of agent. It fails if n is invalid, and with the error
// of the store.
func Draft(ctx context.Context, store AddressStore, agent chat.Agent, n chat.Notice) (chat.Message, error) {
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
	files := n.Files
	if n.Image != "" {
		to.BilledTo, files = n.To.BilledTo, []chat.Attachment{{Name: chat.ImageToGenerate, Description: n.Image}}
	}
	return chat.Message{
		Memory: chat.Memory{
			ID: chat.NoticeID(room.ID, n.Key), Room: room.ID, Kind: chat.Draft,
			Author: agent.Entity(), Name: agent.Name, Text: n.Text, InReplyTo: to.ReplyTo, At: time.Now(), Files: attachment.Clean(files),
		},
		Place: room, Address: to,
	}, nil
}

// reach completes an address. It fails with [chat.ErrUnreached] if there is none, and with the error of the store.
func reach(ctx context.Context, store AddressStore, room chat.Room, to chat.Address) (chat.Address, error) {
	if to.Connector != "" {
		return to, nil
	}
	if to.ReplyTo != "" {
		run, err := store.RunOf(ctx, to.ReplyTo)
		if err == nil && run.Room == room.ID && run.Address.ReplyTo == to.ReplyTo {
			return run.Address.Later(), nil
		} else if chat.Unless(err, chat.ErrNotFound) != nil {
			return to, err
		}
	}
	if room.Address.Connector == "" {
		return to, chat.ErrUnreached
	}
	return room.Address, nil
}

// ApprovalStore contains the store methods that [Approve] uses.
type ApprovalStore interface {
	access.ApprovalStore
	AddressStore
	Accept(ctx context.Context, m chat.Message, j chat.JoinRule) (chat.Accepted, error)
}

// Approve gives access to the user who received code, while no gateway uses the store. The next gateway notifies the
// user. It fails with [chat.ErrNotFound] if the code is unknown or has expired, and with the error of the store.
func Approve(ctx context.Context, store ApprovalStore, agent chat.Agent, code string) (chat.Person, error) {
	return access.Approve(ctx, store, func(ctx context.Context, n chat.Notice) error {
		m, err := Draft(ctx, store, agent, n)
		if err != nil {
			return err
		}
		_, err = store.Accept(ctx, m, chat.JoinRule{Kind: chat.RunNotify})
		return err
	}, code)
}
