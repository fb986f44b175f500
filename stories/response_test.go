package stories_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/discord/discordfake"
	"parley/models/modelfake"
)

// paced is a script with n words, one in each interval.
func paced(n int, each time.Duration) modelfake.Script {
	return modelfake.Script{modelfake.Pace(each), modelfake.Text(strings.TrimSpace(strings.Repeat("word ", n)), modelfake.ByWord)}
}

// An answer that outlives the token of its interaction goes on in the channel: the user reads all of it, once (DR-22).
func TestDiscordTokenExpiresInMidAnswer(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		c.shutdown()
		c.cfg.Turns.Timeout = time.Hour
		c.start()
		c.Pass(10 * time.Second)
		c.model.Queue(paced(60, 17*time.Second))
		w.Command(connectortest.Ada, c.group, "ask", "question", "Tell me")
		c.Pass(25 * time.Minute)
		c.WaitIdle()
		want := strings.TrimSpace(strings.Repeat("word ", 60))
		if got := connectortest.BotTexts(c, c.group); len(got) != 2 || got[0] != want || !strings.HasSuffix(got[1], pointerMark) {
			c.Errorf("people read %q; want all words, and a message that refers to them", got)
		}
	})
}

// A permission that is removed in mid-answer ends what the bot can write there; it says so nowhere twice, and answers again when the permission
// is back.
func TestDiscordPermissionRemovedInMidAnswer(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		c.model.Queue(paced(60, 300*time.Millisecond))
		c.Mention(connectortest.Ada, c.group, "Tell me")
		c.Pass(5 * time.Second)
		w.Fake.Deny(string(c.group), discordfake.SendMessages)
		c.Pass(time.Minute)
		c.WaitIdle()
		w.Fake.Grant(string(c.group), discordfake.SendMessages)
		c.Mention(connectortest.Ada, c.group, "Hi again")
		c.Pass(2 * time.Minute)
		texts := connectortest.BotTexts(c, c.group)
		if last := texts[len(texts)-1]; !strings.Contains(last, "Hi again") {
			c.Errorf("the channel shows %q", texts)
		}
	})
}

// A hundred channels are answered at once, without a request that Discord refuses.
func TestDiscordHundredChannels(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		var rooms []connectortest.Room
		for i := range 100 {
			rooms = append(rooms, connectortest.Room(w.Fake.AddChannel(w.Guild(), fmt.Sprintf("channel-%d", i))))
			c.model.Queue(paced(60, 300*time.Millisecond))
		}
		w.Fake.InvalidateSessions(false) // the next session describes the new channels
		c.Pass(10 * time.Second)
		for i, r := range rooms {
			c.Mention(connectortest.Ada, r, fmt.Sprintf("Tell me number %d", i))
		}
		c.Pass(5 * time.Minute)
		c.WaitIdle()
		for _, r := range rooms {
			if got := connectortest.BotTexts(c, r); len(got) != 1 || strings.Count(got[0], "word") != 60 {
				c.Fatalf("%s shows %q", r, got)
			}
		}
		if n := w.Fake.InvalidRequests(); n != 0 {
			c.Errorf("%d requests were refused; want none", n)
		}
	})
}
