package stories_test

import (
	"strings"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/internal/subtest"
	"parley/models/modelfake"
	"parley/progressive"
)

// TR-03, ST-03: two hours of silence, demanded at any request, end with the answer, whole. Other chats do not wait for it.
func TestChatHoldOfTwoHours(t *testing.T) {
	const hold = 7200 * time.Second
	for name, f := range map[string]connectortest.Fault{
		"at the create": {Op: progressive.Post, Hold: hold},
		"at an edit":    {Op: progressive.Edit, Nth: 1, Hold: hold},
	} {
		t.Run(name, subtest.With(onEachPlatform, nil, func(c *chatHarness) {
			bob := c.Direct(connectortest.Bob)
			f.In = c.ada
			c.InjectFault(f)
			c.model.Queue(slowScript(tale))
			c.Say(connectortest.Ada, c.ada, "Tell me")
			c.Pass(30 * time.Second)
			c.Say(connectortest.Bob, bob, "And I?")
			c.Pass(5 * time.Second)
			if own := connectortest.BotTexts(c, bob); len(own) != 1 {
				c.Errorf("meanwhile another reads %q; want 1", own)
			}
			begun := time.Now()
			c.wantShown(c.ada, tale)
			if waited := time.Since(begun); waited < hold-time.Minute || waited > hold+time.Minute {
				c.Errorf("the last word came after %v", waited)
			}
		}))
	}
}

// ST-04: what was written before the model stopped sending data is shown while it is silent, though no further token asks for it.
func TestChatStall(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		first, second, found := strings.Cut(tale, "to say,")
		if !found {
			t.Fatal("the tale was rewritten")
		}
		first += "to say,"
		c.model.Queue(modelfake.Script{modelfake.Pace(100 * time.Millisecond), modelfake.Text(first, modelfake.ByWord), modelfake.Pause(6 * time.Second), modelfake.Text(second, modelfake.ByWord)})
		c.Say(connectortest.Ada, c.ada, "Tell me")
		c.waitShown(c.ada, "Once upon a time")
		c.waitShown(c.ada, strings.TrimSuffix(first, ","))
		seen := time.Now()
		if r := c.model.Requests()[0]; !r.Ended.IsZero() {
			t.Error("the flush came only when the model went on")
		}
		c.waitShown(c.ada, "without losing")
		if silent := time.Since(seen); silent < 2*time.Second {
			t.Errorf("what was written before the silence stood for %v of it", silent)
		}
		c.wantShown(c.ada, tale)
	})
}

// ST-06, ST-07: for a minute no edit works. That costs a few attempts, but no answer: neither the one that ends after
// that minute nor the one that ends in it.
func TestChatEditsFailForAMinute(t *testing.T) {
	for name, pace := range map[string]time.Duration{"the answer takes longer": 2 * time.Second, "the answer ends meanwhile": 300 * time.Millisecond} {
		t.Run(name, subtest.With(onEachPlatform, nil, func(c *chatHarness) {
			c.model.Queue(modelfake.Script{modelfake.Pace(pace), modelfake.Text(tale, modelfake.ByWord)})
			c.Say(connectortest.Ada, c.ada, "Tell me")
			c.waitShown(c.ada, "Once upon a time")
			before := len(c.Requests())
			for n := range 100 {
				c.InjectFault(connectortest.Fault{Op: progressive.Edit, Nth: n, BadGateway: true})
			}
			c.Pass(time.Minute)
			if tried := len(c.Requests()) - before; tried < 3 || tried > 16 { // with those that ask whether the platform works
				c.Errorf("%d requests in that minute; want at least 3 and at most 16", tried)
			}
			c.ClearFaults()
			c.wantShown(c.ada, tale)
		}))
	}
}
