package telegram

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/core/chat"
	"parley/progressive"
)

// sign returns the reaction that shows a status, or "". Bots can only use the standard ones.
func (t *Telegram) sign(s chat.Status) string {
	switch {
	case s == chat.NoAccess:
		return "🤷"
	case s == chat.Working && t.config.Reactions:
		return "👀"
	}
	return ""
}

// Signal implements [connectors.Signaler]. A reaction replaces the one before.
func (t *Telegram) Signal(s chat.Signal) (scopes []progressive.Scope, show func(ctx context.Context) error) {
	to, err := parseAddress(s.To.ConnectorData)
	sign := t.sign(s.Is)
	messages := t.numbers(to.Chat, s.Messages)
	if err != nil || to.Kind == channel || sign == t.sign(s.Was) || len(messages) == 0 {
		return nil, nil
	}
	shown := "[]"
	if sign != "" {
		shown = fmt.Sprintf(`[{"type":"emoji","emoji":%q}]`, sign)
	}
	sink := newSink(t, to)
	return sink.Scopes(progressive.Edit), func(ctx context.Context) error {
		at := t.moves.now(to.Chat)
		if at != to.Chat { // numbers of messages are not kept when a group moves
			return nil
		}
		for _, message := range messages {
			var done bool
			err := sink.judge(progressive.Typing, at, t.client.call(ctx, "setMessageReaction", tgbotapi.Params{
				"chat_id": strconv.FormatInt(at, 10), "message_id": message, "reaction": shown,
			}, &done))
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// numbers returns the numbers of messages of a chat. The cause of a run can be something else, such as that the bot was added to a group.
func (t *Telegram) numbers(room int64, ids []chat.MemoryID) (all []string) {
	for _, id := range ids {
		number := string(id[strings.LastIndexByte(string(id), '/')+1:])
		if n, err := strconv.Atoi(number); err == nil && id == t.account.memory(room, n) {
			all = append(all, number)
		}
	}
	return all
}
