package telegram

import (
	"context"
	"slices"
	"strconv"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/core/chat"
)

// reactions is MessageReactionUpdated: a user's old and new reactions to a message (Bot API 7.0).
type reactions struct {
	Chat    tgbotapi.Chat  `json:"chat"`
	Message int            `json:"message_id"`
	User    *tgbotapi.User `json:"user"`
	Actor   *tgbotapi.Chat `json:"actor_chat"` // the chat in whose name the user reacted
	Date    int            `json:"date"`
	Old     []reaction     `json:"old_reaction"`
	New     []reaction     `json:"new_reaction"`
}

// reaction is an emoji, a custom emoji or a paid star.
type reaction struct {
	Type  string `json:"type"`
	Emoji string `json:"emoji"`
}

// sign returns the emoji of r, if it has one.
func (r reaction) sign() string {
	switch r.Type {
	case "emoji":
		return r.Emoji
	case "paid":
		return "⭐"
	}
	return ":custom:"
}

// changes returns the removed and the added reactions: Telegram sends the lists before and after. They carry no topic;
// the stored message, or the answer that the message shows, determines the room. The bot's own reactions and anonymous
// ones are left out.
func (s self) changes(r *reactions, first func(int64) int64) (all []chat.Reaction) {
	change := chat.Reaction{
		Room: s.room(first(r.Chat.ID), 0), On: s.memory(r.Chat.ID, r.Message), Message: messageID(r.Chat.ID, r.Message),
		AnyTopic: r.Chat.Type != channel, At: time.Unix(int64(r.Date), 0).UTC(),
	}
	switch {
	case r.User != nil:
		change.Author, change.Name = entity(r.User.ID), fullName(r.User.FirstName, r.User.LastName, r.User.UserName)
	case r.Actor != nil:
		change.Author, change.Name = entity(r.Actor.ID), placeName(r.Actor)
	}
	if change.Author == "" || change.Author == entity(int64(s.account)) {
		return nil
	}
	for _, list := range []struct {
		of, without []reaction
		added       bool
	}{{r.Old, r.New, false}, {r.New, r.Old, true}} {
		for _, one := range list.of {
			if !slices.Contains(list.without, one) {
				change.Emoji, change.Added = one.sign(), list.added
				all = append(all, change)
			}
		}
	}
	return all
}

// reacted delivers the changes of reactions to a message. If one fails, all are delivered again, which the store
// tolerates.
func (p *updates) reacted(ctx context.Context, u update) error {
	for _, r := range p.self.changes(u.newer.Reactions, p.moves.first) {
		r.Event = strconv.Itoa(u.UpdateID)
		if err := p.hand(ctx, r, "a reaction in", u.newer.Reactions.Chat.ID); err != nil {
			return err
		}
	}
	return nil
}
