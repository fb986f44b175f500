package telegram

import (
	"cmp"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/core/chat"
	"parley/core/text"
)

// origin tells who said a forwarded message first (MessageOrigin, Bot API 7.0): a user, a user who hides their account,
// a group that an administrator wrote for, or a channel.
type origin struct {
	User   *tgbotapi.User `json:"sender_user"`
	Hidden string         `json:"sender_user_name"`
	Group  *tgbotapi.Chat `json:"sender_chat"`
	Feed   *tgbotapi.Chat `json:"chat"`
}

// words returns the text of a message that author has sent, which says whose words it is if it is forwarded. What people
// forward of their own are their words, and o is nil if nothing is forwarded.
func (o *origin) words(author chat.EntityID, said string) string {
	if o == nil || said == "" {
		return said
	}
	first, name := chat.EntityID(""), o.Hidden
	if c := cmp.Or(o.Group, o.Feed); c != nil {
		first, name = entity(c.ID), placeName(c)
	} else if o.User != nil {
		first, name = entity(o.User.ID), fullName(o.User.FirstName, o.User.LastName, o.User.UserName)
	}
	if first == author {
		return said
	}
	return text.Forwarded(name, said)
}
