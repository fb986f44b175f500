package stories_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/connectortest/telegramworld"
	"parley/connectors/discord/discordfake"
	"parley/connectors/telegram/telegramfake"
)

// The platform of the asker is away for an hour while a call is approved, and the gateway dies meanwhile. The call is made once, and its asker reads the
// answer afterwards.
func TestChatApprovalOutlivesAnOutage(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		s, bob, _ := withCard(c, "en")
		if w, ok := c.Platform.(*telegramworld.Platform); ok {
			w.Fake.Fault(telegramfake.Fault{Status: http.StatusBadGateway, Chat: telegramworld.Chat(bob).ID, Times: -1})
		} else {
			w := c.Platform.(*discordworld.Platform)
			w.Fake.Fault(discordfake.Match{Channel: string(bob), Times: -1}, discordfake.ErrorCode(http.StatusServiceUnavailable, 0, "Service Unavailable"))
		}
		c.Platform.(buttonPlatform).Press(connectortest.Ada, c.ada, 0)
		c.Pass(20 * time.Minute)
		c.restart()
		c.Pass(40 * time.Minute)
		c.wantDone(s, `order {"item":"tea"}`)
		c.ClearFaults()
		c.Pass(10 * time.Minute)
		c.wantDone(s, `order {"item":"tea"}`)
		if got := strings.Join(connectortest.BotTexts(c, bob), "\n"); strings.Count(got, "Tea is on its way.") != 1 {
			t.Errorf("after the outage Bob reads %q", got)
		}
	})
}
