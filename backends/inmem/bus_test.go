package inmem

import (
	"context"
	"testing"
	"testing/synctest"

	"parley/core/answer"
	"parley/core/relay"
	"parley/internal/require"
)

// A slow reader keeps the newest: so it sees that something is missing.
func TestSlowReaderHearsTheNewest(t *testing.T) {
	b := NewBus()
	ch := require.Value(b.Subscribe(t.Context(), "room"))(t)
	for i := range 3 * backlog {
		require.NoError(t, b.Publish(t.Context(), "room", relay.Frame{From: answer.Cursor(i)}))
	}
	for i := 2 * backlog; i < 3*backlog; i++ {
		if f := <-ch; f.From != answer.Cursor(i) {
			t.Fatalf("heard %d, want %d", f.From, i)
		}
	}
}

func TestBusForgetsReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBus()
		ctx, cancel := context.WithCancel(t.Context())
		for range 10 {
			require.Value(b.Subscribe(ctx, "room"))(t)
		}
		cancel()
		synctest.Wait()
		if len(b.readers) != 0 {
			t.Errorf("rooms with readers: %d; want none", len(b.readers))
		}
		ch, err := b.Subscribe(ctx, "room") // already done
		require.NoError(t, err)
		if _, ok := <-ch; ok {
			t.Error("a frame was received after the end of the subscription; want a closed channel")
		}
	})
}

func BenchmarkPublish(b *testing.B) {
	f := relay.Frame{Run: "run", Changes: []answer.Change{{Kind: answer.Text, Text: "word"}}}
	b.Run("no readers", func(b *testing.B) {
		bus := NewBus()
		b.ReportAllocs()
		for b.Loop() {
			_ = bus.Publish(context.Background(), "room", f)
		}
	})
	b.Run("one slow reader", func(b *testing.B) {
		bus := NewBus()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		_, _ = bus.Subscribe(ctx, "room")
		b.ReportAllocs()
		for b.Loop() {
			_ = bus.Publish(context.Background(), "room", f)
		}
	})
}
