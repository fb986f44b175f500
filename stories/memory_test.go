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
	onEach(t, nil, func(c *chatStory) {
		c.Say(connectortest.Ada, c.ada, "My password is swordfish")
		c.Pass(time.Minute)
		c.Reply(connectortest.Ada, c.ada, c.Sees(c.ada)[0], "/forget")
		c.Pass(time.Minute)
		if own := connectortest.Own(c, c.ada); len(own) != 2 || !strings.HasPrefix(own[1], "Forgotten, with my answer") {
			c.Fatalf("she reads %q", own)
		}
		c.Say(connectortest.Ada, c.ada, "And now?")
		c.Pass(time.Minute)
		if p := c.prompt(1); strings.Contains(p, "swordfish") {
			c.Errorf("the prompt is %s", p)
		}
		c.looks = append(c.looks, func(e *sim.Evidence) []string { // the answer stays in the chat, as its reply says
			e.Seen = slices.DeleteFunc(e.Seen, func(s sim.Sight) bool { return strings.Contains(s.Text, "swordfish") })
			return nil
		})
	})
}
