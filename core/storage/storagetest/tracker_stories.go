package storagetest

import (
	"context"
	"errors"
	"math"
	"testing"

	"parley/core/chat"
	"parley/internal/require"
)

func laterCancels(t *testing.T, r replicas) {
	for i := range r {
		room := chat.RoomID("room/" + string(rune('a'+i)))
		here := r.claim(t, i, room, 1)
		there := r.claim(t, i+1, room, 2)
		if len(r) == 1 && here.Err() == nil {
			t.Error("the earlier claim lives after Claim returned; want it cancelled before")
		}
		ends(t, here, chat.ErrSuperseded)
		lives(t, there)
		last := r.claim(t, i+1, room, 3)
		if there.Err() == nil {
			t.Error("an earlier claim of the same replica lives after Claim returned; want it cancelled before")
		}
		ends(t, there, chat.ErrSuperseded)
		lives(t, last)
	}
}

func lateIsRefused(t *testing.T, r replicas) {
	latest := r.claim(t, 0, "room", 7)
	r.refused(t, "room", 6, chat.ErrSuperseded)
	r.refused(t, "room", 1, chat.ErrSuperseded)
	lives(t, latest)
	r.settles(t, "room", 7, nil)
}

func sameAgain(t *testing.T, r replicas) {
	var all []context.Context
	for i := range 2 * len(r) {
		all = append(all, r.claim(t, i, "room", 5))
	}
	for _, ctx := range all {
		lives(t, ctx)
	}
	r.settles(t, "room", 5, nil)
	r.claim(t, 0, "room", 6)
	for _, ctx := range all {
		ends(t, ctx, chat.ErrSuperseded)
	}
}

// stopEnds is DI-11: a stop request ends the run on the replica that holds it, whichever replica receives it.
func stopEnds(t *testing.T, r replicas) {
	ctx := r.claim(t, 0, "room", 4)
	r.stop(t, 1, "room", 3)
	lives(t, ctx)
	r.settles(t, "room", 4, nil)
	r.settles(t, "room", 3, chat.ErrStopped)
	r.stop(t, 1, "room", 4)
	ends(t, ctx, chat.ErrStopped)
	r.refused(t, "room", 4, chat.ErrStopped)
	r.refused(t, "room", 2, chat.ErrStopped)
	next := r.claim(t, 2, "room", 5)
	r.stop(t, 0, "room", 1) // an old stop lowers nothing
	lives(t, next)
	r.settles(t, "room", 4, chat.ErrStopped)
	r.settles(t, "room", 5, nil)
}

func stopFirst(t *testing.T, r replicas) {
	r.stop(t, 0, "room", 9)
	r.refused(t, "room", 9, chat.ErrStopped)
	r.settles(t, "room", 8, chat.ErrStopped)
	lives(t, r.claim(t, 1, "room", 10))
	r.settles(t, "room", 10, nil)
}

func settleIsTruth(t *testing.T, r replicas) {
	r.settles(t, "room", 3, nil) // nothing is known against it
	ctx, let := context.WithCancel(t.Context())
	claimed := require.Value(r.at(0).Claim(ctx, agent, "room", 3))(t)
	let()
	ends(t, claimed, context.Canceled)
	r.settles(t, "room", 3, nil) // whatever its context says
	r.settles(t, "room", 4, nil)
	r.claim(t, 1, "room", 5)
	r.settles(t, "room", 3, chat.ErrSuperseded)
	r.settles(t, "room", 4, chat.ErrSuperseded)
	r.stop(t, 2, "room", 3)
	r.settles(t, "room", 3, chat.ErrStopped)
	r.settles(t, "room", 4, chat.ErrSuperseded)
	r.settles(t, "room", 5, nil)
}

func contextIsChild(t *testing.T, r replicas) {
	type key struct{}
	gone := errors.New("the client went away")
	parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "kept"))
	first := require.Value(r.at(0).Claim(parent, agent, "room", 1))(t)
	if first.Value(key{}) != "kept" {
		t.Error("the child context has lost its parent's values; want them kept")
	}
	second := require.Value(r.at(1).Claim(parent, agent, "room", 2))(t)
	ends(t, first, chat.ErrSuperseded)
	lives(t, parent)
	cancel(gone)
	ends(t, second, gone)
}

// endForgetsNothing is the story of A, whose end made B look stale because it took away the room's latest turn.
func endForgetsNothing(t *testing.T, r replicas) {
	ctxA, endA := context.WithCancel(t.Context())
	a := require.Value(r.at(0).Claim(ctxA, agent, "room", 1))(t)
	ctxB, endB := context.WithCancel(t.Context())
	b := require.Value(r.at(1).Claim(ctxB, agent, "room", 2))(t)
	ends(t, a, chat.ErrSuperseded)
	endA()
	lives(t, b)
	r.settles(t, "room", 2, nil)
	endB()
	ends(t, b, context.Canceled)
	r.refused(t, "room", 1, chat.ErrSuperseded)
	r.settles(t, "room", 2, nil)
	lives(t, r.claim(t, 2, "room", 2))
}

func apart(t *testing.T, r replicas) {
	type place struct {
		agent chat.AgentID
		room  chat.RoomID
	}
	// The last two would be one place if their names were glued together with a slash.
	places := []place{{"ada", "x"}, {"ada", "y"}, {"bob", "x"}, {"ada", "{x}"}, {"ada/x", "y"}, {"ada", "x/y"}}
	claims := map[place]context.Context{}
	for i, p := range places {
		ctx := require.Value(r.at(i).Claim(t.Context(), p.agent, p.room, chat.ResponseID(10-i)))(t)
		claims[p] = ctx
	}
	for i, p := range places {
		lives(t, claims[p])
		if err := r.at(i+1).Settle(t.Context(), p.agent, p.room, chat.ResponseID(10-i)); err != nil {
			t.Errorf("settle %v: %v", p, err)
		}
	}
	require.NoError(t, r.at(0).Stop(t.Context(), "ada", "x", math.MaxUint64))
	ends(t, claims[places[0]], chat.ErrStopped)
	for _, p := range places[1:] {
		lives(t, claims[p])
	}
}

// greatTurns would fail where turns become floating-point numbers on their way.
func greatTurns(t *testing.T, r replicas) {
	turns := []chat.ResponseID{9, 10, 99, 100, 1 << 53, 1<<53 + 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64 - 1, math.MaxUint64}
	var before context.Context
	for i, id := range turns {
		ctx := r.claim(t, i, "room", id)
		if before != nil {
			ends(t, before, chat.ErrSuperseded)
			r.refused(t, "room", turns[i-1], chat.ErrSuperseded)
		}
		lives(t, ctx)
		before = ctx
	}
	r.stop(t, 0, "room", math.MaxUint64-1)
	lives(t, before)
	r.stop(t, 1, "room", math.MaxUint64)
	ends(t, before, chat.ErrStopped)
}

// outOfOrder is DI-09: whatever the order, the greatest wins.
func outOfOrder(t *testing.T, r replicas) {
	var contexts []context.Context
	var top chat.ResponseID
	for i, id := range []chat.ResponseID{3, 1, 8, 2, 8, 5, 9, 4, 7} {
		ctx, err := r.at(i).Claim(t.Context(), agent, "room", id)
		switch {
		case id < top && !errors.Is(err, chat.ErrSuperseded):
			t.Errorf("claim %d after %d: got %v, want %v", id, top, err, chat.ErrSuperseded)
		case id >= top && err != nil:
			t.Errorf("claim %d after %d: %v", id, top, err)
		case id >= top && id < 9:
			contexts = append(contexts, ctx)
		}
		top = max(top, id)
	}
	for _, ctx := range contexts {
		ends(t, ctx, chat.ErrSuperseded)
	}
	r.settles(t, "room", 9, nil)
}
