package relay_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/backends/inmem"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/relay"
	"parley/internal/require"
	"parley/internal/subtest"
)

// endingRun is a store with a run that has ended when that is said.
type endingRun struct {
	openRuns
	over atomic.Bool
}

func (e *endingRun) Run(_ context.Context, id chat.RunID) (chat.Run, error) {
	run := chat.Run{ID: id, Room: "room"}
	if e.over.Load() {
		run.Outcome.Status = answer.Completed
	}
	return run, nil
}

// A reader on another replica sees an answer that begins a moment later within a fraction of a second, also if it is over
// before its holder hears of the reader.
func TestShortAnswerIsSeenSoon(t *testing.T) {
	for name, c := range map[string]struct {
		begins, takes time.Duration // after the reader comes
		within        time.Duration
		read          bool // it is read from frames, not again from the store
	}{
		"begins later":                     {begins: 30 * time.Millisecond, takes: time.Second, within: 1100 * time.Millisecond, read: true},
		"over before the first repetition": {begins: 10 * time.Millisecond, takes: 10 * time.Millisecond, within: 200 * time.Millisecond},
		"over before the next look":        {begins: 210 * time.Millisecond, takes: 20 * time.Millisecond, within: 600 * time.Millisecond},
		"waits for its turn":               {begins: time.Minute, takes: 20 * time.Millisecond, within: time.Minute + 2100*time.Millisecond},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			bus, store, log := inmem.NewBus(), &endingRun{}, slog.New(slog.DiscardHandler)
			here, there := relay.NewRegistry(store, bus, log), relay.NewRegistry(store, bus, log)
			began := time.Now()
			a, err := here.Watch(t.Context(), "run")
			require.NoError(t, err)
			go func() {
				time.Sleep(c.begins)
				made := there.Hold("run", "room", 1)
				making, done := context.WithCancel(t.Context())
				go there.Publish(making, chat.Run{ID: "run", Room: "room", Epoch: 1}, made)
				time.Sleep(c.takes)
				made.Apply(answer.Change{Kind: answer.Text, Text: "Hello"})
				made.End(answer.Outcome{Status: answer.Completed})
				store.over.Store(true)
				done()
			}()
			for err == nil {
				err = a.Wait(t.Context(), a.View().At)
			}
			if took := time.Since(began); took > c.within {
				t.Errorf("the reader knows after %v, want %v", took, c.within)
			}
			if read := errors.Is(err, io.EOF); read != c.read || !read && !errors.Is(err, answer.ErrLost) {
				t.Errorf("it ended with %v", err)
			}
		}))
	}
}
