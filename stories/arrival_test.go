package stories_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/connectortest/telegramworld"
)

// arrive adds the bot to a new server or group.
func (c *chatHarness) arrive() connectortest.Room {
	switch w := c.Platform.(type) {
	case *discordworld.Platform:
		_, channel := w.Fake.AddBotTo("Chess Club")
		return connectortest.Room(channel)
	case *telegramworld.Platform:
		group := w.Fake.AddGroup("Chess Club")
		by := w.Fake.Bot()
		by.ID, by.IsBot, by.FirstName = 77, false, "Zoe"
		w.Fake.Kick(group, by)
		w.Fake.JoinBot(group, by)
		return connectortest.Room(strconv.FormatInt(group.ID, 10))
	}
	panic("no such platform")
}

// The first day in a server or group: its members are greeted, the owner decides who can talk to the bot there, and that counts at once and
// after a restart. Strangers there have the limits of public pages.
func TestArrival(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		w := c.Platform.(buttonPlatform)
		ownedByAda(c)
		c.Say(connectortest.Ada, c.ada, "Hi")
		c.WaitIdle()
		club := c.arrive()
		c.Pass(10 * time.Second)
		c.waitShown(club, "Mention me with a question")
		c.waitShown(c.ada, "Who can talk to me there?")
		ask := func(text string) int {
			calls := len(c.model.Requests())
			c.Mention(connectortest.Eve, club, text)
			c.Pass(5 * time.Second)
			return len(c.model.Requests()) - calls
		}
		if ask("One") != 0 {
			t.Error("a stranger was answered before the choice")
		}
		w.Press(connectortest.Ada, c.ada, 0)
		c.Pass(10 * time.Second)
		c.waitShown(c.ada, "Everyone in Chess Club can talk to me now")
		if ask("Two") != 1 {
			t.Error("a stranger was not answered after the choice")
		}
		c.Mention(connectortest.Eve, c.group, "Elsewhere")
		c.Pass(10 * time.Second)
		c.restart()
		c.Pass(10 * time.Second)
		for range 52 {
			ask("Three")
		}
		answered := 0
		for _, text := range connectortest.BotTexts(c, club) {
			if strings.HasPrefix(text, "You said") {
				answered++
			}
		}
		if answered != 50 {
			t.Errorf("%d answers in a day; want the limit of public pages", answered)
		}
		if own := connectortest.BotTexts(c, club); !strings.Contains(own[len(own)-1], "limit") {
			t.Errorf("%q; want that the limit is reached", own[len(own)-1])
		}
		asked := 0
		for _, text := range connectortest.BotTexts(c, c.ada) {
			if strings.Contains(text, "I was added to") {
				asked++
			}
		}
		if asked != 1 {
			t.Errorf("the owner was asked %d times", asked)
		}
	})
}

// After the other choice, strangers stay strangers.
func TestArrivalForApprovedUsers(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		ownedByAda(c)
		c.Say(connectortest.Ada, c.ada, "Hi")
		c.WaitIdle()
		club := c.arrive()
		c.Pass(10 * time.Second)
		last := 1
		if c.name == "discord" {
			last = 2 // one channel comes before
		}
		c.Platform.(buttonPlatform).Press(connectortest.Ada, c.ada, last)
		c.Pass(10 * time.Second)
		c.waitShown(c.ada, "In Chess Club I only answer people you approve.")
		c.Mention(connectortest.Eve, club, "Hello")
		c.Pass(10 * time.Second)
		c.wantModelCalls(1)
	})
}

// A Telegram group takes the bot's right to write. The owner is told once, also after a crash.
func TestTelegramRestricted(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		ownedByAda(c)
		c.Say(connectortest.Ada, c.ada, "Hi")
		c.WaitIdle()
		w.Fake.Restrict(telegramworld.Chat(c.group), w.Fake.Bot())
		c.Pass(10 * time.Second)
		c.restart()
		c.Mention(connectortest.Ada, c.group, "Are you there?")
		c.Pass(time.Minute)
		told := 0
		for _, text := range connectortest.BotTexts(c, c.ada) {
			if strings.Contains(text, "an administrator has restricted me") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("the owner was told %d times: %q", told, connectortest.BotTexts(c, c.ada))
		}
	})
}
