package telegram

import (
	"slices"
	"strings"
	"unicode/utf16"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
)

// addressed reports whether m is meant for the bot: it replies to a message of the bot, or mentions it. Only the
// platform's own entities count: the bot's name inside an e-mail address, a link or code does not address it, and
// neither does quoting it.
func (s self) addressed(m *tgbotapi.Message, topic int) bool {
	if r := answered(m, topic); r != nil && r.From != nil && r.From.ID == int64(s.account) && r.SenderChat == nil {
		return true
	}
	text, entities := said(m)
	return slices.ContainsFunc(entities, func(e tgbotapi.MessageEntity) bool { return s.named(text, e) && !quoted(e, entities) })
}

// named reports whether e mentions the bot, by its username or, as users without one are mentioned, by its id. A
// command counts only with the bot's name: in a group, /help is meant for any bot.
func (s self) named(text string, e tgbotapi.MessageEntity) bool {
	switch e.Type {
	case "mention":
		return s.isUs(strings.TrimPrefix(entityText(text, e), "@"))
	case "text_mention":
		return e.User != nil && e.User.ID == int64(s.account)
	case "bot_command":
		_, to, named := strings.Cut(entityText(text, e), "@")
		return named && s.isUs(to)
	}
	return false
}

// isUs reports whether a username is the bot's. Usernames are not case-sensitive.
func (s self) isUs(username string) bool {
	return s.username != "" && strings.EqualFold(username, s.username)
}

// quoted reports whether e is inside a quote or code.
func quoted(e tgbotapi.MessageEntity, all []tgbotapi.MessageEntity) bool {
	kinds := []string{"blockquote", "expandable_blockquote", "code", "pre"}
	return slices.ContainsFunc(all, func(q tgbotapi.MessageEntity) bool {
		return slices.Contains(kinds, q.Type) && q.Offset <= e.Offset && e.Offset < q.Offset+q.Length
	})
}

// entityText returns the text that e covers, or "" if e is outside of it. Offsets count UTF-16 units.
func entityText(text string, e tgbotapi.MessageEntity) string {
	u := utf16.Encode([]rune(text))
	if e.Offset < 0 || e.Length < 0 || e.Offset > len(u) || e.Length > len(u)-e.Offset {
		return ""
	}
	return string(utf16.Decode(u[e.Offset : e.Offset+e.Length]))
}
