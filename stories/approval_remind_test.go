//go:build nightly

package stories_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/internal/require"
	"parley/models/modelfake"
)

// Two replicas on PostgreSQL and Redis reach half of a card's time, and one is killed then: the card is sent once more, once. It takes two minutes of real
// time, so only make nightly plays it.
func TestReplicasRemindOnce(t *testing.T) {
	telegram := platforms()[0]
	world := require.Value(telegram.newServer())(t)
	api := httptest.NewServer(world.Handler())
	t.Cleanup(func() { api.CloseClientConnections(); api.Close(); world.Close() })
	r := startReplicas(t, 2, "supersede", modelfake.New(modelfake.Options{Choose: func(q modelfake.Request) modelfake.Script {
		if !strings.Contains(q.LastUser(), "Order") {
			return modelfake.Script{modelfake.Text("Hello.")}
		}
		return modelfake.Script{modelfake.ToolCall("c", "ORDER", `{"item":"tea"}`)}
	}}), func(cfg *config.Config) {
		telegram.enable(cfg, world, api.URL)
		cfg.Turns.Approval = 100 * time.Second
		cfg.People.Owners = append(cfg.People.Owners, config.Account(world.Account(connectortest.Ada)))
		cfg.Tools = []config.WebhookTool{{
			Name: "ORDER", Description: "Order.", Parameters: `{"type":"object","properties":{"item":{"type":"string"}}}`, URL: "http://127.0.0.1:1", Method: "POST",
			Secret: "s3cr3t-of-the-hook", Effect: "write", Who: config.ToolsEveryone, Timeout: time.Minute,
		}}
	})
	ada := world.Direct(connectortest.Ada)
	reads := func(part string) int {
		return strings.Count(strings.Join(connectortest.BotTexts(world, ada), "\n"), part)
	}
	world.Say(connectortest.Ada, ada, "Hi")
	r.waitUntil("a greeting", func() bool { return reads("Hello.") > 0 })
	world.Say(connectortest.Bob, world.Direct(connectortest.Bob), "Order tea")
	r.waitUntil("a card", func() bool { return reads(`{"item":"tea"}`) > 0 })
	r.waitUntil("a reminder", func() bool { return reads("🔔") > 0 })
	r.nodes[0].kill()
	time.Sleep(40 * time.Second) // until the next check of the other one
	if n := reads("🔔"); n != 1 {
		t.Errorf("Ada reads %d reminders: %q", n, connectortest.BotTexts(world, ada))
	}
}
