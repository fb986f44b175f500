package stories_test

import (
	"regexp"
	"strings"
	"testing"

	"parley/connectors/connectortest"
)

// /why shows the receipt of the last answer, or of the one that it replies to, to the user who asked, and not to others.
func TestWhy(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		mention := c.Platform.(interface{ Mentioning(string) string }).Mentioning
		c.Mention(connectortest.Ada, c.group, "Good morning")
		c.WaitIdle()
		last := func() string {
			c.WaitIdle()
			own := connectortest.BotTexts(c, c.group)
			return own[len(own)-1]
		}
		c.Mention(connectortest.Ada, c.group, "/why")
		receipt := last()
		c.Mention(connectortest.Bob, c.group, "/why")
		if said := last(); !strings.Contains(said, "no answer of mine here that you asked for") {
			t.Errorf("Bob reads %q", said)
		}
		c.Reply(connectortest.Ada, c.group, c.Messages(c.group)[1], mention("/why"))
		if said := last(); said != receipt {
			t.Errorf("by reply: %q; want %q", said, receipt)
		}
		want := `^Answer \S+: completed\n+\S+ Asked: \S+ \S+ UTC by \S+, 1 messages
\S+ Last word: after [0-9.]+s
\S+ Model: openai/\S+, 1 calls, [0-9]+ tokens in, [0-9]+ out
(\S+ Usage: .*\n)?\S+ Messages: 1; attempts: 1; crashes: 0$`
		if !regexp.MustCompile(want).MatchString(receipt) || strings.Contains(receipt, "morning") {
			t.Errorf("the receipt is\n%s", receipt)
		}
	})
}
