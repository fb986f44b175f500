package stories_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/connectors/connectortest"

	"parley/config"
	"parley/internal/lang"
)

// withAccessRequest runs a test on every platform in which Ada owns the gateway, and has written to it once. Eve knocks.
func withAccessRequest(t *testing.T, play func(c *chatHarness, w buttonPlatform)) {
	t.Helper()
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.shutdown()
		c.cfg.People.Allowed = nil
		c.cfg.People.Owners = []config.Account{config.Account(c.Account(connectortest.Ada))}
		c.start()
		c.Pass(10 * time.Second)
		c.Say(connectortest.Ada, c.ada, "Hello")
		c.Pass(time.Minute)
		c.Say(connectortest.Eve, c.Direct(connectortest.Eve), "Hello")
		c.Pass(time.Minute)
		w := c.Platform.(buttonPlatform)
		if got := w.Buttons(c.ada); !slices.Equal(got, []string{"Approve", "No"}) {
			c.Fatalf("the owner is asked with %q, %q\nlog:\n%s", got, connectortest.BotTexts(c, c.ada), c.Logged.String())
		}
		play(c, w)
	})
}

// SE-07: the owner is asked in their direct chat whether to approve a user. No one else can press that; yes counts at once,
// across a crash, and the newcomer hears of it.
func TestOwnerIsAsked(t *testing.T) {
	withAccessRequest(t, func(c *chatHarness, w buttonPlatform) {
		if own := connectortest.BotTexts(c, c.ada); !strings.Contains(own[len(own)-1], c.Account(connectortest.Eve)) || !strings.Contains(own[len(own)-1], c.name) {
			c.Errorf("the owner reads %q", own)
		}
		w.Press(connectortest.Eve, c.ada, 0)
		c.Pass(time.Minute)
		if told := w.Told(); len(told) != 1 || told[0] != "This choice is not yours to make." {
			c.Errorf("told was %q", told)
		}
		w.Press(connectortest.Ada, c.ada, 0)
		if said := c.lastReply(connectortest.Eve); said != "My owner approved you. You can talk to me now." {
			c.Errorf(`Eve reads %q; want "My owner approved you. You can talk to me now."`, said)
		}
		if said := c.lastReply(connectortest.Ada); !strings.Contains(said, "Approve") || !strings.Contains(said, "can now talk to me") || len(w.Buttons(c.ada)) != 0 {
			c.Errorf("Ada reads %q", said)
		}
		c.wantModelCalls(1)
		c.Say(connectortest.Eve, c.Direct(connectortest.Eve), "And now?")
		if said := c.lastReply(connectortest.Eve); said != "You said: And now?" {
			c.Errorf(`Eve reads %q; want "You said: And now?"`, said)
		}
	})
}

// No is silence, for as long as the code would have been good.
func TestOwnerSaysNo(t *testing.T) {
	withAccessRequest(t, func(c *chatHarness, w buttonPlatform) {
		w.Press(connectortest.Ada, c.ada, 1)
		c.Pass(time.Minute)
		heard := len(connectortest.BotTexts(c, c.Direct(connectortest.Eve)))
		c.Pass(11 * time.Minute)
		c.Say(connectortest.Eve, c.Direct(connectortest.Eve), "Hello?")
		c.Pass(time.Minute)
		if got := len(connectortest.BotTexts(c, c.Direct(connectortest.Eve))); got != heard {
			c.Errorf("Eve reads %q", connectortest.BotTexts(c, c.Direct(connectortest.Eve)))
		}
		if n := strings.Count(strings.Join(connectortest.BotTexts(c, c.ada), "\n"), "Approve?"); n != 1 {
			c.Errorf("the owner was asked %d times; want 1", n)
		}
	})
}

// I14: the process dies between the press and what follows from it, at each of several moments; the next one does it.
func TestCrashBetweenPressAndLetIn(t *testing.T) {
	for at := 2; at <= 7; at++ { // before the first the press is not safe: who pressed is told so, and may do it again
		withAccessRequest(t, func(c *chatHarness, w buttonPlatform) {
			f := &crashPoint{at: at, death: c.kill}
			c.crashPoint.Store(f)
			if c.platform.noLookup {
				c.allowedOrphans = 1
			}
			w.Press(connectortest.Ada, c.ada, 0)
			c.passRestarting(f, 2*time.Minute)
			c.crashPoint.Store(nil)
			if n := f.moments(); n < 6 {
				c.Errorf("there were %d moments; want at least 6", n)
			}
			told := 0
			for _, text := range connectortest.BotTexts(c, c.Direct(connectortest.Eve)) {
				if !strings.HasSuffix(text, lang.Voice{}.Say("message.repeated")) {
					told += strings.Count(text, "approved you")
				}
			}
			if told != 1 {
				c.Errorf("death at moment %d: Eve was told %d times: %q; want 1", at, told, connectortest.BotTexts(c, c.Direct(connectortest.Eve)))
			}
			c.Say(connectortest.Eve, c.Direct(connectortest.Eve), "And now?")
			if said := c.lastReply(connectortest.Eve); said != "You said: And now?" {
				c.Errorf(`death at moment %d: Eve reads %q; want "You said: And now?"`, at, said)
			}
		})
	}
}
