package progressive_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/subtest"
	"parley/progressive"
)

// group is the budget of a chat with a long window.
var group = map[progressive.Scope]progressive.Budget{"chat": {N: 20, Per: time.Minute, Reserve: 4}}

// edits has an answer edited without a pause for so long, and returns when.
func edits(t *testing.T, g progressive.Gate, span time.Duration) (at []time.Duration) {
	t.Helper()
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	for {
		leave, err := g.Enter(ctx, progressive.Ticket{Scopes: []progressive.Scope{"chat"}, Priority: progressive.PriorityStream})
		if err != nil {
			return at
		}
		leave(nil)
		at = append(at, time.Since(begun))
	}
}

// TR-35: an answer that is alone is edited evenly, close to the whole budget; what others spend makes the edits fewer, not
// later all at once.
func TestGateSpreadsEdits(t *testing.T) {
	for name, c := range map[string]struct {
		spent          int // by others, just now
		least, most    int // edits in the minute that follows
		shortest, long time.Duration
	}{
		"alone":      {0, 16, 17, 3 * time.Second, 4 * time.Second},
		"six spent":  {6, 11, 12, 5 * time.Second, 6 * time.Second},
		"much spent": {13, 4, 4, 14 * time.Second, 15 * time.Second},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			g := progressive.NewGate(budgets(group))
			for range c.spent {
				enter(t, g, progressive.PriorityFinal, nil, "chat")
			}
			at := edits(t, g, 59*time.Second)
			if len(at) < c.least || len(at) > c.most {
				t.Errorf("%d edits at %v", len(at), at)
			}
			for i := 1; i < len(at); i++ {
				if gap := at[i] - at[i-1]; gap < c.shortest || gap > c.long {
					t.Errorf("edits at %v: %v between two of them", at, gap)
				}
			}
		}))
	}
}

// TR-35: what an edit waits for does not keep others waiting, however old its text is.
func TestGateReserveIsOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewGate(budgets(group))
		for range 16 {
			enter(t, g, progressive.PriorityFinal, nil, "chat")
		}
		edited := make(chan time.Duration, 1)
		begun := time.Now()
		go func() {
			leave, err := g.Enter(t.Context(), progressive.Ticket{
				Scopes: []progressive.Scope{"chat"}, Priority: progressive.PriorityStream, UnshownSince: begun.Add(-time.Hour),
			})
			if err != nil {
				t.Error(err)
				return
			}
			leave(nil)
			edited <- time.Since(begun)
		}()
		synctest.Wait()
		for _, p := range []progressive.Priority{progressive.PriorityStatus, progressive.PriorityFirst, progressive.PriorityReply, progressive.PriorityFinal} {
			if w := enter(t, g, p, nil, "chat"); w != 0 {
				t.Errorf("priority %d waited %v; want none", p, w)
			}
		}
		if w := <-edited; w < 50*time.Second || w > time.Minute {
			t.Errorf("the edit came after %v", w)
		}
	})
}

// TR-35: alone with a share of the budget a replica leaves as large a part of it.
func TestGateReserveOfAShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewSharedGate(&ledger{n: 2, lost: errDone}, budgets(group))
		if at := edits(t, g, 59*time.Second); len(at) < 8 || len(at) > 9 {
			t.Errorf("with half of the budget %d edits; want at least 8 and at most 9", len(at))
		}
		if w := enter(t, g, progressive.PriorityFinal, nil, "chat"); w > 0 {
			t.Errorf("a last word waited %v; want none", w)
		}
	})
}

// Typing indicators leave a third of every scope to messages, also of those that chats share.
func TestTypingLeavesAThird(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := map[progressive.Scope]progressive.Budget{"bot": {N: 9, Per: 9 * time.Second}}
		for i := range 9 {
			all[progressive.Scope(fmt.Sprint(i))] = progressive.Budget{N: 30, Per: time.Minute}
		}
		g, admitted := progressive.NewGate(budgets(all)), 0
		for i := range 9 {
			in := []progressive.Scope{progressive.Scope(fmt.Sprint(i)), "bot"}
			if leave, err := g.Enter(t.Context(), progressive.Ticket{Scopes: in, Priority: progressive.PriorityTyping}); err == nil {
				leave(nil)
				admitted++
			}
		}
		if admitted != 6 {
			t.Errorf("%d of 9 typing indicators are admitted; want 6", admitted)
		}
	})
}
