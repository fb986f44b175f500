package relay_test

import (
	"errors"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/relay"
	"parley/internal/require"
)

// Without other replicas there is no bus: a reader who comes before the holder reads what that writes.
func TestOnlyReplicaNeedsNoBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &endingRun{}
		l := relay.NewRegistry(store, nil, slog.New(slog.DiscardHandler))
		a, err := l.Watch(t.Context(), "run")
		require.NoError(t, err)
		l.NotifyChoice(t.Context(), "run", "room") // of a run without a holder
		made := l.Hold("run", "room", 1)
		chosen := l.ChoiceMade("run")
		l.NotifyChoice(t.Context(), "run", "room")
		<-chosen
		made.Apply(answer.Change{Kind: answer.Text, Text: "Hello"})
		made.End(answer.Outcome{Status: answer.Completed})
		store.over.Store(true)
		l.Release("run", made)
		for err == nil {
			err = a.Wait(t.Context(), a.View().At)
		}
		if text := a.View().Text(); !errors.Is(err, io.EOF) || text != "Hello" {
			t.Errorf("the reader sees %q, and then %v", text, err)
		}
		l.Wait()
		if again, err := l.Watch(t.Context(), chat.RunID("run")); err != nil || again == a {
			t.Errorf("after the end, the stored answer is not read: %v", err)
		}
	})
}
