package discord

import (
	"context"
	"fmt"
	"time"

	"parley/core/chat"
)

// changed handles events about servers and about existing messages. Other events are ignored: Discord adds new kinds at
// any time.
func (q *intake) changed(kind string, raw []byte) error {
	var e change
	switch kind {
	case "MESSAGE_UPDATE":
		return q.edited(raw)
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK", "MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE":
		if err := decode(raw, &e); err != nil {
			return fmt.Errorf("read a change of messages: %w", err)
		}
	case "CHANNEL_DELETE", "THREAD_DELETE":
		if err := decode(raw, &e); err != nil {
			return fmt.Errorf("read a deletion of a channel: %w", err)
		}
		if snowflake(e.ID) == 0 {
			return fmt.Errorf("read a deletion of a channel: no id in it")
		}
		// Everything that was said there is forgotten, as its readers have lost access to it.
		q.note(e.ID, "", chat.Cleared{Room: roomID(e.ID), Entirely: true})
		return nil
	case "CHANNEL_UPDATE", "THREAD_UPDATE":
		if err := decode(raw, &e); err != nil {
			return fmt.Errorf("read a change of a channel: %w", err)
		}
		before, _ := q.places.get(e.ID)
		q.places.put(e.ID, before, 0) // it may have another name
		return nil
	case "GUILD_CREATE", "GUILD_UPDATE", "GUILD_DELETE":
		return q.guild(kind, raw)
	default:
		return nil
	}
	if snowflake(e.Channel) == 0 {
		return fmt.Errorf("read a change of messages: no channel in it")
	}
	switch kind {
	case "MESSAGE_DELETE":
		// A single deletion has one id, and is then handled like several.
		e.IDs = []string{e.ID}
		fallthrough
	case "MESSAGE_DELETE_BULK":
		for _, id := range e.IDs {
			if snowflake(id) == 0 {
				continue
			}
			q.note(e.Channel, id, chat.Deleted{Room: roomID(e.Channel), ID: memoryID(e.Channel, id)})
		}
	default:
		q.reacted(e, kind == "MESSAGE_REACTION_ADD")
	}
	return nil
}

// change holds the fields that are read of all those events except updates. Each event fills only some of them.
type change struct {
	ID      string   `json:"id"`
	IDs     []string `json:"ids"`
	Channel string   `json:"channel_id"`
	Message string   `json:"message_id"`
	User    string   `json:"user_id"`
	Member  *struct {
		member
		User user `json:"user"`
	} `json:"member"` // in guilds, for an added reaction
	Emoji struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"emoji"`
}

// edited delivers a message's new content. Discord also sends updates for other reasons, such as a link preview, and
// may send only some fields: without a text or an author there is nothing to deliver. The store determines whether the
// text has changed, and which room the message is in: if it has opened a thread, that of the thread.
func (q *intake) edited(raw []byte) error {
	var has struct {
		Content *string `json:"content"`
		Author  *user   `json:"author"`
	}
	if err := decode(raw, &has); err != nil {
		return fmt.Errorf("read an update: %w", err)
	}
	if has.Content == nil || has.Author == nil {
		return nil
	}
	m, err := parseMessage(raw)
	if err != nil || m.Type == pinMessage || !m.concerns(q.me) || m.content() == "" && len(m.files()) == 0 {
		return err
	}
	q.noteLater(m.Channel, m.ID, "an edit", func(ctx context.Context) chat.Inbound {
		m.ownRole = q.roles.of(ctx, m)
		return chat.Edited{Message: m.inbound(q.me, q.places.of(ctx, m))}
	})
	return nil
}

// reacted delivers an added or removed reaction of a person. Discord sends no time for it; the position in the session is the same when
// a resumed session delivers it again. A custom emoji has an id and
// a name that is shown between colons; one that was deleted has no name and is left out.
func (q *intake) reacted(e change, added bool) {
	if e.User == q.me || e.Emoji.Name == "" || snowflake(e.User) == 0 || snowflake(e.Message) == 0 {
		return
	}
	r := chat.Reaction{
		Room: roomID(e.Channel), Author: entityID(e.User), On: memoryID(e.Channel, e.Message), Message: e.Message, Emoji: e.Emoji.Name,
		Added: added, At: time.Now(),
	}
	if at := q.now.Position(); at.ID != "" {
		r.Event = fmt.Sprintf("%s/%d", at.ID, at.Seq)
	}
	if e.Emoji.ID != "" {
		r.Emoji = ":" + e.Emoji.Name + ":"
	}
	if e.Member != nil {
		r.Name = e.Member.User.shown(&e.Member.member)
	}
	q.note(e.Channel, e.Message, r)
}
