package stories_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/discord/discordfake"
	"parley/internal/subtest"
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
		c.restart()
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

// A server has more channels than a question has options: the owner names one of the others. A name that is wrong is asked for again.
func TestOneOfManyChannelsIsOpened(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		ownedByAda(c)
		c.Say(connectortest.Ada, c.ada, "Hi")
		c.WaitIdle()
		var names []string
		for i := range 30 {
			names = append(names, fmt.Sprintf("club-%d", i))
		}
		guild, general := w.Fake.AddBotToIn("Chess Club", "en", names...)
		c.Pass(10 * time.Second)
		w.PressLabel(connectortest.Ada, c.ada, "One channel")
		c.Pass(10 * time.Second)
		c.waitShown(c.ada, "In which channel of **Chess Club** can everyone talk to me?")
		c.Say(connectortest.Ada, c.ada, "#chess")
		c.Pass(10 * time.Second)
		c.waitShown(c.ada, "I know no channel #chess. In which channel of **Chess Club**")
		c.Say(connectortest.Ada, c.ada, "#Club-27")
		c.Pass(10 * time.Second)
		c.waitShown(c.ada, "Everyone in #club-27 (Chess Club) can talk to me now.")
		c.Mention(connectortest.Eve, connectortest.Room(general), "Hello")
		c.Mention(connectortest.Eve, connectortest.Room(w.Fake.ChannelNamed(guild, "club-27")), "Hello there")
		c.Pass(20 * time.Second)
		c.wantModelCalls(2) // Ada's, and the one in the open channel
	})
}

// Channels of the same name are told apart, and a name can be a number, or have emoji.
func TestChannelsWithOddNamesAreOpened(t *testing.T) {
	for name, c := range map[string]struct{ says, opens string }{
		"emoji":   {"#♟️chess", "♟️chess"},
		"number":  {"#3", "3"},
		"mention": {"<#%s>", "3"},
		"twin":    {"#club", ""},
	} {
		t.Run(name, subtest.Of(onDiscord, func(h *chatHarness, w *discordworld.Platform) {
			ownedByAda(h)
			h.Say(connectortest.Ada, h.ada, "Hi")
			h.WaitIdle()
			names := []string{"club", "club"}
			for i := range 10 {
				names = append(names, fmt.Sprintf("room-%d", i))
			}
			guild, general := w.Fake.AddBotToIn("Chess Club", "en", append(names, "♟️chess", "3", "club")...)
			h.Pass(10 * time.Second)
			w.PressLabel(connectortest.Ada, h.ada, "One channel")
			h.Pass(10 * time.Second)
			says := c.says
			if strings.Contains(says, "%s") {
				says = fmt.Sprintf(says, w.Fake.ChannelNamed(guild, c.opens))
			}
			h.Say(connectortest.Ada, h.ada, says)
			h.Pass(10 * time.Second)
			if c.opens == "" {
				h.waitShown(h.ada, "I know no channel #club. In which")
				twin := w.Fake.ChannelNamed(guild, "club")
				if w.PressLabel(connectortest.Ada, h.ada, "#club ("+twin+")") == "" {
					h.Fatalf("the buttons are %q", w.Buttons(h.ada))
				}
				h.Pass(10 * time.Second)
				c.opens = "club"
			}
			h.waitShown(h.ada, "Everyone in #"+c.opens)
			h.Mention(connectortest.Eve, connectortest.Room(general), "Hello")
			h.Mention(connectortest.Eve, connectortest.Room(w.Fake.ChannelNamed(guild, c.opens)), "Hello there")
			h.Pass(20 * time.Second)
			h.wantModelCalls(2) // Ada's, and the one in the open channel
		}))
	}
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
			c.restart()
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
		again := "#openings (Send Messages, Read Message History)"
		restarted(first, again)
		c.forgotten = map[string]bool{"": true} // of refused answers nothing is shown
		c.Mention(connectortest.Eve, connectortest.Room(openings), "Is this refused?")
		c.Pass(time.Minute)
		restarted(first, again)
	})
}

// The user who added the bot to a server is welcomed in a direct message, once, also after a crash and a new login: as the audit log says, or
// else the owner of the server. If they own the bot too, there is one message.
func TestUserWhoAddedTheBotIsWelcomed(t *testing.T) {
	for name, c := range map[string]struct {
		owner, adder connectortest.User
		audited      bool
	}{
		"audit log":        {connectortest.Ada, connectortest.Bob, true},
		"no audit log":     {connectortest.Bob, "", false},
		"owner of the bot": {connectortest.Bob, connectortest.Ada, true},
	} {
		t.Run(name, subtest.Of(onDiscord, func(h *chatHarness, w *discordworld.Platform) {
			ownedByAda(h)
			h.Say(connectortest.Ada, h.ada, "Hi")
			h.WaitIdle()
			added := ""
			if c.audited {
				added = w.User(c.adder)
			}
			w.Fake.Adding(w.User(c.owner), added)
			_, general := w.Fake.AddBotToIn("Chess Club", "en")
			h.Pass(10 * time.Second)
			h.Mention(connectortest.Eve, connectortest.Room(general), "Hello")
			h.Pass(10 * time.Second)
			h.crash()
			h.start()
			w.Fake.InvalidateSessions(false)
			h.Pass(time.Minute)
			adas := strings.Join(connectortest.BotTexts(h, h.ada), "\n")
			bob := connectortest.Room(w.Fake.AddDM(w.User(connectortest.Bob)))
			h.Say(connectortest.Bob, bob, "Thanks")
			h.Pass(10 * time.Second)
			bobs := strings.Join(connectortest.BotTexts(h, bob), "\n")
			const thanks, asks, steps = "Thank you for adding me to **Chess Club**!", "Who can talk to me there?", "1. Mention me with a question."
			want := map[bool][2]int{true: {1, 0}, false: {0, 1}}[c.adder == connectortest.Ada]
			if got := [2]int{strings.Count(adas, thanks), strings.Count(bobs, thanks)}; got != want {
				h.Errorf("Ada and Bob were welcomed %v times; want %v:\n%s\n%s", got, want, adas, bobs)
			}
			if strings.Count(adas, asks) != 1 || strings.Contains(bobs, asks) || strings.Count(bobs, steps) != want[1] || strings.Count(adas, "1. Choose below") != want[0] {
				h.Errorf("Ada reads:\n%s\nBob reads:\n%s", adas, bobs)
			}
		}))
	}
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
			if strings.Contains(text, "would like to talk to me on Discord") {
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
