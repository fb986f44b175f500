package stories_test

import (
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/connectors/connectortest"
	"parley/core/answer"
	"parley/core/chat"
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
		run, err := c.Store.Run(c.Context(), chat.RunID(c.rooms()[0])+"#1")
		c.Must(err)
		if run.Outcome.Status != answer.Stopped {
			t.Errorf("it ended as %+v", run.Outcome)
		}
	})
}
