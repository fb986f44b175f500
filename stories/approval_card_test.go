package stories_test

import (
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/core/chat"
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
		open, err := c.Store.OpenApprovals(c.Context(), room, 1)
		c.Must(err)
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
		c.crash()
		c.start()
		zone, err := time.LoadLocation("Asia/Tokyo")
		c.Must(err)
		c.waitShown(c.ada, "Bis "+r.Expires.In(zone).Format("15:04")+".")
		c.Platform.(buttonPlatform).Press(connectortest.Ada, c.ada, 0)
		c.waitShown(bob, "Tea is on its way.")
		c.wantDone(s, `order {"item":"tea"}`)
	})
}

// A card that waits is followed by one reminder at half of the time, also after crashes, and by none once it is decided.
func TestChatCardReminds(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		reminders := func() (n int) {
			for _, s := range connectortest.BotTexts(c, c.ada) {
				n += strings.Count(s, "still waits for you")
			}
			return n
		}
		s, bob, _ := withCard(c, "en")
		c.crash()
		c.start()
		c.Pass(28 * time.Minute)
		if n := reminders(); n != 0 {
			t.Errorf("%d reminders before half of the time", n)
		}
		c.Pass(2 * time.Minute)
		c.waitShown(c.ada, "still waits for you")
		c.crash()
		c.start()
		c.Pass(20 * time.Minute)
		if n := reminders(); n != 1 {
			t.Errorf("%d reminders; want 1", n)
		}
		w := c.Platform.(buttonPlatform)
		w.Press(connectortest.Ada, c.ada, 0)
		c.waitShown(bob, "Tea is on its way.")
		c.wantDone(s, `order {"item":"tea"}`)

		c.queueCall("shop__order", `{"item":"cake"}`, "Cake, too.")
		c.Say(connectortest.Bob, bob, "Order cake")
		c.waitShown(c.ada, `{"item":"cake"}`)
		c.Pass(10 * time.Second)
		w.Press(connectortest.Ada, c.ada, 0)
		c.waitShown(bob, "Cake, too.")
		c.crash()
		c.start()
		c.Pass(time.Hour)
		if n := reminders(); n != 1 {
			t.Errorf("%d reminders after a decision; want the 1 before", n)
		}
	})
}
