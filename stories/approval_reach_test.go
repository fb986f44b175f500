package stories_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
	"parley/models/modelfake"
)

// crashWithoutServer plays a crash while a call waits for its approval, after which the server can't be reached. It returns with what Ada
// presses a button.
func crashWithoutServer(c *chatHarness, says string) (s *toolServer, press func(int)) {
	c.Helper()
	s = withShop(c, nil)
	press = c.pressIn(c.Platform.(buttonPlatform))
	c.servers = append(c.servers, toolsAt)
	c.queueCall("shop__order", `{"item":"tea"}`, says)
	c.Say(connectortest.Ada, c.ada, "Order tea")
	c.waitShown(c.ada, `{"item":"tea"}`)
	c.Pass(time.Minute)
	c.crash()
	c.refuseConnections(toolsAt)
	c.start()
	return s, press
}

// A press can come before the server is connected again after a crash. The call waits for it.
func TestChatApprovedCallWaitsForItsServer(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		s, press := crashWithoutServer(c, "Tea is on its way.")
		press(0)
		c.Pass(3 * time.Second)
		c.wantDone(s)
		c.refuseConnections("")
		c.waitShown(c.ada, "Tea is on its way.")
		c.wantDone(s, `order {"item":"tea"}`)
	})
}

// If the server does not come back, people read that nothing was done.
func TestChatApprovedCallWithoutItsServer(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		s, press := crashWithoutServer(c, "The shop is closed.")
		press(0)
		c.waitShown(c.ada, "Nothing was done: the MCP server shop can't be reached at the moment.")
		c.waitShown(c.ada, "The shop is closed.")
		c.refuseConnections("")
		c.Pass(10 * time.Minute)
		c.wantDone(s)
	})
}

// /stop ends a call that only reads while it is under way: the server is told, and the answer ends as stopped.
func TestChatStopCancelsCall(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		s := withShopOf(c, &sdk.StreamableHTTPOptions{}, nil)
		s.say("slow")
		c.queueCall("shop__list", `{"item":"tea"}`, "Never said.")
		c.Say(connectortest.Ada, c.ada, "Is there tea?")
		for range 60 {
			if len(s.did()) > 0 {
				break
			}
			c.Pass(time.Second)
		}
		c.wantDone(s, `list {"item":"tea"}`)
		c.Say(connectortest.Ada, c.ada, "/stop")
		c.Pass(5 * time.Second)
		c.wantDone(s, `list {"item":"tea"}`, "list cancelled")
		c.waitShown(c.ada, "Stopped.")
		c.wantModelCalls(1) // the model is not told of a result
		run := require.Value(c.Store.Run(c.Context(), chat.RunID(c.rooms()[0])+"#1"))(c)
		if run.Outcome.Status != answer.Stopped {
			t.Errorf("it ended as %+v", run.Outcome)
		}
	})
}

// SE-07: a call that waits is shown to all who may approve, in their own chats. The first decision counts; the cards of the others show
// it. The reason of a refusal reaches the model.
func TestChatCardsOfAllApprovers(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		s, w := withShop(c, func(cfg *config.Config) {
			cfg.People.Staff = append(cfg.People.Staff, config.Member(c.Account(connectortest.Eve)))
		}), c.Platform.(buttonPlatform)
		eve, bob := c.Direct(connectortest.Eve), c.Direct(connectortest.Bob)
		for who, room := range map[connectortest.User]connectortest.Room{connectortest.Ada: c.ada, connectortest.Eve: eve} {
			c.model.Queue(modelfake.Script{modelfake.Text("Hello.")})
			c.Say(who, room, "Hi") // so that they can be reached
			c.waitShown(room, "Hello.")
		}
		ask := func(item, said string) {
			c.queueCall("shop__order", `{"item":"`+item+`"}`, said)
			c.Say(connectortest.Bob, bob, "Order "+item)
			c.waitShown(c.ada, `{"item":"`+item+`"}`)
			c.waitShown(eve, `{"item":"`+item+`"}`)
			c.Pass(10 * time.Second)
		}
		ask("gold", "The gold is yours.")
		if got := w.Buttons(eve); slices.Contains(got, "Always here") {
			t.Errorf("staff have the buttons %q", got)
		}
		w.Press(connectortest.Eve, eve, 0)
		c.waitShown(bob, "The gold is yours.")
		c.waitShown(c.ada, "approved this.")
		c.Pass(time.Minute)
		if got := w.Buttons(c.ada); len(got) > 0 {
			t.Errorf("after the decision of another the owner has the buttons %q", got)
		}
		c.wantDone(s, `order {"item":"gold"}`)

		ask("silver", "No silver.")
		c.restart()
		c.Pass(10 * time.Second)
		c.Say(connectortest.Ada, c.ada, "Deny: it is too dear")
		c.waitShown(bob, "No silver.")
		c.waitShown(eve, "denied this.")
		if last := c.modelRequest(len(c.model.Requests()) - 1); !strings.Contains(last, "it is too dear") {
			t.Errorf("the model reads %s", last)
		}
		if all := connectortest.BotTexts(c, bob); strings.Contains(strings.Join(all, "\n"), "too dear") {
			t.Errorf("Bob reads %q; want the reason for the model alone", all)
		}
		c.wantDone(s, `order {"item":"gold"}`)

		ask("lead", "Hello again.") // to Ada, who asks first
		c.model.Queue(modelfake.Script{modelfake.Text("No lead.")})
		c.Say(connectortest.Ada, c.ada, "Hello, what's this?") // no answer to the card
		c.waitShown(c.ada, "Hello again.")
		c.Pass(time.Hour)
		c.waitShown(bob, "No lead.")
		c.wantDone(s, `order {"item":"gold"}`)
	})
}
