package stories_test

import (
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/models/modelfake"
	"parley/progressive"
)

// I6: what a platform forbade for long is forbidden to the next life too, also its typing signs. Then the answer comes.
func TestChatHoldOutlivesACrash(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		const hold = 10 * time.Minute
		c.InjectFault(connectortest.Fault{Op: progressive.Edit, Nth: 1, Hold: hold})
		c.model.Queue(slowScript(tale), modelfake.Script{modelfake.Text(tale)}) // for either life
		c.Say(connectortest.Ada, c.ada, "Tell me")
		c.Pass(20 * time.Second)
		c.crash()
		c.start()
		c.wantShown(c.ada, tale)
		var until time.Time
		for _, q := range c.Requests() {
			if q.From.Before(until) {
				t.Errorf("%v before the hold was over: %+v", until.Sub(q.From), q)
			}
			if q.Hold > 0 {
				until = q.To.Add(q.Hold)
			}
		}
		if until.IsZero() {
			t.Error("no request was held; want one")
		}
	})
}
