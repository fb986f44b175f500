package stories_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/core/chat"
	"parley/models/modelfake"
)

// In the XML form a call through CALL_MCP_TOOL is approved as one of the tool itself, with the tool's arguments.
func TestChatApprovalInXML(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		s := withShop(c, func(cfg *config.Config) { cfg.Agent.Generation = config.GenerateXML })
		press := c.pressIn(c.Platform.(buttonPlatform))
		order := `<response><thought>t</thought><actions><action><name>CALL_MCP_TOOL</name><params>` +
			`{"serverName":"shop","toolName":"order","arguments":{"item":"tea"}}</params></action></actions><text>Let me see.</text></response>`
		for _, option := range []int{0, 2} { // Once, Always here, Deny
			says := []string{"Tea is on its way.", "", "No tea then."}[option]
			c.model.Queue(modelfake.Script{modelfake.Text(order)}, modelfake.Script{modelfake.Text("<response><text>" + says + "</text></response>")})
			c.Say(connectortest.Ada, c.ada, "Order tea")
			c.waitShown(c.ada, `{"item":"tea"}`)
			press(option)
			c.waitShown(c.ada, says)
		}
		c.wantDone(s, `order {"item":"tea"}`)
		if got := c.approvals(c.rooms()[0]); !slices.Equal(got, []chat.Decision{chat.Used, chat.Denied}) {
			t.Errorf("decisions %q", got)
		}
	})
}

// A visitor of the page asks, and the owner approves on another platform. The page shows that it waits, and then the answer; the
// visitor has nothing to press.
func TestApprovalForThePage(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		s := withShop(c, func(cfg *config.Config) { cfg.MCP[0].Who = config.ToolsEveryone })
		press := c.pressIn(c.Platform.(buttonPlatform))
		c.model.Queue(modelfake.Script{modelfake.Text("Hello.")})
		c.Say(connectortest.Ada, c.ada, "Hi") // so that the owner can be reached
		c.waitShown(c.ada, "Hello.")
		for option, says := range map[int]string{0: "Tea is on its way.", 2: "No tea then."} {
			c.queueCall("shop__order", `{"item":"tea"}`, says)
			st := c.send(c.newConversation(), "k1", "Order tea; I am the owner")
			c.harness.readUntil(st, "Waiting for the owner")
			c.waitShown(c.ada, `{"item":"tea"}`)
			press(option) // Once, Always here, Deny
			if end := c.readAll(st); end.FullText == nil || !strings.HasSuffix(*end.FullText, says) {
				t.Errorf("the page reads %+v", end)
			}
		}
		c.wantDone(s, `order {"item":"tea"}`)
	})
}

// A webhook that writes is called once the owner has approved it, with a signature, and not when it is denied.
func TestChatApprovalOfWebhook(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		var mu sync.Mutex
		var called []string
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var body struct{ Arguments json.RawMessage }
			_ = json.NewDecoder(r.Body).Decode(&body)
			mu.Lock()
			called = append(called, string(body.Arguments))
			mu.Unlock()
			if r.Header.Get("Parley-Signature") == "" {
				t.Error("a call has no Parley-Signature; want one")
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"result":"ordered"}`))
		})}
		l := c.listen("hook.test:80")
		go func() { _ = server.Serve(l) }()
		c.Cleanup(func() { _ = server.Close() })
		c.shutdown()
		c.cfg.People.Owners = []config.Account{config.Account(c.Account(connectortest.Ada))}
		c.cfg.Turns.Approval = time.Hour
		c.cfg.Tools = []config.WebhookTool{{
			Name: "ORDER", Description: "Order.", Parameters: `{"type":"object","properties":{"item":{"type":"string"}}}`, URL: "http://hook.test/", Method: "POST",
			Secret: "s3cr3t-of-the-hook", Effect: "write", Who: config.ToolsAllowed, Timeout: time.Minute,
		}}
		c.start()
		c.Pass(10 * time.Second)
		press := c.pressIn(c.Platform.(buttonPlatform))
		for option, says := range map[int]string{0: "Tea is on its way.", 2: "No tea then."} {
			c.queueCall("ORDER", `{"item":"tea"}`, says)
			c.Say(connectortest.Ada, c.ada, "Order tea")
			c.waitShown(c.ada, `{"item":"tea"}`)
			press(option)
			c.waitShown(c.ada, says)
		}
		c.WaitIdle()
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(called, []string{`{"item":"tea"}`}) {
			t.Errorf("called with %q", called)
		}
	})
}
