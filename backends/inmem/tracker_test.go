package inmem

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/chat"
	"parley/internal/require"
)

func TestMarksAreKeptForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := NewTracker()
		mustClaim(t, tr, t.Context(), "old", 5)
		ctx, cancel := context.WithCancel(t.Context())
		mustClaim(t, tr, ctx, "left", 5)
		cancel()
		time.Sleep(Remembered - time.Second)
		if _, err := tr.Claim(t.Context(), "a", "left", 4); !errors.Is(err, chat.ErrSuperseded) {
			t.Errorf("a late turn within a day: %v", err)
		}
		time.Sleep(Remembered - time.Second)
		if err := tr.Settle(t.Context(), "a", "left", 4); !errors.Is(err, chat.ErrSuperseded) {
			t.Errorf("the refused turn did not keep the marks alive: %v", err)
		}
	})
}

func TestIdleRoomsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := NewTracker()
		const rooms = 1000
		for i := range rooms {
			ctx, cancel := context.WithCancel(t.Context())
			mustClaim(t, tr, ctx, chat.RoomID(fmt.Sprint(i)), 1)
			cancel()
		}
		held := mustClaim(t, tr, t.Context(), "held", 7)
		time.Sleep(Remembered)
		for range rooms/2 + 1 { // each use forgets two
			mustClaim(t, tr, t.Context(), "new", 1)
		}
		if len(tr.rooms) != 2 || tr.aged.Len() != 2 {
			t.Errorf("%d rooms are remembered, want the held one and the new one", len(tr.rooms))
		}
		if held.Err() != nil || !errors.Is(tr.Settle(t.Context(), "a", "held", 6), chat.ErrSuperseded) {
			t.Error("a held room was forgotten")
		}
	})
}

// A query leaves no entry behind.
func TestSettleMakesNoEntry(t *testing.T) {
	tr := NewTracker()
	if err := tr.Settle(t.Context(), "a", "room", 3); err != nil || len(tr.rooms) != 0 {
		t.Errorf("settle: %v, %d rooms; want none", err, len(tr.rooms))
	}
	tr.Learn("a", "room", Marks{Latest: 4})
	if len(tr.rooms) != 0 {
		t.Error("the tracker keeps a room without members on this replica; want none")
	}
}

func TestHeldRoomIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := NewTracker()
		ctx, cancel := context.WithCancel(t.Context())
		mustClaim(t, tr, ctx, "room", 3)
		mustClaim(t, tr, ctx, "room", 3)
		mustClaim(t, tr, t.Context(), "room", 4)
		synctest.Wait()
		if got := tr.Held(); len(got) != 1 || got[0] != (Held{"a", "room", 4}) {
			t.Errorf("held: %v", got)
		}
		tr.Learn("a", "room", Marks{Latest: 9})
		synctest.Wait()
		if got := tr.Held(); len(got) != 0 {
			t.Errorf("held after a later turn elsewhere: %v; want none", got)
		}
		if err := tr.Settle(t.Context(), "a", "room", 4); !errors.Is(err, chat.ErrSuperseded) {
			t.Errorf("settle: %v", err)
		}
		cancel()
	})
}

func mustClaim(t *testing.T, tr *Tracker, ctx context.Context, in chat.RoomID, id chat.ResponseID) context.Context {
	t.Helper()
	claimed := require.Value(tr.Claim(ctx, "a", in, id))(t)
	return claimed
}

func BenchmarkClaim(b *testing.B) {
	tr := NewTracker()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	rooms := make([]chat.RoomID, 1024)
	for i := range rooms {
		rooms[i] = chat.RoomID(fmt.Sprint(i))
	}
	b.ReportAllocs()
	var id chat.ResponseID
	for b.Loop() {
		id++
		if _, err := tr.Claim(ctx, "a", rooms[id%1024], id); err != nil {
			b.Fatal(err)
		}
	}
}
