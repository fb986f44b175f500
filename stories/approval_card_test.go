package stories_test

import (
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
