package stories_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/models/modelfake"
)

// SE-07: two owners press at the same time, on two platforms, before two replicas: one approves, and one denies. One decision counts,
// and both cards show it, also if Redis has just gone.
func TestTwoPlatformsDecideAtOnce(t *testing.T) {
	t.Run("with Redis", func(t *testing.T) { decideAtOnce(t, false) })
	t.Run("Redis has gone", func(t *testing.T) { decideAtOnce(t, true) })
}

func decideAtOnce(t *testing.T, gone bool) {
	var ordered atomic.Int32
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		ordered.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"result":"ordered"}`))
	}))
	t.Cleanup(hook.Close)
	var worlds []connectortest.Platform
	r := startReplicas(t, 2, "supersede", modelfake.New(modelfake.Options{Choose: func(q modelfake.Request) modelfake.Script {
		switch {
		case !strings.Contains(q.LastUser(), "Order"):
			return modelfake.Script{modelfake.Text("Hello.")}
		case q.Messages[len(q.Messages)-1].Role == "tool":
			return modelfake.Script{modelfake.Text("That was it.")}
		}
		return modelfake.Script{modelfake.ToolCall("c", "ORDER", `{"item":"tea"}`)}
	}}), func(cfg *config.Config) {
		cfg.Turns.Buttons = false
		for _, p := range platforms() {
			worlds = append(worlds, p.serve(t, cfg))
		}
		cfg.Tools = []config.WebhookTool{{
			Name: "ORDER", Description: "Order.", Parameters: `{"type":"object","properties":{"item":{"type":"string"}}}`, URL: hook.URL, Method: "POST",
			Secret: "s3cr3t-of-the-hook", Effect: "write", Who: config.ToolsEveryone, Timeout: time.Minute,
		}}
	})
	shown := func(i int, room connectortest.Room) string {
		return strings.Join(connectortest.BotTexts(worlds[i], room), "\n")
	}
	ada := func(i int) connectortest.Room { return worlds[i].Direct(connectortest.Ada) }
	bob := worlds[1].Direct(connectortest.Bob)
	for i, w := range worlds {
		w.Say(connectortest.Ada, ada(i), "Hi")
		r.waitUntil("a greeting", func() bool { return strings.Contains(shown(i, ada(i)), "Hello.") })
	}
	worlds[1].Say(connectortest.Bob, bob, "Order tea")
	for i := range worlds {
		r.waitUntil("a card", func() bool { return len(worlds[i].(buttonPlatform).Buttons(ada(i))) > 0 })
	}
	if gone {
		r.redis.Stop()
	}
	var presses sync.WaitGroup
	for i, option := range []int{0, 2} { // Once, Always here, Deny
		presses.Go(func() { worlds[i].(buttonPlatform).Press(connectortest.Ada, ada(i), option) })
	}
	presses.Wait()
	r.waitUntil("the end", func() bool { return strings.Contains(shown(1, bob), "That was it.") })
	approved := ordered.Load() == 1
	won, lost, line := 0, 1, "approved this."
	if !approved {
		won, lost, line = 1, 0, "denied this."
	}
	r.waitUntil("the decision on both cards", func() bool {
		return strings.Contains(shown(won, ada(won)), map[bool]string{true: "Approved.", false: "Denied."}[approved]) && strings.Contains(shown(lost, ada(lost)), line)
	})
	if n := ordered.Load(); n > 1 {
		t.Errorf("the call was made %d times", n)
	}
}
