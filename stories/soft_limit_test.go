package stories_test

import (
	"strings"
	"testing"
	"time"

	"parley/config"
	. "parley/connectors/connectortest"
	"parley/core/price"
	. "parley/models/modelfake"
)

// withSoftLimit gives the agent a second model that costs less, and a soft limit that every answer exceeds.
func withSoftLimit(cfg *config.Config) {
	withSpare(cfg)
	cfg.Models.Chat[0].Price, cfg.Models.Chat[1].Price = costs(2e6), costs(1e6)
	cfg.Models.Chat[1].Model = DefaultModel + "-small"
	cfg.Limits.Person.SoftUSD = 1
}

// The owner is asked before an answer goes beyond the soft limit, and it goes on after a restart of the gateway, in the same message.
func TestSoftLimitInChats(t *testing.T) {
	for option, want := range []struct{ model, says string }{{DefaultModel, fox}, {DefaultModel + "-small", fox}, {"", "Okay, I stopped before it cost anything."}} {
		onEach(t, withSoftLimit, func(c *chatStory) {
			c.shutdown()
			c.cfg.Owner = []config.Account{config.Account(c.Account(Ada))}
			c.start()
			w := c.World.(presser)
			c.model.Queue(Script{Text(fox)})
			c.Say(Ada, c.ada, "Tell me")
			for range 60 {
				if len(w.Buttons(c.ada)) > 0 {
					break
				}
				c.pass(time.Second)
			}
			if got := w.Buttons(c.ada); len(got) != 3 || !strings.HasPrefix(got[0], "Go on (about $0.") || got[1] != "Use the cheaper model" {
				t.Fatalf("the buttons are %q; people see %+v\n%s", got, c.Sees(c.ada), c.log.String())
			}
			c.shutdown()
			c.start()
			w.Press(Ada, c.ada, option)
			c.read(c.ada, want.says)
			c.rest()
			seen := c.Sees(c.ada)
			if text := seen[len(seen)-1].Text; len(seen) != 2 || !strings.HasSuffix(text, want.says) || strings.Count(text, "💰") != min(2, 1+len(want.model)) || len(w.Buttons(c.ada)) > 0 {
				t.Errorf("people see %+v", seen)
			}
			all := c.model.Requests()
			if want.model == "" && len(all) > 0 || want.model != "" && (len(all) != 1 || all[0].Model != want.model) {
				t.Errorf("%d requests; option %d", len(all), option)
			}
		})
	}
}

func costs(rate price.Rate) config.Price { return config.Price{Input: &rate, Output: &rate} }
