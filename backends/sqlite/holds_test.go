package sqlite

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/require"
	"parley/progressive"
)

// I6: what the platform forbade for long is forbidden to the next process too; what it forbade for a moment is not worth
// a write.
func TestHoldsOutliveTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "parley.db")
		store, err := Open(t.Context(), path, Options{})
		require.NoError(t, err)
		told(t, gateOver(t, store), progressive.RetryAfter{Scope: "chat/1", After: 2 * time.Hour})
		told(t, gateOver(t, store), progressive.RetryAfter{Scope: "chat/2", After: 30 * time.Second})
		told(t, gateOver(t, store), progressive.BudgetHint{Scope: "chat/3", After: 90 * time.Minute})
		require.NoError(t, store.Close())

		time.Sleep(time.Hour) // the process is down
		if store, err = Open(t.Context(), path, Options{}); err != nil {
			t.Fatal(err)
		}
		gate, begun := gateOver(t, store), time.Now()
		for _, tt := range []struct {
			scope progressive.Scope
			opens time.Duration
		}{{"chat/2", 0}, {"chat/3", 30 * time.Minute}, {"chat/1", time.Hour}} {
			leave := require.Value(gate.Enter(t.Context(), progressive.Ticket{Scopes: []progressive.Scope{tt.scope}, Priority: progressive.PriorityFinal}))(t)
			leave(nil)
			if at := time.Since(begun); at != tt.opens {
				t.Errorf("%s was open after %v, want %v", tt.scope, at, tt.opens)
			}
		}
		if ends, err := store.Holds(t.Context()); err != nil || len(ends) != 0 {
			t.Errorf("holds that are over: %v, %v; want none", ends, err)
		}
		require.NoError(t, store.Close())
	})
}

func gateOver(t *testing.T, store *Store) progressive.Gate {
	t.Helper()
	remembering := require.Value(progressive.WithHoldStore(t.Context(), store, slog.New(slog.DiscardHandler)))(t)
	return progressive.NewGate(func(progressive.Scope) progressive.Budget { return progressive.Budget{N: 5, Per: time.Second} }, remembering)
}

// told makes a request that the platform answers with err.
func told(t *testing.T, gate progressive.Gate, err error) {
	t.Helper()
	leave := require.Value(gate.Enter(t.Context(), progressive.Ticket{Scopes: []progressive.Scope{"elsewhere"}, Priority: progressive.PriorityFinal}))(t)
	leave(err)
}

func TestHoldsOfAClosedStore(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	require.NoError(t, s.SaveHold(t.Context(), "chat", time.Now().Add(time.Hour)))
	require.NoError(t, s.SaveHold(t.Context(), "chat", time.Now().Add(2*time.Hour)))
	ends, err := s.Holds(t.Context())
	if err != nil || len(ends) != 1 || time.Until(ends["chat"]) < 90*time.Minute {
		t.Errorf("got %v, %v", ends, err)
	}
	require.NoError(t, s.Close())
	if _, err := s.Holds(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("reading: %v", err)
	}
	if err := s.SaveHold(t.Context(), "chat", time.Now()); !errors.Is(err, ErrClosed) {
		t.Errorf("saving: %v", err)
	}
}
