package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"parley/backends/record"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

// sizes are how many messages are stored before the measure begins.
var sizes = []int{10, 100_000}

// filled has n messages in one room, and every tenth run is open.
func filled(b *testing.B, n int) *Store {
	b.Helper()
	s := open(b, filepath.Join(b.TempDir(), "parley.db"))
	err := s.write(b.Context(), func(ctx context.Context, tx *conn) error {
		all := inTransaction(s, tx)
		for i := range n {
			acc, err := all.Accept(ctx, message("room", i), chat.JoinRule{})
			if err == nil && i%10 > 0 {
				err = all.Finish(ctx, acc.Run, 0, answer.Outcome{Status: answer.Ignored}, chat.Memory{})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(b, err)
	return s
}

func message(room chat.RoomID, n int) chat.Message {
	id := chat.MemoryID(fmt.Sprintf("telegram/1234567890/%s/%d", room, n))
	return chat.Message{
		Memory:  chat.Memory{ID: id, Room: room, Author: "ada", Name: "Ada", Text: "What is the answer to that question?", At: time.Now()},
		Place:   chat.Room{ID: room, Kind: chat.Group, Connector: "telegram", Name: "a room"},
		Address: chat.Address{Connector: "telegram", Room: room, ReplyTo: id},
	}
}

func BenchmarkAccept(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := filled(b, size)
			for n := size; b.Loop(); n++ {
				if _, err := s.Accept(b.Context(), message("room", n), chat.JoinRule{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAcceptUnsynced leaves the disk out: what the transaction itself costs.
func BenchmarkAcceptUnsynced(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := filled(b, size)
			if _, err := s.writer.Exec(`PRAGMA synchronous = OFF`); err != nil {
				b.Fatal(err)
			}
			for n := size; b.Loop(); n++ {
				if _, err := s.Accept(b.Context(), message("room", n), chat.JoinRule{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRecent(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := filled(b, size)
			for b.Loop() {
				all, err := s.Recent(b.Context(), "room", chat.Said, chat.ResponseID(size-2), 8)
				if err != nil || len(all) != 8 {
					b.Fatal(len(all), err)
				}
			}
		})
	}
}

func BenchmarkNote(b *testing.B) {
	s := filled(b, 10)
	run := require.Value(s.Start(b.Context(), record.RunID("room", 1), "owner"))(b)
	for n := 0; b.Loop(); n++ {
		require.NoError(b, s.Note(b.Context(), run.ID, run.Epoch, chat.Note{Text: fmt.Sprint("so far ", n)}))
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := filled(b, size)
			var path string
			require.NoError(b, s.writer.QueryRow(`SELECT file FROM pragma_database_list`).Scan(&path))
			require.NoError(b, s.Close())
			for b.Loop() {
				s := require.Value(Open(b.Context(), path, Options{}))(b)
				require.NoError(b, s.Close())
			}
		})
	}
}
