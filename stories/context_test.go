package stories_test

import (
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/connectortest/telegramworld"
	"parley/connectors/discord/discordfake"
	"parley/connectors/telegram/telegramfake"
	"parley/internal/golden"
)

// What Telegram's messages have besides their text is context of the next question. Service messages are no questions, also in a private
// chat, and kinds that are not known stop nothing.
func TestTelegramContextTranscript(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		chat := telegramworld.Chat(c.ada)
		media := func(fields map[string]any) {
			w.Send(connectortest.Ada, c.ada, "", telegramfake.WithMedia(fields))
			c.Pass(time.Minute)
			c.WaitIdle()
		}
		media(map[string]any{"dice": map[string]any{"emoji": "🎲", "value": 4}})
		media(map[string]any{"venue": map[string]any{"title": "Zoo", "address": "Road 1", "location": map[string]any{"latitude": 1, "longitude": 2}}})
		media(map[string]any{"story": map[string]any{"id": 1, "chat": chat}})
		media(map[string]any{"invented_later": map[string]any{"x": 1}})
		asked := len(c.model.Requests())
		media(map[string]any{"pinned_message": map[string]any{"message_id": 1, "date": 1, "chat": chat, "text": "The code is blue."}})
		media(map[string]any{"chat_background_set": map[string]any{}})
		if n := len(c.model.Requests()); n != asked {
			t.Errorf("service messages were answered: %d questions; want %d", n, asked)
		}
		c.Say(connectortest.Ada, c.ada, "What did I pin?")
		c.Pass(time.Minute)
		c.WaitIdle()
		c.wantPrompt("What did I pin?", "The code is blue.]\\n*Pinned a message*", "*Changed the chat's background*")
		golden.Check(t, "testdata/telegram/context.txt", w.Fake.Transcript(chat))
	})
}

// What Discord's messages have besides their text is context of the next question, and pinning a message is no question.
func TestDiscordContextTranscript(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		say := func(text string, with ...discordfake.SayOption) string {
			id := w.Fake.Say(string(c.ada), w.User(connectortest.Ada), text, with...)
			c.Pass(time.Minute)
			c.WaitIdle()
			return id
		}
		first := say("The code is <:blue:123>.")
		say("", discordfake.With(map[string]any{"sticker_items": []any{map[string]any{"id": "1", "name": "Wave", "format_type": 1}}}))
		say("look", discordfake.Forward(first))
		asked := len(c.model.Requests())
		say("", discordfake.With(map[string]any{"type": 6, "message_reference": map[string]any{"type": 0, "channel_id": string(c.ada), "message_id": first}}))
		if n := len(c.model.Requests()); n != asked {
			t.Errorf("a pin was answered: %d questions; want %d", n, asked)
		}
		c.Say(connectortest.Ada, c.ada, "What did I pin?")
		c.Pass(time.Minute)
		c.WaitIdle()
		c.wantPrompt("What did I pin?", "[In reply to a message: The code is :blue:.]\\n*Pinned a message*", "*Sticker Wave*", "*Forwarded:* The code is :blue:.")
		golden.Check(t, "testdata/discord/context.txt", w.Fake.Transcript(string(c.ada), w.User(connectortest.Ada)))
	})
}
