package stories_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/internal/require"
	"parley/models/modelfake"
)

// shopTools are two tools of a shop: one with a label, and one whose calls only the owner sees.
func shopTools(cfg *config.Config) {
	cfg.Web.Public = true
	tool := config.WebhookTool{
		Name: "GET_ORDER", Label: "Order status", Description: "Look up an order.", URL: "http://shop.test/", Method: "POST", Effect: "read",
		Who: config.ToolsEveryone, Timeout: time.Minute, Parameters: `{"type":"object","properties":{"order":{"type":"integer"}}}`,
	}
	credit := tool
	credit.Name, credit.Label, credit.Hide = "CHECK_CREDIT", "", true
	cfg.Tools = []config.WebhookTool{tool, credit}
}

// SE-23: a visitor of a public page reads labels and progress, while the answer is written and after a reload, and commands
// tell only what concerns them. A call that is not valid shows no parameters either.
func TestVisitorsOfAPublicPage(t *testing.T) {
	withGateway(t, shopTools, func(s *harness) {
		connectortest.Serve(s.T, s.listen("shop.test:80"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-ndjson")
			_, _ = w.Write([]byte(`{"progress":"Asking the warehouse"}` + "\n" + `{"result":{"margin":"RAW-RESULT"}}` + "\n"))
		}))
		s.model.Queue(
			modelfake.Script{modelfake.ToolCall("c1", "GET_ORDER", `{"order":4711}`), modelfake.ToolCall("c2", "CHECK_CREDIT", `{"order":4711}`), modelfake.ToolCall("c3", "GET_ORDER", `{"order":"WRONG-ARGUMENT"}`)},
			modelfake.Script{modelfake.Text("It is on its way.")})
		id := s.newConversation()
		events := require.Value(s.send(id, "1", "Where is my order?").All())(s)
		seen := ""
		for _, e := range events {
			seen += e.Raw + "\n"
		}
		for _, command := range []string{"/status", "/model", "/usage", "/approvals", "/memory"} {
			seen += s.readAll(s.send(id, command[1:], command)).Raw + "\n"
		}
		lines := s.lines(id)
		stored := require.Value(json.Marshal(lines))(s)
		seen += string(stored)
		for _, private := range []string{"4711", "RAW-RESULT", "WRONG-ARGUMENT", "GET_ORDER", "CHECK_CREDIT", "redit", modelfake.DefaultModel, "Store", "Version"} {
			if strings.Contains(seen, private) {
				s.Errorf("%q is sent: %s", private, seen)
			}
		}
		for _, public := range []string{"Order status", "Asking the warehouse", "It is on its way.", "The call was not valid.", "Now: ", "You, today"} {
			if !strings.Contains(seen, public) {
				s.Errorf("%q is missing: %s", public, seen)
			}
		}
	})
}

// In a group on a platform, the line of a call has its label, and nothing of its arguments; a hidden call has none.
func TestLinesOfCallsInChat(t *testing.T) {
	onEachPlatform(t, func(cfg *config.Config) {
		shopTools(cfg)
		cfg.Web.Public = false
	}, func(c *chatHarness) {
		connectortest.Serve(c.T, c.listen("shop.test:80"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(10 * time.Second)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"result":"RAW-RESULT"}`))
		}))
		c.model.Queue(modelfake.Script{modelfake.Text("Let me see."), modelfake.ToolCall("c1", "GET_ORDER", `{"order":4711}`), modelfake.ToolCall("c2", "CHECK_CREDIT", `{"order":4711}`)}, modelfake.Script{modelfake.Text("On its way.")})
		c.Say(connectortest.Ada, c.ada, "Where is it?")
		c.waitShown(c.ada, "On its way.")
		c.WaitIdle()
		seen := strings.Join(steps(c.Messages(c.ada)[1]), "\n")
		if !strings.Contains(seen, "⚙️ Order status") || strings.Contains(seen, "4711") || strings.Contains(seen, "RAW") || strings.Contains(strings.ToLower(seen), "credit") {
			t.Errorf("the chat shows %s", seen)
		}
	})
}
