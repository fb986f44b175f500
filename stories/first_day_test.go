package stories_test

import (
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/discord/discordfake"
)

// The owner opens one channel of a new server: strangers are answered there and nowhere else, also after a crash. They are greeted in the
// language of the server.
func TestOneChannelIsOpened(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		ownedByAda(c)
		c.Say(connectortest.Ada, c.ada, "Hi")
		c.WaitIdle()
		guild, general := w.Fake.AddBotToIn("Chess Club", "de", "openings")
		c.Pass(10 * time.Second)
		club := connectortest.Room(general)
		c.waitShown(club, "Erwähne mich mit einer Frage")
		if w.PressLabel(connectortest.Ada, c.ada, "One channel") == "" {
			c.Fatalf("the buttons are %q", w.Buttons(c.ada))
		}
		c.Pass(10 * time.Second)
		c.waitShown(c.ada, "In which channel of **Chess Club** can everyone talk to me?")
		if w.PressLabel(connectortest.Ada, c.ada, "#openings") == "" {
			c.Fatalf("the buttons are %q", w.Buttons(c.ada))
		}
		c.Pass(10 * time.Second)
		c.waitShown(c.ada, "Everyone in #openings (Chess Club) can talk to me now.")
		c.crash()
		c.start()
		c.Pass(10 * time.Second)
		openings := connectortest.Room(w.Fake.ChannelNamed(guild, "openings"))
		c.Mention(connectortest.Eve, club, "Hello")
		c.Mention(connectortest.Eve, openings, "Hello there")
		c.Pass(20 * time.Second)
		c.wantModelCalls(2) // Ada's, and the one in the open channel
		if got := connectortest.BotTexts(c, openings); len(got) != 1 {
			c.Errorf("the open channel shows %q", got)
		}
	})
}

// At its start, and not only after a refusal, the bot tells the owner which permissions it lacks in the channels that are open: in one message,
// once, and again if another one goes.
func TestMissingPermissionsAreToldAtTheStart(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		ownedByAda(c)
		c.Say(connectortest.Ada, c.ada, "Hi")
		c.WaitIdle()
		guild, general := w.Fake.AddBotToIn("Chess Club", "en", "openings", "endgames")
		c.Pass(10 * time.Second)
		c.waitShown(connectortest.Room(general), "Mention me with a question")
		w.PressLabel(connectortest.Ada, c.ada, "Everyone here")
		c.Pass(10 * time.Second)
		openings, endgames := w.Fake.ChannelNamed(guild, "openings"), w.Fake.ChannelNamed(guild, "endgames")
		c.Mention(connectortest.Eve, connectortest.Room(general), "Hello")
		c.Pass(10 * time.Second)
		w.Fake.Deny(string(c.group), discordfake.SendMessages) // that isn't open
		w.Fake.Deny(openings, discordfake.SendMessages)
		w.Fake.Deny(endgames, discordfake.AddReactions)
		restarted := func(want ...string) {
			c.Helper()
			c.crash()
			c.start()
			w.Fake.InvalidateSessions(false) // the next login begins a new one
			c.Pass(time.Minute)
			var told []string
			for _, text := range connectortest.BotTexts(c, c.ada) {
				if strings.HasPrefix(text, "I lack permissions") {
					told = append(told, text)
				}
			}
			if len(told) != len(want) {
				c.Fatalf("the owner reads %q", told)
			}
			for i := range want {
				if !strings.HasPrefix(told[i], "I lack permissions in Chess Club: "+want[i]+".") {
					c.Errorf("the owner reads %q; want %q", told[i], want[i])
				}
			}
		}
		first := "#openings (Send Messages), #endgames (Add Reactions)"
		restarted(first)
		restarted(first)
		w.Fake.Deny(openings, discordfake.ReadHistory)
		restarted(first, "#openings (Send Messages, Read Message History), #endgames (Add Reactions)")
	})
}

// A stranger asks for access with the button below the refusal of a slash command; the owner approves them once.
func TestStrangerAsksForAccess(t *testing.T) {
	pairing := func(cfg *config.Config) { cfg.Access.Direct = config.DirectPairing }
	onPlatform(t, platforms()[1], pairing, func(c *chatHarness) {
		w := c.Platform.(*discordworld.Platform)
		ownedByAda(c)
		c.Say(connectortest.Ada, c.ada, "Hi")
		c.WaitIdle()
		w.Command(connectortest.Eve, c.group, "ask", "question", "Hi")
		c.Pass(5 * time.Second)
		for range 2 {
			w.Fake.Interact(3, string(c.group), w.User(connectortest.Eve), map[string]any{"custom_id": "/access:0", "component_type": 2})
			c.Pass(5 * time.Second)
		}
		told := w.Told()
		if last := told[len(told)-1]; last != "I've asked my owner. Try again when they have approved you." {
			c.Errorf("Eve reads %q", told)
		}
		asked := 0
		for _, text := range connectortest.BotTexts(c, c.ada) {
			if strings.Contains(text, "would like to talk to me on discord") {
				asked++
			}
		}
		if asked != 1 {
			c.Errorf("Ada was asked %d times: %q", asked, connectortest.BotTexts(c, c.ada))
		}
		w.PressLabel(connectortest.Ada, c.ada, "Approve")
		c.Pass(10 * time.Second)
		w.Command(connectortest.Eve, c.group, "ask", "question", "And now?")
		c.Pass(20 * time.Second)
		c.wantModelCalls(2)
	})
}
