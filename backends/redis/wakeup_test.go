package redis

import (
	"testing"
	"time"

	"parley/backends/redis/redistest"
	"parley/core/chat"
	"parley/core/relay"
)

// DI-11: a newer turn and a stop on one replica reach a claim on another by their announcements alone, and a choice by a frame:
// here the checks that would find what an announcement has lost come once an hour.
func TestAnnouncementsReachOtherReplicas(t *testing.T) {
	s := redistest.Start(t)
	a, b := open(t, s.URL(), Options{check: time.Hour}), open(t, s.URL(), Options{check: time.Hour})
	frames, err := a.Bus().Subscribe(t.Context(), "room") // from now on a receives what is announced
	if err != nil {
		t.Fatal(err)
	}
	for id := chat.ResponseID(1); id < 20; id += 2 {
		held := claim(t, a, "room", id)
		newer := claim(t, b, "room", id+1)
		cancelled(t, held, chat.ErrSuperseded)
		if newer.Err() != nil {
			t.Errorf("the newer turn is cancelled too: %v", newer.Err())
		}
		stopped := claim(t, a, "other", id)
		if err := b.Tracker().Stop(t.Context(), "ada", "other", id); err != nil {
			t.Fatal(err)
		}
		cancelled(t, stopped, chat.ErrStopped)
		if err := b.Bus().Publish(t.Context(), "room", relay.Frame{Run: "run", Chosen: true}); err != nil {
			t.Fatal(err)
		}
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
