package stories_test

import (
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/models/modelfake"
)

// A reply refers to its message, regardless of age and author; the agent gets that message's text.
func TestChatReply(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.Mention(connectortest.Ada, c.group, "the first")
		c.WaitIdle()
		first := c.Messages(c.group)[1]
		c.Say(connectortest.Bob, c.group, "cabbages\nand kings")
		remark := c.Messages(c.group)[2]
		c.Reply(connectortest.Ada, c.group, first, "why?")
		c.WaitIdle()
		c.wantModelCalls(2)
		if p := c.modelRequest(1); !strings.Contains(p, `: You said: `) || !strings.Contains(p, `the first]\n`) || strings.Contains(p, "cabbages and") {
			t.Errorf("the prompt is %s", p)
		}
		c.Reply(connectortest.Ada, c.group, remark, "no mention here")
		c.Pass(time.Minute)
		c.wantModelCalls(2)
		c.Mention(connectortest.Ada, c.group, "and that?")
		c.WaitIdle()
		if p := c.modelRequest(2); !strings.Contains(p, `[In reply to Bob: cabbages and kings]\n`) {
			t.Errorf("then the prompt is %s", p)
		}
	})
}

// A sign on a message is told to the agent with the next question, and starts nothing.
func TestChatReaction(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.Say(connectortest.Ada, c.ada, "a joke, please")
		c.wantShown(c.ada, "You said: a joke, please")
		question := c.Messages(c.ada)[0]
		for _, added := range []bool{true, false, true} { // taken back, and given again
			c.React(connectortest.Ada, c.ada, question, "👍", added)
		}
		c.Pass(time.Minute)
		c.wantModelCalls(1)
		c.Say(connectortest.Ada, c.ada, "another one")
		c.wantShown(c.ada, "You said: a joke, please", "You said: another one")
		c.React(connectortest.Ada, c.ada, c.Messages(c.ada)[1], "🔥", true)
		c.React(connectortest.Ada, c.ada, c.Messages(c.ada)[3], "🔥", true)
		c.Pass(time.Minute)
		c.wantModelCalls(2)
		c.Say(connectortest.Ada, c.ada, "and?")
		c.WaitIdle()
		p := c.modelRequest(2)
		for _, answer := range []string{"a joke, please", "another one"} {
			if !strings.Contains(p, `*Added 🔥 to your answer: \"You said: `+answer+`\"*`) {
				t.Errorf("the prompt lacks the reaction to the answer to %q: %s", answer, p)
			}
		}
		if strings.Count(p, "*Added 👍 to: ") != 2 || strings.Count(p, "*Removed 👍 to: ") != 1 {
			t.Errorf("the prompt is %s", p)
		}
	})
}

// Where a group is ambient, who begins with the agent's name is answered at once; about everything else the model is asked.
// What it says is done: to answer, to keep silent, to be quiet until called. An unreadable decision counts as no.
func TestChatAmbient(t *testing.T) {
	ambient := func(cfg *config.Config) { cfg.Access.Group = config.GroupAmbient }
	onEachPlatform(t, ambient, func(c *chatHarness) {
		c.Say(connectortest.Ada, c.group, "Parley, are you there?")
		c.WaitIdle()
		c.wantModelCalls(1)
		c.model.Queue(modelfake.Script{modelfake.Text("<response><action>IGNORE</action></response>")}, modelfake.Script{modelfake.Text("Perhaps.")}, modelfake.Script{modelfake.Text("RESPOND")}, modelfake.Script{modelfake.Text("Blue.")})
		c.Say(connectortest.Bob, c.group, "lunch?")
		c.WaitIdle()
		c.Say(connectortest.Bob, c.group, "hm")
		c.WaitIdle()
		c.wantModelCalls(3)
		c.Say(connectortest.Bob, c.group, "green or blue?")
		c.WaitIdle()
		c.wantModelCalls(5)
		c.model.Queue(modelfake.Script{modelfake.Text("STOP")})
		c.Say(connectortest.Bob, c.group, "be quiet now")
		c.WaitIdle()
		c.Say(connectortest.Bob, c.group, "are you?")
		c.Pass(time.Minute)
		c.wantModelCalls(6)
		c.Mention(connectortest.Bob, c.group, "you may speak")
		c.WaitIdle()
		c.wantModelCalls(7)
		if own := connectortest.BotTexts(c, c.group); len(own) != 3 || own[1] != "Blue." || !strings.Contains(own[2], "you may speak") {
			t.Errorf("the group reads %q", own)
		}
	})
}

// Commands are answered without the model, and are no part of prompts.
func TestChatCommands(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.Say(connectortest.Ada, c.ada, "tea or coffee?")
		c.wantShown(c.ada, "You said: tea or coffee?")
		for command, part := range map[string]string{
			"/help": "/retry", "/status": "I answer every message", "/model": "only one model",
		} {
			c.Say(connectortest.Ada, c.ada, command)
			c.WaitIdle()
			own := connectortest.BotTexts(c, c.ada)
			if last := own[len(own)-1]; !strings.Contains(last, part) {
				t.Errorf("%s says %q; want it to contain %q", command, last, part)
			}
		}
		c.wantModelCalls(1)
		c.Say(connectortest.Ada, c.ada, "milk?")
		c.WaitIdle()
		if p := c.modelRequest(1); strings.Contains(p, "/help") || strings.Contains(p, "Tell which model") {
			t.Errorf(`the prompt is %s; want it without "/help" and it without "Tell which model"`, p)
		}
	})
}

// /retry answers the last question once more, below; what was answered first stays in sight, and is forgotten.
func TestChatRetry(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.Say(connectortest.Ada, c.ada, "tea or coffee?")
		c.wantShown(c.ada, "You said: tea or coffee?")
		c.forgotten = map[string]bool{c.Messages(c.ada)[1].ID: true}
		c.model.Queue(modelfake.Script{modelfake.Text("Coffee.")})
		c.Say(connectortest.Ada, c.ada, "/retry")
		c.wantShown(c.ada, "You said: tea or coffee?", "Coffee.")
		c.Say(connectortest.Ada, c.ada, "why?")
		c.WaitIdle()
		if p := c.modelRequest(2); strings.Contains(p, "You said:") || !strings.Contains(p, "Coffee.") {
			t.Errorf(`the prompt is %s; want it without "You said:" and it to contain "Coffee."`, p)
		}
	})
}
