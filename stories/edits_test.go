package stories_test

import (
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/connectortest/telegramworld"
	"parley/connectors/telegram/telegramfake"
)

// A question that is edited soon after is answered again in the same message.
func TestEditedQuestion(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.Say(connectortest.Ada, c.ada, "Say no")
		c.wantShown(c.ada, "You said: Say no")
		question := c.Messages(c.ada)[0]
		for _, now := range []string{"Say hello", "Say goodbye"} {
			c.Edit(c.ada, question, now)
			c.Pass(time.Minute)
			c.wantShown(c.ada, "You said: "+now)
		}
		c.wantModelCalls(3)
		if n := len(c.Messages(c.ada)); n != 2 {
			t.Errorf("there are %d messages; want 2", n)
		}
		_, ends := c.events.of()
		for _, e := range ends { // durations are those since the edit
			if e.End.Sub(e.Opened) > 30*time.Second || e.End.Sub(e.Asked) > 30*time.Second {
				t.Errorf("asked at %v and accepted at %v, an answer ended at %v", e.Asked, e.Opened, e.End)
			}
		}
	})
}

// A question that is edited while the first message of its answer is on its way is answered once, in that message.
func TestQuestionEditedDuringThePost(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		w.Fake.Fault(telegramfake.Fault{Method: "sendMessage", DelayAnswer: time.Second, Times: -1})
		c.Say(connectortest.Ada, c.ada, "Say no")
		c.waitShown(c.ada, "Say no")
		c.Edit(c.ada, c.Messages(c.ada)[0], "Say hello")
		c.Pass(time.Minute)
		c.wantShown(c.ada, "You said: Say hello")
	})
}

// IN-12: a preview of its link is no edit of a question.
func TestUnfurledQuestion(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		c.Say(connectortest.Ada, c.ada, "Say hello")
		c.wantShown(c.ada, "You said: Say hello")
		w.Fake.Unfurl(c.Messages(c.ada)[0].ID)
		c.Pass(time.Minute)
		c.wantModelCalls(1)
	})
}

// ST-21: a question that is deleted takes along what was shown of its answer.
func TestDeletedQuestion(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		c.Say(connectortest.Ada, c.ada, "Hello")
		c.wantShown(c.ada, "You said: Hello")
		c.model.Queue(slowScript(tale))
		c.Say(connectortest.Ada, c.ada, "Tell me a tale")
		c.waitShown(c.ada, "Once upon a time")
		w.Fake.UserDelete(c.Messages(c.ada)[2].ID)
		c.Pass(time.Minute)
		c.wantShown(c.ada, "You said: Hello")
	})
}
