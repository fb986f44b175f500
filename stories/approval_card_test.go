package stories_test

import (
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/core/chat"
	"parley/internal/require"
	"parley/models/modelfake"
)

// withCard starts the shop in Tokyo's time, and lets Bob order tea. It returns when Ada has the card, with the request.
func withCard(c *chatHarness, language string) (s *toolServer, bob connectortest.Room, r chat.Approval) {
	c.Helper()
	s, bob = withShop(c, func(cfg *config.Config) { cfg.Timezone = "Asia/Tokyo" }), c.Direct(connectortest.Bob)
	c.model.Queue(modelfake.Script{modelfake.Text("Hello.")})
	c.Say(connectortest.Ada, c.ada, "Hi") // so that she can be reached
	c.waitShown(c.ada, "Hello.")
	c.Say(connectortest.Ada, c.ada, "/language "+language)
	c.Pass(5 * time.Second)
	c.queueCall("shop__order", `{"item":"tea"}`, "Tea is on its way.")
	c.Say(connectortest.Bob, bob, "Order tea")
	c.waitShown(c.ada, `{"item":"tea"}`)
	for _, room := range c.rooms() {
		open := require.Value(c.Store.OpenApprovals(c.Context(), room, 1))(c)
		if len(open) > 0 {
			r = open[0]
		}
	}
	return s, bob, r
}

// A card shows until when it waits, in the language of its reader and the time of the gateway, also after a crash.
func TestChatCardShowsUntil(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		s, bob, r := withCard(c, "de")
		c.restart()
		zone := require.Value(time.LoadLocation("Asia/Tokyo"))(c)
		c.waitShown(c.ada, "Bis "+r.Expires.In(zone).Format("15:04")+".")
		c.Platform.(buttonPlatform).Press(connectortest.Ada, c.ada, 0)
		c.waitShown(bob, "Tea is on its way.")
		c.wantDone(s, `order {"item":"tea"}`)
	})
}

// A card that waits is sent once more at half of its time, also after crashes. Either card decides, both show it, and both end. What
// the asker writes comes to the last one. A card that is decided before is not sent again.
func TestChatCardReminds(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		shown := func(part string) (n int) {
			for _, s := range connectortest.BotTexts(c, c.ada) {
				n += strings.Count(s, part)
			}
			return n
		}
		wantShown := func(part string, n int) {
			c.Helper()
			if got := shown(part); got != n {
				c.Errorf("Ada reads %d times %q; want %d", got, part, n)
			}
		}
		const reminds = "still waits for you"
		s, bob, _ := withCard(c, "en")
		c.restart()
		c.Pass(28 * time.Minute)
		wantShown(reminds, 0)
		c.model.Queue(modelfake.Script{modelfake.Text("Noted.")}, modelfake.Script{modelfake.Text("No tea.")})
		c.Say(connectortest.Bob, bob, "Green tea, please")
		c.waitShown(bob, "Tea is on its way.") // the script that is next
		if all := connectortest.BotTexts(c, c.ada); !strings.Contains(all[len(all)-1], `{"item":"tea"}`) || !strings.Contains(all[len(all)-1], "Green tea") {
			c.Errorf("what Bob wrote is not on the card: %q", all)
		}
		c.Pass(2 * time.Minute)
		c.waitShown(c.ada, reminds)
		if all := c.Notified(c.ada); !strings.Contains(all[len(all)-1], reminds) {
			c.Errorf("Ada is notified of %q", all)
		}
		c.restart()
		c.Pass(10 * time.Minute)
		wantShown(reminds, 1)
		c.Say(connectortest.Bob, bob, "With milk")
		c.waitShown(bob, "Noted.")
		c.Pass(5 * time.Second)
		if all := connectortest.BotTexts(c, c.ada); !strings.Contains(all[len(all)-1], reminds) || !strings.Contains(all[len(all)-1], "With milk") {
			c.Errorf("what Bob wrote is not on the last card: %q", all)
		}
		c.Say(connectortest.Ada, c.ada, "Deny: out of tea")
		c.Pass(5 * time.Second)
		if all := connectortest.BotTexts(c, bob); !strings.Contains(all[0], "No tea.") {
			c.Errorf("Bob reads %q", all)
		}
		if last := c.modelRequest(len(c.model.Requests()) - 1); !strings.Contains(last, "out of tea") {
			t.Errorf("the model reads %s", last)
		}
		c.Pass(2 * time.Second)
		wantShown("denied this.", 1) // the first card; the second one shows the words
		if got := c.Platform.(buttonPlatform).Buttons(c.ada); len(got) > 0 {
			t.Errorf("after the decision there are the buttons %q", got)
		}
		c.wantDone(s)

		c.queueCall("shop__order", `{"item":"cake"}`, "Cake, too.")
		c.Say(connectortest.Bob, bob, "Order cake")
		c.waitShown(c.ada, `{"item":"cake"}`)
		c.Pass(10 * time.Second)
		c.Platform.(buttonPlatform).Press(connectortest.Ada, c.ada, 0)
		c.waitShown(bob, "Cake, too.")
		c.restart()
		c.Pass(time.Hour)
		wantShown(reminds, 1)
		c.wantDone(s, `order {"item":"cake"}`)
	})
}

// An approver can change the arguments: in writing, after a crash, too. Arguments that do not fit are refused with the reason, and decide
// nothing. The call, the model, the journal, the audit log and the other cards have the changed arguments.
func TestChatCardIsEdited(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.cfg.People.Staff = append(c.cfg.People.Staff, config.Member(c.Account(connectortest.Eve)))
		s, bob, r := withCard(c, "de")
		eve := c.Direct(connectortest.Eve)
		c.model.Queue(modelfake.Script{modelfake.Text("Hello, Eve.")})
		c.Say(connectortest.Eve, eve, "Hi") // so that she can be reached
		c.Pass(10 * time.Second)
		c.Platform.(buttonPlatform).Press(connectortest.Ada, c.ada, 2)
		c.Pass(10 * time.Second)
		c.queueCall("shop__order", `{"item":"gold"}`, "Silver is on its way.")
		c.Say(connectortest.Bob, bob, "Order gold")
		c.waitShown(eve, `{"item":"gold"}`)
		c.waitShown(c.ada, `{"item":"gold"}`)
		c.restart()
		c.Pass(10 * time.Second)
		for wrong, why := range map[string]string{`Bearbeiten: {"item":`: "als JSON", `bearbeiten {"item":7}`: "passen nicht: "} {
			c.Say(connectortest.Ada, c.ada, wrong)
			c.waitShown(c.ada, why)
		}
		c.Say(connectortest.Bob, bob, `Edit: {"item":"platinum"}`) // for Bob it is a message
		c.Pass(10 * time.Second)
		c.wantDone(s)
		c.Say(connectortest.Ada, c.ada, `Edit: {“item”: "silver"}`)
		c.Pass(10 * time.Second)
		c.wantDone(s, `order {"item":"silver"}`)
		if all := connectortest.BotTexts(c, eve); !strings.Contains(strings.Join(all, "\n"), "changed the arguments and approved this:") || !strings.Contains(all[len(all)-1], "silver") {
			t.Errorf("Eve reads %q", all)
		}
		if last := c.modelRequest(len(c.model.Requests()) - 1); !strings.Contains(last, "A person changed the parameters") {
			t.Errorf("the model reads %s", last)
		}
		if got := c.approvals(r.Room); got[len(got)-1] != chat.Used {
			t.Errorf("the decisions are %q", got)
		}
		if got := c.Platform.(buttonPlatform).Buttons(c.ada); len(got) > 0 {
			t.Errorf("the buttons %q are left", got)
		}
	})
}

// On Discord a button opens a modal with the arguments.
func TestCardIsEditedInAModal(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		s, bob, _ := withCard(c, "en")
		message := w.PressLabel(connectortest.Ada, c.ada, "Edit…")
		c.Pass(time.Second)
		if m := w.Fake.Opened(); len(m.Labels) != 1 || m.Labels[0].Input.Value != `{"item":"tea"}` {
			t.Fatalf("the modal is %+v", m)
		}
		w.Write(connectortest.Ada, c.ada, message, "coffee")
		c.Pass(5 * time.Second)
		if all := w.Fake.PressAnswers(); !strings.Contains(all[len(all)-1].Content, "Write the arguments as JSON") {
			t.Errorf("Ada is told %+v", all[len(all)-1])
		}
		w.Write(connectortest.Ada, c.ada, message, `{"item":"coffee"}`)
		c.waitShown(bob, "Tea is on its way.")
		c.wantDone(s, `order {"item":"coffee"}`)
	})
}
