package stories_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/models/modelfake"
	"parley/progressive"
)

// withHeld lets Ada check the answers to Bob, in his direct chat.
func withHeld(c *chatHarness) (bob connectortest.Room, w buttonPlatform) {
	c.Helper()
	c.shutdown()
	c.cfg.People.Owners = []config.Account{config.Account(c.Account(connectortest.Ada))}
	name, _, _ := strings.Cut(c.Account(connectortest.Ada), ":")
	c.cfg.Access.Overrides = []config.Override{{Rooms: []config.Chat{config.Chat(name)}, Hold: true}}
	c.cfg.Turns.Approval = time.Hour
	c.start()
	c.model.Queue(modelfake.Script{modelfake.Text("Hello.")})
	c.Say(connectortest.Ada, c.ada, "Hi") // her own answers are not held
	c.waitShown(c.ada, "Hello.")
	return c.Direct(connectortest.Bob), c.Platform.(buttonPlatform)
}

// askHeld lets Bob ask, and returns when Ada has the card.
func (c *chatHarness) askHeld(bob connectortest.Room, question, draft string) {
	c.Helper()
	c.model.Queue(modelfake.Script{modelfake.Text(draft)})
	c.Say(connectortest.Bob, bob, question)
	c.waitShown(c.ada, draft)
	c.waitShown(bob, "being checked")
	c.Pass(10 * time.Second)
	c.wantNotShown(bob, draft)
}

// wantNotShown fails if a message of the agent in a room contains part.
func (c *chatHarness) wantNotShown(in connectortest.Room, part string) {
	c.Helper()
	if texts := connectortest.BotTexts(c, in); slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, part) }) {
		c.Errorf("the messages are %q; want none with %q", texts, part)
	}
}

// An answer is shown once an approver has sent it, also if the process dies while it waits.
func TestHoldIsSent(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		bob, w := withHeld(c)
		c.askHeld(bob, "How much is tea?", "Tea costs 3 euros.")
		c.restart()
		c.Pass(time.Minute)
		c.wantNotShown(bob, "3 euros")
		w.Press(connectortest.Ada, c.ada, 0)
		c.waitShown(bob, "Tea costs 3 euros.")
		c.Pass(time.Minute)
		c.wantNotShown(bob, "being checked")
		c.wantNotShown(c.ada, "Nothing")
		c.askHeld(bob, "And cake?", "Cake costs 4 euros.")
		if last := c.modelRequest(len(c.model.Requests()) - 1); !strings.Contains(last, "Tea costs 3 euros.") {
			t.Errorf("the model reads %s; want the answer that was sent", last)
		}
		c.restart() // just as she presses
		w.Press(connectortest.Ada, c.ada, 0)
		c.restart()
		c.waitShown(bob, "Cake costs 4 euros.")
		c.Pass(time.Minute)
		texts := connectortest.BotTexts(c, bob)
		if n := len(slices.DeleteFunc(texts, func(s string) bool { return !strings.Contains(s, "Cake costs") })); n != 1 && !c.noLookup {
			t.Errorf("Bob reads the answer %d times: %q", n, texts)
		}
	})
}

// The words of a reply to the card are sent in place of the draft, and remembered. Another message is no answer to the card.
func TestHoldIsEdited(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		bob, _ := withHeld(c)
		c.askHeld(bob, "How much is tea?", "Tea costs 3 euros.")
		c.model.Queue(modelfake.Script{modelfake.Text("You have a card above.")})
		c.Say(connectortest.Ada, c.ada, "What's up?")
		c.waitShown(c.ada, "You have a card above.")
		for _, m := range c.Messages(c.ada) {
			if strings.Contains(m.Text, "3 euros") {
				c.Reply(connectortest.Ada, c.ada, m, "Tea costs 5 euros since May.")
			}
		}
		c.waitShown(bob, "Tea costs 5 euros since May.")
		c.Pass(time.Minute)
		c.wantNotShown(bob, "3 euros")
		c.askHeld(bob, "And cake?", "Cake costs 4 euros.")
		if last := c.modelRequest(len(c.model.Requests()) - 1); !strings.Contains(last, "5 euros since May") || strings.Contains(last, "3 euros") {
			t.Errorf("the model reads %s; want the words of Ada", last)
		}
		c.Pass(time.Hour)
	})
}

// An answer can be changed on the operator's page, too, after a crash. It is sent and remembered as it was written there, and the card shows that it is decided.
func TestHoldIsEditedOnTheOperatorsPage(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		bob, w := withHeld(c)
		o := c.logIn(connectortest.Ada)
		c.askHeld(bob, "How much is tea?", "Tea costs 3 euros.")
		c.restart()
		c.Pass(time.Minute)
		page := o.get("/requests")
		if !strings.Contains(page, "Tea costs 3 euros.</textarea>") {
			t.Fatalf("the page lacks the answer: %s", page)
		}
		id := o.id(page)
		if said := o.post("/requests", "do", "change", "id", id, "text", "  "); !strings.Contains(said, "Write a text first.") {
			t.Errorf("without a text the operator reads %s", said)
		}
		if said := o.post("/requests", "do", "change", "id", id, "text", "Tea costs 5 euros since May."); !strings.Contains(said, "Sent.") {
			t.Errorf("the operator reads %s", said)
		}
		c.waitShown(bob, "Tea costs 5 euros since May.")
		c.Pass(time.Minute)
		c.wantNotShown(bob, "3 euros")
		if got := w.Buttons(c.ada); len(got) > 0 {
			t.Errorf("the buttons %q are left", got)
		}
		if said := o.post("/requests", "do", "change", "id", id, "text", "Tea is free."); !strings.Contains(said, "This request has closed.") {
			t.Errorf("a second decision: %s", said)
		}
		c.askHeld(bob, "And cake?", "Cake costs 4 euros.")
		if last := c.modelRequest(len(c.model.Requests()) - 1); !strings.Contains(last, "5 euros since May") || strings.Contains(last, "3 euros") {
			t.Errorf("the model reads %s; want the words of Ada", last)
		}
		c.Pass(time.Hour)
	})
}

// A discarded answer, and one that no one checks in time, end with one sentence. A second press changes nothing.
func TestHoldIsNotSent(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		bob, w := withHeld(c)
		c.askHeld(bob, "How much is tea?", "Tea costs 3 euros.")
		w.Press(connectortest.Ada, c.ada, 1)
		w.Press(connectortest.Ada, c.ada, 0)
		c.waitShown(bob, "ask someone from the team")
		c.askHeld(bob, "And cake?", "Cake costs 4 euros.")
		c.Pass(time.Hour)
		c.waitShown(bob, "could check my answer in time")
		c.Pass(time.Minute)
		w.PressAgain(connectortest.Ada, c.ada, "0")
		c.Pass(time.Minute)
		c.wantNotShown(bob, "euros")
		c.wantNotShown(bob, "being checked")
	})
}

// The end of one held answer adds nothing to the card of a later one: its question was written before.
func TestHoldEndsBesideALaterOne(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		bob, _ := withHeld(c)
		c.askHeld(bob, "How much is tea?", "Tea costs 3 euros.")
		c.Pass(20 * time.Minute)
		c.askHeld(bob, "And cake?", "Cake costs 4 euros.")
		c.waitShown(c.ada, "wrote since: And cake?")
		c.Pass(41 * time.Minute)
		c.waitShown(bob, "could check my answer in time")
		c.wantNotShown(c.ada, "wrote since: How much is tea?")
		c.Pass(time.Hour)
	})
}

// A call of a held answer shows nothing either, and a writing call is not repeated after the wait.
func TestHoldHidesCalls(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		s := withShop(c, func(cfg *config.Config) {
			name, _, _ := strings.Cut(c.Account(connectortest.Ada), ":")
			cfg.Access.Overrides = []config.Override{{Rooms: []config.Chat{config.Chat(name)}, Hold: true}}
		})
		w, bob := c.Platform.(buttonPlatform), c.Direct(connectortest.Bob)
		c.model.Queue(modelfake.Script{modelfake.Text("Hello.")})
		c.Say(connectortest.Ada, c.ada, "Hi")
		c.waitShown(c.ada, "Hello.")
		c.queueCall("shop__order", `{"item":"gold"}`, "The gold is yours.")
		c.Say(connectortest.Bob, bob, "Order gold")
		c.waitShown(c.ada, `{"item":"gold"}`)
		c.Pass(10 * time.Second)
		w.Press(connectortest.Ada, c.ada, 0) // the call
		c.waitShown(c.ada, "The gold is yours.")
		c.waitShown(bob, "being checked")
		c.restart()
		c.Pass(time.Minute)
		c.wantNotShown(bob, "gold is yours")
		w.Press(connectortest.Ada, c.ada, 0) // the answer
		c.waitShown(bob, "The gold is yours.")
		c.Pass(time.Minute)
		c.wantDone(s, `order {"item":"gold"}`)
	})
}

// A visitor of the page reads that the answer is being checked, and then the answer, also with a stream that began before.
func TestHoldOnThePage(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		_, w := withHeld(c)
		c.shutdown()
		c.cfg.Web.Public = true
		c.cfg.Access.Overrides = []config.Override{{Rooms: []config.Chat{"web"}, Hold: true}}
		c.start()
		c.Pass(10 * time.Second)
		c.model.Queue(modelfake.Script{modelfake.Text("Tea costs "), modelfake.Pause(time.Second), modelfake.Text("3 euros.")})
		id := c.newConversation()
		stream := c.send(id, "1", "How much is tea?")
		c.readUntil(stream, "being checked")
		c.waitShown(c.ada, "Tea costs 3 euros.")
		w.Press(connectortest.Ada, c.ada, 0)
		c.Pass(time.Minute)
		lines := c.lines(id)
		if last := lines[len(lines)-1]; last.Text != "Tea costs 3 euros." {
			t.Errorf("the visitor reads %+v", lines)
		}
	})
}

// I6: what a platform forbade for long is forbidden to the next life too, also its typing signs. Then the answer comes.
func TestChatHoldOutlivesACrash(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		const hold = 10 * time.Minute
		c.InjectFault(connectortest.Fault{Op: progressive.Edit, Nth: 1, Hold: hold})
		c.model.Queue(slowScript(tale), modelfake.Script{modelfake.Text(tale)}) // for either life
		c.Say(connectortest.Ada, c.ada, "Tell me")
		c.Pass(20 * time.Second)
		c.restart()
		c.wantShown(c.ada, tale)
		var until time.Time
		for _, q := range c.Requests() {
			if q.From.Before(until) {
				t.Errorf("%v before the hold was over: %+v", until.Sub(q.From), q)
			}
			if q.Hold > 0 {
				until = q.To.Add(q.Hold)
			}
		}
		if until.IsZero() {
			t.Error("no request was held; want one")
		}
	})
}
