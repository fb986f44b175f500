package postgres

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

// BenchmarkTurns is what a turn writes at least, in many rooms at once: accepted, started, its verdict noted, finished.
func BenchmarkTurns(b *testing.B) {
	s := open(b, fresh(b), Options{})
	require.NoError(b, s.RenewLease(b.Context(), "owner", time.Now().Add(time.Hour)))
	done := answer.Outcome{Status: answer.Completed}
	var n atomic.Int64
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := n.Add(1)
			acc, err := s.Accept(b.Context(), message(chat.RoomID(fmt.Sprint("room ", id)), chat.MemoryID(fmt.Sprint("m", id))), chat.JoinRule{})
			require.NoError(b, err)
			run, err := s.Start(b.Context(), acc.Run, "owner")
			if err == nil {
				err = s.Note(b.Context(), run.ID, run.Epoch, chat.Note{Verdict: &chat.Verdict{Outcome: done, Text: "yes"}})
			}
			if err == nil {
				err = s.Finish(b.Context(), run.ID, run.Epoch, done, chat.Memory{ID: chat.MemoryID(run.ID), Room: run.Room, Text: "yes"})
			}
			require.NoError(b, err)
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}
