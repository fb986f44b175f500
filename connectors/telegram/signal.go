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
	if err != nil || to.Kind == channel || sign == t.sign(s.Was) {
		return nil, nil
	}
	shown := "[]"
	if sign != "" {
		shown = fmt.Sprintf(`[{"type":"emoji","emoji":%q}]`, sign)
	}
	sink := newSink(t, to)
	return sink.Scopes(progressive.Edit), func(ctx context.Context) error {
		for _, id := range s.Messages {
			at := t.moves.now(to.Chat)
			message := string(id[strings.LastIndexByte(string(id), '/')+1:])
			if _, err := strconv.Atoi(message); err != nil || at != to.Chat { // numbers of messages are not kept when a group moves
				continue
			}
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
