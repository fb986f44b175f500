package stories_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/core/quota"
	"parley/models/modelfake"
)

// withSoftLimit gives the agent a second model that costs less, and a soft limit that every answer exceeds.
func withSoftLimit(cfg *config.Config) {
	withSpare(cfg)
	cfg.Models.Chat[0].Price, cfg.Models.Chat[1].Price = costs(2e6), costs(1e6)
	cfg.Models.Chat[1].Model = modelfake.DefaultModel + "-small"
	cfg.Limits.Person.SoftUSD = 1
}

// The owner is asked before an answer goes beyond the soft limit, and it goes on after a restart of the gateway, in the same message.
func TestSoftLimitInChats(t *testing.T) {
	for option, want := range []struct{ model, says string }{{modelfake.DefaultModel, fox}, {modelfake.DefaultModel + "-small", fox}, {"", "Okay, I stopped before it cost anything."}} {
		onEachPlatform(t, withSoftLimit, func(c *chatHarness) {
			c.shutdown()
			c.cfg.People.Owners = []config.Account{config.Account(c.Account(connectortest.Ada))}
			c.start()
			w := c.Platform.(buttonPlatform)
			c.model.Queue(modelfake.Script{modelfake.Text(fox)})
			c.Say(connectortest.Ada, c.ada, "Tell me")
			for range 60 {
				if len(w.Buttons(c.ada)) > 0 {
					break
				}
				c.Pass(time.Second)
			}
			if got := w.Buttons(c.ada); len(got) != 3 || !strings.HasPrefix(got[0], "Go on (about $0.") || got[1] != "Use the cheaper model" {
				t.Fatalf("the buttons are %q; people see %+v\n%s", got, c.Messages(c.ada), c.Logged.String())
			}
			c.shutdown()
			c.start()
			w.Press(connectortest.Ada, c.ada, option)
			c.waitShown(c.ada, want.says)
			c.WaitIdle()
			seen := c.Messages(c.ada)
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

// Once the calls of an answer have used up the soft limit, it asks in its middle. What was played goes on playing, and is not played again
// after a restart. The owner has it go on; Bob can only have the cheaper model go on, or stop it.
func TestSoftLimitWithinAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		asks    connectortest.User
		options []string
		press   int
		model   string
		says    string
	}{
		"the owner goes on":                   {connectortest.Ada, []string{"Go on", "Use the cheaper model", "Stop"}, 0, modelfake.DefaultModel, enjoy},
		"another one takes the cheaper model": {connectortest.Bob, []string{"Use the cheaper model", "Stop"}, 0, modelfake.DefaultModel + "-small", enjoy},
		"another one stops":                   {connectortest.Bob, []string{"Use the cheaper model", "Stop"}, 1, "", "Okay, I stopped here."},
	} {
		t.Run(name, func(t *testing.T) {
			onEachPlatform(t, withSoftLimit, func(s *chatHarness) {
				s.shutdown()
				s.cfg.People.Owners = []config.Account{config.Account(s.Account(connectortest.Ada))}
				s.cfg.People.Allowed = append(s.cfg.People.Allowed, config.Member(s.Account(connectortest.Bob)))
				s.cfg.Limits.Person.SoftUSD = 12_000_000 // the first call costs less, with the second it is more
				s.start()
				s.serveMusic()
				in, w := s.ada, s.Platform.(buttonPlatform)
				if c.asks == connectortest.Bob {
					in = s.Direct(connectortest.Bob)
				}
				s.model.Queue(append(playScript("so what")[0], modelfake.ReportUsage(5000, 100)), modelfake.Script{modelfake.Text(enjoy)})
				s.Say(c.asks, in, "Some music")
				for range 60 {
					if len(w.Buttons(in)) > 0 {
						break
					}
					s.Pass(time.Second)
				}
				got := w.Buttons(in)
				for i := range got {
					got[i], _, _ = strings.Cut(got[i], " (about")
				}
				if !slices.Equal(got, c.options) {
					t.Fatalf("the buttons are %q; people see %+v\n%s", got, s.Messages(in), s.Logged.String())
				}
				s.shutdown()
				s.start()
				w.Press(c.asks, in, c.press)
				s.waitShown(in, c.says)
				s.WaitIdle()
				seen := s.Messages(in)
				text := seen[len(seen)-1].Text
				if !strings.HasSuffix(text, c.says) || strings.Count(text, strings.ReplaceAll(playing, "**", "")) != 1 && strings.Count(text, playing) != 1 {
					t.Errorf("people see %+v", seen)
				}
				all := s.model.Requests()
				if c.model == "" && len(all) != 1 || c.model != "" && (len(all) != 2 || all[1].Model != c.model) {
					t.Errorf("%d requests", len(all))
				}
			})
		})
	}
}

func costs(rate quota.Rate) config.Price { return config.Price{Input: &rate, Output: &rate} }
