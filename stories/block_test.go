package stories_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"parley/backends"
	"parley/config"
	"parley/connectors/connectortest"
)

// wantUnknown checks that Eve is not answered, whatever she does, and that nothing of her is stored.
func (c *chatHarness) wantUnknown(word string) {
	c.Helper()
	own := c.Direct(connectortest.Eve)
	before, requests := len(connectortest.BotTexts(c, c.group)), len(c.Requests())
	c.Say(connectortest.Eve, own, word+" in private")
	c.Say(connectortest.Eve, own, "/status")
	c.Mention(connectortest.Eve, c.group, word+" in the group")
	c.Say(connectortest.Eve, c.group, word+" aside")
	if all := c.Messages(c.group); len(all) > 0 {
		c.React(connectortest.Eve, c.group, all[0], "👍", true)
	}
	c.Pass(time.Minute)
	c.WaitIdle()
	if got := connectortest.BotTexts(c, own); len(got) > 0 {
		c.Errorf("a blocked user reads %q", got)
	}
	if got := connectortest.BotTexts(c, c.group)[before:]; len(got) > 0 {
		c.Errorf("a blocked user is answered %q in the group", got)
	}
	if got := c.Requests()[requests:]; len(got) > 0 {
		c.Errorf("a blocked user causes requests: %v", got)
	}
	for _, ending := range []string{"", "-wal"} {
		data, err := os.ReadFile(backends.Path(c.cfg.Store.Reveal()) + ending)
		if err != nil && ending == "" {
			c.Error(err)
		}
		if strings.Contains(string(data), word) {
			c.Errorf("a message of a blocked user is stored in the file %q", ending)
		}
	}
}

// Users of people.blocked are not answered or stored, on any path. Taken off the list, they are users again.
func TestBlockedInTheConfiguration(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.Mention(connectortest.Ada, c.group, "Good morning")
		c.WaitIdle()
		c.restartWith(func(cfg *config.Config) {
			cfg.People.Allowed = append(cfg.People.Allowed, config.Member(c.Account(connectortest.Eve)))
			cfg.People.Blocked = append(cfg.People.Blocked, config.Member(c.Account(connectortest.Eve)))
		})
		c.wantUnknown("Quince")
		c.restartWith(func(cfg *config.Config) { cfg.People.Blocked = nil })
		c.Say(connectortest.Eve, c.Direct(connectortest.Eve), "Am I back?")
		if said := c.lastReply(connectortest.Eve); !strings.Contains(said, "Am I back?") {
			t.Errorf("after the block Eve reads %q", said)
		}
	})
}
