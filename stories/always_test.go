package stories_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
)

// access.always.rooms: no mention is needed there, but unknown users stay unknown.
func TestChatAlwaysAnswered(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.Say(connectortest.Ada, c.group, "just saying")
		c.Pass(time.Minute)
		c.wantModelCalls(0)
		c.shutdown()
		name, _, _ := strings.Cut(c.Account(connectortest.Ada), ":")
		c.cfg.Access.Always.Rooms = []config.Chat{config.Chat(name + ":" + string(c.group))}
		c.start()
		c.Pass(10 * time.Second)
		c.Say(connectortest.Ada, c.group, "hello all")
		c.Say(connectortest.Eve, c.group, "me too")
		c.WaitIdle()
		c.wantModelCalls(1)
		if own := connectortest.BotTexts(c, c.group); len(own) != 1 || !strings.Contains(own[0], "hello all") {
			t.Errorf("the group reads %q", own)
		}
	})
}

// IN-05: another bot is answered if it is allowed to be, three times in a row; then it waits for a person.
func TestChatBotsAllowed(t *testing.T) {
	mention := func(cfg *config.Config) { cfg.Access.Bots = "mention" }
	onEachPlatform(t, mention, func(c *chatHarness) {
		c.Mention(connectortest.Robot, c.group, "I was not invited")
		c.Pass(time.Minute)
		c.wantModelCalls(0)
		c.shutdown()
		c.cfg.People.Allowed = append(c.cfg.People.Allowed, config.Member(c.Account(connectortest.Robot)))
		c.start()
		c.Pass(10 * time.Second)
		for n := range 5 {
			c.Mention(connectortest.Robot, c.group, fmt.Sprintf("beep %d", n))
			c.Pass(20 * time.Second)
		}
		c.WaitIdle()
		c.wantModelCalls(3)
		c.Mention(connectortest.Ada, c.group, "let it talk")
		c.WaitIdle()
		c.Mention(connectortest.Robot, c.group, "thank you")
		c.WaitIdle()
		c.wantModelCalls(5)
	})
}
