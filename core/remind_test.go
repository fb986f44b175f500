package core_test

import (
	"strings"
	"testing"
	"time"

	"parley/core/chat"
	"parley/gatewaytest"
)

// Two replicas reach half of a card's time, at the same moment or one after the other, and one of them dies before or behind any effect: the card
// is sent once more, once.
func TestCardIsRemindedOnceByTwoReplicas(t *testing.T) {
	for _, later := range []time.Duration{0, 5 * time.Second} {
		effects := 0
		play := func(k int, behind bool) {
			withHarness(t, func(w *harness) {
				w.withShop()
				w.cfg.Approval = 8 * time.Minute
				w.cfg.Access.Owners, w.cfg.Access.Allowed.Accounts["olga"] = map[chat.EntityID]bool{"olga": true}, true
				n := w.start()
				w.waitAnswer(n.send(w.message("fake/olga", "olga", "Hi")))
				w.queueOrderOf("tea")
				w.waitParked(n.sendText("Order tea"))
				time.Sleep(210 * time.Second)
				n.shutdown()
				f := &gatewaytest.Faults{}
				first := w.startFaulty(f)
				killAt(f, k, behind, first)
				time.Sleep(later)
				w.start()
				time.Sleep(3 * time.Minute)
				if k == 0 {
					effects = len(f.Effects())
				}
				if got := strings.Count(strings.Join(w.chat.visible(), "\n"), "🔔"); got != 1 {
					w.Errorf("dying at effect %d of %q, behind it: %v: the approver reads %d reminders: %q", k, f.Effects(), behind, got, w.chat.visible())
				}
				w.model.queue([]step{write("No tea.")})
				time.Sleep(3 * time.Minute) // the card expires
				w.chat.forgetSeen()         // cards change after their ends
			})
		}
		play(0, false)
		for k := 1; k <= effects && !t.Failed(); k++ {
			play(k, false)
			play(k, true)
		}
		if later > 0 && effects < 2 {
			t.Errorf("the first replica made %d effects", effects)
		}
	}
}
