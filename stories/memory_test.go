package stories_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/sim"
)

// On each platform a reply of /forget has one message forgotten: it enters no further prompt.
func TestForgetByReply(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.Say(connectortest.Ada, c.ada, "My password is swordfish")
		c.Pass(time.Minute)
		c.Reply(connectortest.Ada, c.ada, c.Messages(c.ada)[0], "/forget")
		c.Pass(time.Minute)
		if own := connectortest.BotTexts(c, c.ada); len(own) != 2 || !strings.HasPrefix(own[1], "Forgotten, with my answer") {
			c.Fatalf("she reads %q", own)
		}
		c.Say(connectortest.Ada, c.ada, "And now?")
		c.Pass(time.Minute)
		if p := c.modelRequest(1); strings.Contains(p, "swordfish") {
			c.Errorf(`the prompt is %s; want it without "swordfish"`, p)
		}
		c.checks = append(c.checks, func(e *sim.Evidence) []string { // the answer stays in the chat, as its reply says
			e.Seen = slices.DeleteFunc(e.Seen, func(s sim.Sight) bool { return strings.Contains(s.Text, "swordfish") })
			return nil
		})
	})
}
