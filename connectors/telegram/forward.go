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

// words returns the text of a message that author has sent, which says whose words it is if it is forwarded.
func (o *origin) words(author chat.EntityID, said string) string {
	if said == "" || !o.foreign(author) {
		return said
	}
	_, name := o.first()
	return text.Forwarded(name, said)
}

// viaBot returns the text of m, marked if an inline bot wrote it in the name of the sender.
func viaBot(m *tgbotapi.Message, said string) string {
	if m.ViaBot == nil || said == "" {
		return said
	}
	return text.Forwarded(fullName(m.ViaBot.FirstName, m.ViaBot.LastName, m.ViaBot.UserName), said)
}

// foreign reports whether author forwards a message. What people forward of their own are their words, and o is nil if nothing is
// forwarded.
func (o *origin) foreign(author chat.EntityID) bool {
	if o == nil {
		return false
	}
	first, _ := o.first()
	return first != author
}

// first returns who said it first, as far as that is known.
func (o *origin) first() (id chat.EntityID, name string) {
	switch c := cmp.Or(o.Group, o.Feed); {
	case c != nil:
		return entity(c.ID), placeName(c)
	case o.User != nil:
		return entity(o.User.ID), fullName(o.User.FirstName, o.User.LastName, o.User.UserName)
	}
	return "", o.Hidden
}
