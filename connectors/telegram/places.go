package telegram

import (
	"context"
	"fmt"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/core/chat"
)

// world is a group with all its topics, or a channel; a private chat belongs to none.
func (a account) world(c *tgbotapi.Chat, first func(int64) int64) chat.World {
	if c.Type == private {
		return chat.World{}
	}
	return chat.World{ID: chat.WorldID(a.room(first(c.ID), 0)), Connector: Name, Name: c.Title}
}

// person is who u is.
func person(u *tgbotapi.User) chat.Entity {
	return chat.Entity{ID: entity(u.ID), Connector: Name, Names: []string{fullName(u.FirstName, u.LastName, u.UserName)}, Bot: u.IsBot}
}

// served is what a notice of the chat's says of people. What it says of us, the server says with my_chat_member too.
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

// moved is what a change of somebody's place in a chat is to the gateway; ours, if it is about us.
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
	case gone: // they have blocked us
		return chat.Left{Room: s.room(first(m.Chat.ID), 0)}
	}
	return chat.Joined{World: world, Room: s.place(&m.Chat, 0, false, first)}
}

// member hands over where the bot comes and goes, and tells the operator.
func (p *poller) member(ctx context.Context, u update) error {
	m := u.MyChatMember
	p.log.Info("the bot's place in a chat changed", "chat", m.Chat.ID, "kind", m.Chat.Type, "status", m.NewChatMember.Status)
	return p.hand(ctx, p.self.moved(m, p.moves.first), "the bot's place in", m.Chat.ID)
}

// others hands over where people come and go. The server tells that where the bot is an administrator.
func (p *poller) others(ctx context.Context, u update) error {
	return p.hand(ctx, p.self.moved(u.ChatMember, p.moves.first), "a member of", u.ChatMember.Chat.ID)
}

// hand gives in to the gateway, unless it is nothing.
func (p *poller) hand(ctx context.Context, in chat.Inbound, what string, chat int64) error {
	if in == nil {
		return nil
	}
	if _, err := p.intake.h(ctx, in); err != nil {
		return fmt.Errorf("hand over %s chat %d: %w", what, chat, err)
	}
	return nil
}
