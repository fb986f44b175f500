package stories_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/models/modelfake"
	"parley/progressive"
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
		want := `Answer RUN: completed

- Asked: TIME by ACCOUNT; messages: 1
- Last word: after 0s
- Context: WORLD, ENTITIES, TIME
- Model: openai/fake-model; calls: 1; rounds: 1; failovers: 0; tokens: N in, N out
- Usage: N tokens in, N out, price unknown
- Messages: 1; edits: N; holds: 0; attempts: 1; crashes: 0`
		// Whether the text grew in an edit depends on the speed of the model; TestWhyCountsTheWork counts edits.
		if got := regexp.MustCompile(`edits: \d+`).ReplaceAllString(anonymous(receipt), "edits: N"); got != want {
			t.Errorf("the receipt is\n%s", got)
		}
	})
}

// anonymous replaces ids, times and numbers of tokens of a receipt, and the marks of its platform.
func anonymous(receipt string) string {
	for _, r := range [][2]string{
		{"(?m)^• ", "- "}, {"`", ""}, {`Answer \S+:`, "Answer RUN:"}, {`\d{4}-.* UTC by \S+;`, "TIME by ACCOUNT;"}, {`\d+( tokens)? in, \d+ out`, "N$1 in, N out"}, {"Answer RUN: completed\n- ", "Answer RUN: completed\n\n- "},
	} {
		receipt = regexp.MustCompile(r[0]).ReplaceAllString(receipt, r[1])
	}
	return receipt
}

// The receipt counts the edits of an answer, the refusals of the platform, and the calls of tools; and so does the line of the log.
func TestWhyCountsTheWork(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		withShop(c, nil)
		c.model.Queue(modelfake.Script{modelfake.ToolCall("l", "shop__list", `{}`)}, slowScript(tale))
		c.Say(connectortest.Ada, c.ada, "Tell me")
		c.Pass(5 * time.Second)
		c.InjectFault(connectortest.Fault{Op: progressive.Edit, Hold: 4 * time.Second})
		c.WaitIdle()
		c.Say(connectortest.Ada, c.ada, "/why")
		c.WaitIdle()
		own := connectortest.BotTexts(c, c.ada)
		if receipt := anonymous(own[len(own)-1]); !regexp.MustCompile(`(?s)calls: 2; rounds: 2; .*\n- Tool: shop__list, done.*; edits: [1-9]\d*; holds: 1; attempts: 1;`).MatchString(receipt) {
			t.Errorf("the receipt is\n%s", receipt)
		}
		if !regexp.MustCompile(`msg=answer .* edits=[1-9]\d* tools=shop__list`).MatchString(c.Logged.String()) {
			t.Errorf("no line of the log has the edits:\n%s", c.Logged.String())
		}
	})
}
