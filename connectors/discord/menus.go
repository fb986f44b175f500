package discord

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"parley/core/chat"
	"parley/internal/lang"
)

// Discord's numbers of the types of commands: besides slash commands, those in the menus of users and of messages.
const (
	userMenu    = 2
	messageMenu = 3
)

const (
	// aboutModal begins the id of the modal with a question about a message, whose id follows. It must not change.
	aboutModal = "about:"

	mostAbouts = 200 // messages that are kept for the modals that are open
)

// abouts are messages that users ask about, until the modal with their question comes. Discord shows these also without the
// permission to read the channel, and without the Message Content intent. It is safe for concurrent use.
type abouts struct {
	mu   sync.Mutex
	kept map[string]message
}

func (a *abouts) keep(m message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.kept) >= mostAbouts {
		clear(a.kept) // they can be fetched
	}
	a.kept[m.ID] = m
}

func (a *abouts) get(id string) (message, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m, ok := a.kept[id]
	return m, ok
}

// askAbout opens a modal for a question about a message.
func (q *intake) askAbout(ctx context.Context, i interaction) error {
	m, ok := i.Data.Resolved.Messages[i.Data.Target]
	if !ok || snowflake(i.Data.Target) == 0 {
		return errors.New("read an interaction: it names no message")
	}
	q.abouts.keep(m)
	q.respondLater(ctx, i, dueNow(), answerModal, newModal(aboutModal+m.ID, lang.In(i.Locale).Say("menu.question"), m.content()))
	return nil
}

// about returns the question of a modal as a reply to the message with an id in the same channel. After a restart, the message is
// fetched.
func (q *intake) about(ctx context.Context, x *acknowledgment, id string) (chat.Inbound, error) {
	if snowflake(id) == 0 {
		return nil, tellUser(lang.In(x.i.Locale).Say("menu.unreadable"))
	}
	on, ok := q.abouts.get(id)
	if !ok {
		var r *refusal
		err := q.client.do(ctx, http.MethodGet, "channels/"+x.i.Channel+"/messages/"+id, nil, &on)
		if errors.As(err, &r) {
			return nil, tellUser(lang.In(x.i.Locale).Say("menu.unreadable"))
		} else if err != nil {
			return nil, err
		}
	}
	m := x.message(x.i.words())
	m.Reference, m.Referenced = &messageReference{Channel: x.i.Channel, Message: id}, &on
	return x.inbound(ctx, m), nil
}
