package redis

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"parley/backends/redis/redistest"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/relay"
	"parley/internal/require"
)

func BenchmarkClaim(b *testing.B) {
	s := redistest.Start(b)
	be := open(b, s.URL(), Options{})
	var ids atomic.Uint64
	b.RunParallel(func(pb *testing.PB) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		for pb.Next() {
			id := ids.Add(1)
			if _, err := be.Tracker().Claim(ctx, "ada", chat.RoomID(fmt.Sprint(id%1024)), chat.ResponseID(id)); err != nil && ctx.Err() == nil {
				continue // overtaken by a parallel one
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
}

// BenchmarkCancelElsewhere is the time from the call of Claim until the claim of another replica is cancelled.
func BenchmarkCancelElsewhere(b *testing.B) {
	s := redistest.Start(b)
	two := []*Backend{open(b, s.URL(), Options{}), open(b, s.URL(), Options{})}
	for _, be := range two { // both listen
		if _, err := be.Bus().Subscribe(b.Context(), "room"); err != nil {
			b.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	before := require.Value(two[0].Tracker().Claim(ctx, "ada", "room", 1))(b)
	id := chat.ResponseID(1)
	for b.Loop() {
		id++
		next := require.Value(two[id%2].Tracker().Claim(ctx, "ada", "room", id))(b)
		<-before.Done()
		before = next
	}
}

func BenchmarkPublish(b *testing.B) {
	s := redistest.Start(b)
	be := open(b, s.URL(), Options{})
	f := relay.Frame{Run: "run", Changes: []answer.Change{{Kind: answer.Text, Text: "word"}}}
	for b.Loop() {
		require.NoError(b, be.Bus().Publish(context.Background(), "room", f))
	}
}
