// Package storagetest contains one test suite for each port of core. Every backend runs them, as one process and as
// several replicas.
package storagetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"parley/core"
	"parley/core/chat"
)

// patience is how long "soon" may take on a busy machine before a test gives up.
const patience = 20 * time.Second

func patient() <-chan time.Time { return time.After(patience) }

const agent chat.AgentID = "ada"

// Tracker tests the contract of [core.Tracker]. newReplicas returns n connected, empty trackers, and registers their
// cleanup.
func Tracker(t *testing.T, newReplicas func(t *testing.T, n int) []core.Tracker) {
	stories := []struct {
		name string
		tell func(*testing.T, replicas)
	}{
		{"a later claim cancels an earlier one", laterCancels},
		{"a late claim is refused", lateIsRefused},
		{"claiming the same turn again has no effect", sameAgain},
		{"a stop cancels the claims up to its turn", stopEnds},
		{"a stop before the claim refuses it", stopFirst},
		{"Settle reports the latest turn", settleIsTruth},
		{"a claim's context is derived from the caller's", contextIsChild},
		{"the end of a claim keeps the latest turn", endForgetsNothing},
		{"rooms and agents are separate", apart},
		{"turns above 2^53 keep their order", greatTurns},
		{"claims out of order leave the latest", outOfOrder},
		{"concurrent claims leave the latest", allAtOnce},
		{"any interleaving leaves one claim", anyInterleaving},
	}
	for _, n := range []int{1, 3} {
		for _, s := range stories {
			t.Run(fmt.Sprintf("%s/%d", s.name, n), func(t *testing.T) { s.tell(t, newReplicas(t, n)) })
		}
	}
}

// replicas are asked in turn: any may be asked anything.
type replicas []core.Tracker

func (r replicas) at(i int) core.Tracker { return r[i%len(r)] }

func (r replicas) claim(t *testing.T, i int, room chat.RoomID, id chat.ResponseID) context.Context {
	t.Helper()
	ctx, err := r.at(i).Claim(t.Context(), agent, room, id)
	if err != nil {
		t.Fatalf("claim %d of %s: %v", id, room, err)
	}
	return ctx
}

func (r replicas) refused(t *testing.T, room chat.RoomID, id chat.ResponseID, want error) {
	t.Helper()
	for i := range r {
		if ctx, err := r[i].Claim(t.Context(), agent, room, id); !errors.Is(err, want) || ctx != nil {
			t.Errorf("replica %d: claim %d of %s: got %v, %v, want %v", i, id, room, ctx, err, want)
		}
	}
}

func (r replicas) stop(t *testing.T, i int, room chat.RoomID, upTo chat.ResponseID) {
	t.Helper()
	if err := r.at(i).Stop(t.Context(), agent, room, upTo); err != nil {
		t.Fatalf("stop %d of %s: %v", upTo, room, err)
	}
}

func (r replicas) settles(t testing.TB, room chat.RoomID, id chat.ResponseID, want error) {
	t.Helper()
	for i := range r {
		if err := r[i].Settle(context.Background(), agent, room, id); !errors.Is(err, want) {
			t.Errorf("replica %d: settle %d of %s: got %v, want %v", i, id, room, err, want)
		}
	}
}

// ends waits until ctx is done and checks why.
func ends(t testing.TB, ctx context.Context, want error) {
	t.Helper()
	select {
	case <-ctx.Done():
		if got := context.Cause(ctx); !errors.Is(got, want) {
			t.Errorf("cancelled because %v, want %v", got, want)
		}
	case <-patient():
		t.Fatalf("not cancelled; want %v", want)
	}
}

func lives(t testing.TB, ctx context.Context) {
	t.Helper()
	if ctx.Err() != nil {
		t.Errorf("the claim was cancelled: %v; want it to live", context.Cause(ctx))
	}
}
