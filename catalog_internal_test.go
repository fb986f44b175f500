package parley

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors"
	"parley/core/chat"
	"parley/internal/require"
	"parley/progressive"
)

// signalerFake shows each status in one chat.
type signalerFake struct{ shown []chat.Status }

func (f *signalerFake) Signal(s chat.Signal) ([]progressive.Scope, func(context.Context) error) {
	return []progressive.Scope{"chat"}, func(context.Context) error {
		f.shown = append(f.shown, s.Is)
		return nil
	}
}

// A status waits for its turn behind the edits of a busy chat, but its removal does not: the answer is complete.
func TestStatusIsRemovedAheadOfEdits(t *testing.T) {
	for status, want := range map[chat.Status]time.Duration{chat.Working: 10 * time.Second, chat.NoStatus: 0} {
		synctest.Test(t, func(t *testing.T) {
			gate := progressive.NewGate(func(progressive.Scope) progressive.Budget {
				return progressive.Budget{N: 20, Per: time.Minute, Reserve: 8, Pace: 10 * time.Second}
			})
			leave := require.Value(gate.Enter(t.Context(), progressive.Ticket{Scopes: []progressive.Scope{"chat"}, Priority: progressive.PriorityStream}))(t)
			leave(nil)
			f, begun := &signalerFake{}, time.Now()
			show := signaler(map[string]connectors.Signaler{"telegram": f}, gate)(chat.Signal{To: chat.Address{Connector: "telegram"}, Messages: []chat.MemoryID{"m"}, Is: status})
			require.NoError(t, show(t.Context()))
			if took := time.Since(begun); took != want || len(f.shown) != 1 {
				t.Errorf("%q: %q after %v; want it after %v", status, f.shown, took, want)
			}
		})
	}
}
