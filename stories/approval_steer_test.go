package stories_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/core/chat"
	"parley/models/modelfake"
)

// With steering, a call that was approved and has not begun when its asker writes again is asked again, over crashes: Ada approves while another
// answer of Bob's is in progress, and Bob writes before that ends. The first approval stays in the audit log.
func TestChatSteeredApprovalIsAskedAgain(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		s := withShop(c, func(cfg *config.Config) { cfg.Turns.Direct = "steer" })
		w, bob := c.Platform.(buttonPlatform), c.Direct(connectortest.Bob)
		c.model.Queue(modelfake.Script{modelfake.Text("Hello.")})
		c.Say(connectortest.Ada, c.ada, "Hi") // so that she can be reached
		c.waitShown(c.ada, "Hello.")
		c.model.Queue(modelfake.Script{modelfake.ToolCall("c", "shop__order", `{"item":"tea"}`)}, modelfake.Script{modelfake.Pause(5 * time.Minute)})
		c.Say(connectortest.Bob, bob, "Order tea")
		c.waitShown(c.ada, `{"item":"tea"}`)
		c.Pass(10 * time.Second)
		c.Say(connectortest.Bob, bob, "How is the weather?")
		c.Pass(10 * time.Second)
		w.Press(connectortest.Ada, c.ada, 0)
		c.waitShown(c.ada, "Approved.")
		c.Pass(10 * time.Second)
		c.Say(connectortest.Bob, bob, "Green tea, please")
		c.Pass(2 * time.Second)
		c.crash()
		c.model.Queue(modelfake.Script{modelfake.Text("It is sunny.")}, modelfake.Script{modelfake.Text("Tea is on its way.")})
		c.start()
		c.waitShown(c.ada, "wrote since: Green tea, please")
		c.wantDone(s)
		c.restart()
		c.Pass(time.Minute)
		c.wantDone(s)
		cards := 0
		for _, text := range connectortest.BotTexts(c, c.ada) {
			cards += strings.Count(text, `{"item":"tea"}`)
		}
		if cards != 2 {
			c.Errorf("Ada reads %q; want two cards", connectortest.BotTexts(c, c.ada))
		}
		w.Press(connectortest.Ada, c.ada, 0)
		c.Pass(10 * time.Second)
		if got := connectortest.BotTexts(c, bob); !slices.ContainsFunc(got, func(text string) bool { return strings.Contains(text, "Tea is on its way.") }) {
			c.Errorf("Bob reads %q", got)
		}
		c.wantDone(s, `order {"item":"tea"}`)
		var got []chat.Decision
		for _, room := range c.rooms() {
			got = append(got, c.approvals(room)...)
		}
		if want := []chat.Decision{chat.Lapsed, chat.Used}; !slices.Equal(got, want) {
			c.Errorf("decided is %q; want %q", got, want)
		}
	})
}
