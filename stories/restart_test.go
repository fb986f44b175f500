package stories_test

import (
	"slices"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/models/modelfake"
)

// ST-28: after a restart, planned or not, the first text comes within 1.5 s, as what was spent is known and not assumed. At most
// one request is refused.
func TestFirstTextAfterARestart(t *testing.T) {
	for name, stop := range map[string]func(*chatHarness){"planned": func(c *chatHarness) { c.shutdown() }, "crash": func(c *chatHarness) { c.crash() }} {
		t.Run(name, func(t *testing.T) {
			onEachPlatform(t, nil, func(c *chatHarness) {
				c.cfg.Shutdown = time.Second
				c.model.Queue(slowScript(tale))
				c.Say(connectortest.Ada, c.ada, "Tell me")
				c.Pass(time.Minute)
				for range 3 {
					c.model.Queue(modelfake.Script{modelfake.Pace(time.Hour), modelfake.Text(fox, modelfake.ByWord)}, modelfake.Script{modelfake.Text(fox)})
					c.Say(connectortest.Ada, c.ada, "And now?")
					c.Pass(3 * time.Second)
					stop(c)
					begun := time.Now()
					before := len(connectortest.BotTexts(c, c.ada))
					c.start()
					for !slices.Contains(connectortest.BotTexts(c, c.ada)[before:], fox) && time.Since(begun) < time.Minute {
						c.Pass(50 * time.Millisecond)
					}
					if took := time.Since(begun); took > 1500*time.Millisecond {
						c.Errorf("the text came after %v", took)
					}
					c.Pass(10 * time.Second)
				}
				refused := 0
				for _, q := range c.Requests() {
					if q.Hold > 0 {
						refused++
					}
				}
				if refused > 1 {
					c.Errorf("%d requests were refused; want at most 1", refused)
				}
			})
		})
	}
}
