package stories_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/connectortest/telegramworld"
	"parley/connectors/telegram/telegramfake"
	"parley/internal/require"
	"parley/models/modelfake"
)

// TR-24, IN-15: a group with a new id is the room that it was, in the next life of the gateway too.
func TestTelegramMigrationIsForEver(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		c.Mention(connectortest.Ada, c.group, "my cat is called Minka")
		c.WaitIdle()
		w.Migrate()
		c.group = c.Group()
		c.Pass(time.Minute)
		c.restart()
		c.Pass(time.Minute)
		c.Mention(connectortest.Ada, c.group, "what is her name?")
		c.WaitIdle()
		if p := c.modelRequest(1); !strings.Contains(p, "Minka") {
			t.Errorf(`the room forgot: %s; want it to contain "Minka"`, p)
		}
	})
}

// Removing or blocking the bot ends its answers there, and no others.
func TestTelegramThrownOut(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		c.model.Queue(slowScript(tale))
		c.Mention(connectortest.Ada, c.group, "tell us a tale")
		c.Pass(200 * time.Millisecond) // nothing is in sight yet
		id := require.Value(strconv.ParseInt(string(c.group), 10, 64))(c)
		group := telegramfake.Chat{ID: id}
		w.Fake.Kick(group, telegramfake.User{ID: 1, FirstName: "Admin"})
		c.Pass(time.Second)
		made := len(w.Fake.Log())
		c.WaitIdle()
		for _, q := range w.Fake.Log()[made:] {
			if q.Chat == group.ID {
				t.Errorf("%s to a group without the bot", q.Method)
			}
		}
		c.Say(connectortest.Ada, c.ada, "Hi")
		c.wantShown(c.ada, "You said: Hi")
	})
}

// The owner has the agent post in a channel that is a feed: once, in its own words, and with nothing of where it was asked.
func TestPostInAFeed(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		news := c.feed("news")
		c.Say(connectortest.Ada, c.ada, "Post something about tea, my darling")
		c.wantShown(c.ada, "It is out.")
		if got := connectortest.BotTexts(c, news); len(got) != 1 || strings.ReplaceAll(got[0], "*", "") != "The kettle sings." {
			t.Errorf("posted is %q", got)
		}
		if p := c.modelRequest(1); !strings.Contains(p, "It is about: tea") || strings.Contains(p, "darling") {
			t.Errorf(`who writes the post is told %s; want it to contain "It is about: tea" and it without "darling"`, p)
		}
	})
}

// feed is a channel in which there is a post already; Ada is the owner, and the agent is about to post there, about tea.
func (c *chatHarness) feed(name string) (in connectortest.Room) {
	c.Helper()
	c.shutdown()
	c.cfg.People.Owners = []config.Account{config.Account(c.Account(connectortest.Ada))}
	c.start()
	switch w := c.Platform.(type) {
	case *discordworld.Platform:
		in = connectortest.Room(w.Fake.AddNews(w.Fake.AddGuild("Café"), name))
	case *telegramworld.Platform:
		in = connectortest.Room(strconv.FormatInt(w.Fake.AddChannel(name).ID, 10))
	}
	c.Pass(10 * time.Second)
	c.Say(connectortest.Ada, in, "We open on Monday.")
	c.Pass(time.Minute)
	c.model.Queue(modelfake.Script{modelfake.ToolCall("c1", "CREATE_POST", `{"room":"#`+name+`","topic":"tea"}`)},
		modelfake.Script{modelfake.Text("<response><thought>a secret</thought>\n<post>The kettle **sings**.</post></response>")}, modelfake.Script{modelfake.Text("It is out.")})
	return in
}

// If the bot may no longer post, it tries once; the run completes all the same.
func TestPostWithoutTheRight(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		news := c.feed("news")
		id := require.Value(strconv.ParseInt(string(news), 10, 64))(c)
		w.Fake.LetPost(telegramfake.Chat{ID: id}, telegramfake.User{ID: 1, FirstName: "Admin"}, false)
		c.Pass(time.Minute)
		c.forgotten = map[string]bool{"": true} // what could not be posted
		c.Say(connectortest.Ada, c.ada, "Post something about tea")
		c.wantShown(c.ada, "It is out.")
		c.wantShown(news)
		c.Pass(time.Hour)
		var tried []string
		for _, q := range w.Fake.Log() {
			if q.Chat == id {
				tried = append(tried, q.Method+": "+q.Description)
			}
		}
		if want := []string{"sendMessage: Bad Request: need administrator rights in the channel chat"}; !slices.Equal(tried, want) {
			t.Errorf("it tried %q; want %q", tried, want)
		}
	})
}
