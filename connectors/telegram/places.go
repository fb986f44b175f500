package telegram

import (
	"time"

	"context"
	"fmt"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/core/chat"
)

// world returns the world of a group with all its topics, or of a channel; a private chat has none.
func (a account) world(c *tgbotapi.Chat, first func(int64) int64) chat.World {
	if c.Type == private {
		return chat.World{}
	}
	return chat.World{ID: chat.WorldID(a.room(first(c.ID), 0)), Connector: Name, Name: c.Title}
}

// person converts a user.
func person(u *tgbotapi.User) chat.Entity {
	return chat.Entity{ID: entity(u.ID), Connector: Name, Names: []string{fullName(u.FirstName, u.LastName, u.UserName)}, Bot: u.IsBot}
}

// served converts a service message about members. Changes of the bot's own membership are ignored here, because they
// also arrive as my_chat_member.
func (s self) served(m *tgbotapi.Message, first func(int64) int64) (all []chat.Inbound) {
	if m.Chat == nil || m.Chat.Type == private {
		return nil
	}
	world := s.world(m.Chat, first)
	for _, u := range m.NewChatMembers {
		if u.ID != int64(s.account) {
			all = append(all, chat.Joined{World: world, Entity: person(&u)})
		}
	}
	if u := m.LeftChatMember; u != nil && u.ID != int64(s.account) {
		all = append(all, chat.Left{World: world.ID, Entity: entity(u.ID)})
	}
	return all
}

// moved converts a membership change, of the bot itself or of another user. It returns nil for irrelevant changes. In a
// private chat, the bot "leaves" when the user blocks it.
func (s self) moved(m *tgbotapi.ChatMemberUpdated, first func(int64) int64) chat.Inbound {
	status, u := m.NewChatMember.Status, m.NewChatMember.User
	gone := status == "left" || status == "kicked"
	world, ours := s.world(&m.Chat, first), u == nil || u.ID == int64(s.account)
	switch {
	case !ours && world.ID == "":
		return nil
	case !ours && gone:
		return chat.Left{World: world.ID, Entity: entity(u.ID)}
	case !ours:
		return chat.Joined{World: world, Entity: person(u), Role: status}
	case gone && world.ID != "":
		return chat.Left{World: world.ID}
	case gone: // the user has blocked the bot
		return chat.Left{Room: s.room(first(m.Chat.ID), 0)}
	}
	in := chat.Joined{World: world, Room: s.place(&m.Chat, 0, false, first)}
	if status == "restricted" && !m.NewChatMember.CanSendMessages {
		in.Muted = time.Unix(int64(m.Date), 0).UTC()
		return in
	}
	if was := m.OldChatMember.Status; (was == "left" || was == "kicked") && (m.Chat.Type == group || m.Chat.Type == supergroup) {
		in.Added, in.Note = time.Unix(int64(m.Date), 0).UTC(), s.hidden
		in.Room.Address = chat.Address{Connector: Name, Room: in.Room.ID, ConnectorData: address{Chat: m.Chat.ID, Kind: m.Chat.Type}.encode()}
	}
	return in
}

// member delivers a change of the bot's own membership and logs it for the operator.
func (p *updates) member(ctx context.Context, u update) error {
	m := u.MyChatMember
	p.log.Info("the bot's place in a chat changed", "chat", m.Chat.ID, "kind", m.Chat.Type, "status", m.NewChatMember.Status)
	return p.hand(ctx, p.self.moved(m, p.moves.first), "the bot's place in", m.Chat.ID)
}

// others delivers a change of another user's membership. The server sends those only to bots that are administrators.
func (p *updates) others(ctx context.Context, u update) error {
	return p.hand(ctx, p.self.moved(u.ChatMember, p.moves.first), "a member of", u.ChatMember.Chat.ID)
}

// hand delivers in to the gateway, unless it is empty.
func (p *updates) hand(ctx context.Context, in chat.Inbound, what string, chat int64) error {
	if in == nil {
		return nil
	}
	if _, err := p.h(ctx, in); err != nil {
		return fmt.Errorf("hand over %s chat %d: %w", what, chat, err)
	}
	return nil
}
