package stories_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/connectortest/telegramworld"
	"parley/connectors/telegram/telegramfake"
)

// picture is a photo of an album.
func picture(album string, n int) telegramfake.SayOption {
	return telegramfake.WithMedia(map[string]any{"media_group_id": album, "photo": []map[string]any{
		{"file_id": fmt.Sprintf("small-%d", n), "file_unique_id": "s", "width": 90, "height": 60},
		{"file_id": fmt.Sprintf("large-%d", n), "file_unique_id": "l", "width": 1280, "height": 853},
	}})
}

// IN-13, TR-26: an album is answered once, also one that comes in slowly, and in a group where only its caption calls
// the bot.
func TestTelegramAlbum(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		for i, in := range []connectortest.Room{c.ada, c.group} {
			caption := "@" + w.Fake.Bot().Username + " what are these?"
			for n := range 10 {
				w.Send(connectortest.Ada, in, caption, picture("album", n))
				caption = ""
				c.Pass(time.Second)
			}
			c.WaitIdle()
			c.wantModelCalls(i + 1)
			if p := c.modelRequest(i); strings.Count(p, "photo.jpg") != 10 {
				t.Errorf("the prompt holds %d pictures: %s; want 10", strings.Count(p, "photo.jpg"), p)
			}
			if own := connectortest.BotTexts(c, in); len(own) != 1 {
				t.Errorf("%s reads %q; want 1", in, own)
			}
		}
	})
}

// IN-13: a text that Telegram's apps cut in two is one question, and so are a picture and what is written to it.
func TestTelegramParts(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		c.Say(connectortest.Ada, c.ada, strings.Repeat("word ", 800))
		c.Pass(500 * time.Millisecond)
		c.Say(connectortest.Ada, c.ada, "the end")
		c.wantShown(c.ada, "You said: the end")
		c.wantModelCalls(1)
		w.Send(connectortest.Ada, c.ada, "", picture("", 1))
		c.Pass(time.Second)
		c.Say(connectortest.Ada, c.ada, "what is this?")
		c.wantShown(c.ada, "You said: the end", "You said: what is this?")
		c.wantModelCalls(2)
	})
}

// A voice message is answered where there is nothing to listen with, without the model.
func TestTelegramVoiceUnheard(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		w.Send(connectortest.Ada, c.ada, "", telegramfake.WithMedia(map[string]any{
			"voice": map[string]any{"file_id": "v", "file_unique_id": "u", "duration": 3, "mime_type": "audio/ogg"},
		}))
		c.wantShown(c.ada, "I can't listen to voice messages here. Please send me text instead.")
		c.wantModelCalls(0)
	})
}
