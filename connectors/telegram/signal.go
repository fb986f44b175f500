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

// signs are the reactions that show a status. Bots can only use the standard ones.
var signs = map[chat.Status]string{chat.NoAccess: "🤷"}

// Signal implements [connectors.Signaler]. A reaction replaces the one before.
func (t *Telegram) Signal(s chat.Signal) (scopes []progressive.Scope, show func(ctx context.Context) error) {
	to, err := parseAddress(s.To.ConnectorData)
	sign := signs[s.Is]
	if err != nil || to.Kind == channel || sign == signs[s.Was] {
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
