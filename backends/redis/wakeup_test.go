package redis

import (
	"testing"
	"time"

	"parley/backends/redis/redistest"
	"parley/core/chat"
	"parley/core/relay"
	"parley/internal/require"
)

// DI-11: a newer turn and a stop on one replica reach a claim on another by their announcements alone, and a choice by a frame:
// here the checks that would find what an announcement has lost come once an hour.
func TestAnnouncementsReachOtherReplicas(t *testing.T) {
	s := redistest.Start(t)
	a, b := open(t, s.URL(), Options{check: time.Hour}), open(t, s.URL(), Options{check: time.Hour})
	frames, err := a.Bus().Subscribe(t.Context(), "room") // from now on a receives what is announced
	require.NoError(t, err)
	for id := chat.ResponseID(1); id < 20; id += 2 {
		held := claim(t, a, "room", id)
		newer := claim(t, b, "room", id+1)
		cancelled(t, held, chat.ErrSuperseded)
		if newer.Err() != nil {
			t.Errorf("the newer turn is cancelled too: %v", newer.Err())
		}
		stopped := claim(t, a, "other", id)
		require.NoError(t, b.Tracker().Stop(t.Context(), "ada", "other", id))
		cancelled(t, stopped, chat.ErrStopped)
		require.NoError(t, b.Bus().Publish(t.Context(), "room", relay.Frame{Run: "run", Chosen: true}))
		select {
		case f := <-frames:
			if !f.Chosen {
				t.Errorf("received %+v", f)
			}
		case <-time.After(patience):
			t.Fatal("the choice is not heard of")
		}
	}
}
