package stories_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/config/configtest"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/discord/discordfake"
	"parley/connectors/telegram"
	"parley/internal/subtest"
	"parley/models/modelfake"
)

// reactions returns the bot's reactions to the messages of users with this text.
func (c *chatHarness) reactions(in connectortest.Room, text string) (all []string) {
	for _, m := range c.Messages(in) {
		if !m.ByBot && strings.HasSuffix(m.Text, text) {
			all = append(all, m.Reactions...)
		}
	}
	return all
}

// A question that waits for another answer in its channel has a reaction until its answer begins, also across a crash. One that is
// answered at once has none.
func TestReactionWhileAQuestionWaits(t *testing.T) {
	for name, interrupt := range map[string]func(*chatHarness){
		"": func(*chatHarness) {}, "crash": func(c *chatHarness) { c.crash(); c.start() },
		"stop": func(c *chatHarness) { c.Mention(connectortest.Ada, c.group, "/stop") },
	} {
		t.Run(name, subtest.Of(onDiscord, func(c *chatHarness, w *discordworld.Platform) {
			c.choose = func(modelfake.Request) modelfake.Script {
				return modelfake.Script{modelfake.Pause(20 * time.Second), modelfake.Text("Done.")}
			}
			c.Mention(connectortest.Ada, c.group, "first")
			c.Pass(time.Second)
			c.Mention(connectortest.Bob, c.group, "second")
			c.Pass(5 * time.Second)
			if one, two := c.reactions(c.group, "first"), c.reactions(c.group, "second"); len(one) != 0 || !slices.Equal(two, []string{"⏳"}) {
				c.Errorf("%q and %q; want none, and that the second waits", one, two)
			}
			interrupt(c)
			c.Pass(2 * time.Minute)
			if got := c.reactions(c.group, "second"); len(got) != 0 {
				c.Errorf("%q stays", got)
			}
			reacted := c.countRoute(w, discordfake.AddReaction)
			if reacted != 1 {
				c.Errorf("%d reactions; want one", reacted)
			}
		}))
	}
}

// countRoute returns the number of requests of a route.
func (c *chatHarness) countRoute(w *discordworld.Platform, route discordfake.Route) (n int) {
	for _, r := range w.Fake.Log() {
		if r.Route == route {
			n++
		}
	}
	return n
}

// A mention by a user without access gets a reaction, at most one in ten minutes, and costs nothing.
func TestReactionToAStranger(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		for range 3 {
			c.Mention(connectortest.Eve, c.group, "Hello?")
			c.Pass(time.Minute)
		}
		want := map[string]string{"discord": "🔒", "telegram": "🤷"}[c.name]
		if got := c.reactions(c.group, "Hello?"); !slices.Equal(got, []string{want}) {
			t.Errorf("%q; want one %s", got, want)
		}
		c.Pass(10 * time.Minute)
		c.Mention(connectortest.Eve, c.group, "Still here?")
		c.Pass(time.Minute)
		if got := c.reactions(c.group, "Still here?"); !slices.Equal(got, []string{want}) {
			t.Errorf("%q later; want one %s", got, want)
		}
		c.wantModelCalls(0)
	})
}

// Where the bot may not add reactions, it tries once a day.
func TestNoPermissionForReactions(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		w.Fake.Deny(string(c.group), discordfake.AddReactions)
		for range 3 {
			c.Mention(connectortest.Eve, c.group, "Hello?")
			c.Pass(15 * time.Minute)
		}
		if n := c.countRoute(w, discordfake.AddReaction); n != 1 {
			t.Errorf("%d attempts; want one", n)
		}
		c.Mention(connectortest.Ada, c.group, "Hi")
		c.Pass(time.Minute)
		c.wantShown(c.group, "You said: Ada: Hi")
	})
}

// On Telegram a question has a reaction while it is answered, if the owner wants that, and none afterwards, also across a crash.
func TestTelegramReactionWhileAnswering(t *testing.T) {
	for _, on := range []bool{true, false} {
		onPlatform(t, platforms()[0], func(c *config.Config) { configtest.Section[telegram.Config](c.Connectors).Reactions = on }, func(c *chatHarness) {
			c.choose = func(modelfake.Request) modelfake.Script {
				return modelfake.Script{modelfake.Pause(20 * time.Second), modelfake.Text("Done.")}
			}
			c.Mention(connectortest.Ada, c.group, "first")
			c.Pass(5 * time.Second)
			if got := c.reactions(c.group, "first"); slices.Equal(got, []string{"👀"}) != on || len(got) > 1 {
				t.Errorf("%q while it is answered", got)
			}
			c.restart()
			c.waitShown(c.group, "Done.")
			c.Pass(10 * time.Second)
			if got := c.reactions(c.group, "first"); len(got) != 0 {
				t.Errorf("%q stays", got)
			}
		})
	}
}

// In servers an answer has at most three messages, the last with a file that holds the rest; in direct messages it has more.
func TestLongAnswerInAServer(t *testing.T) {
	onDiscord(t, func(c *chatHarness, _ *discordworld.Platform) {
		for in, most := range map[connectortest.Room][2]int{c.group: {1, 3}, c.ada: {4, 10}} {
			c.model.Queue(modelfake.Script{modelfake.Text(strings.Repeat(tale+"\n\n", 60))})
			c.Mention(connectortest.Ada, in, "Tell me")
			c.WaitIdle()
			files := 0
			for _, m := range c.Messages(in) {
				files += len(m.Files)
			}
			if n := len(connectortest.BotTexts(c, in)); n < most[0] || n > most[1] || (files > 0) != (in == c.group) {
				t.Errorf("%d messages with %d files in %s; want %v", n, files, in, most)
			}
		}
	})
}
