package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"parley/core/chat"
)

// What a cleared room leaves is free for others: the pages of its messages, words and vectors are used again, so the file doesn't grow.
func TestDeletionFreesSpace(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "parley.db"))
	pages := func() (all, free int) {
		t.Helper()
		err := s.write(t.Context(), func(ctx context.Context, tx *conn) error {
			if err := tx.QueryRowContext(ctx, `PRAGMA page_count`).Scan(&all); err != nil {
				return err
			}
			return tx.QueryRowContext(ctx, `PRAGMA freelist_count`).Scan(&free)
		})
		if err != nil {
			t.Fatal(err)
		}
		return all, free
	}
	begun := time.Now().Add(-time.Minute)
	fill := func(room chat.RoomID) {
		t.Helper()
		for n := range 100 {
			m := chat.Memory{ID: chat.MemoryID(fmt.Sprint(room, "/", n)), Room: room, Author: "ada", Text: fmt.Sprintf("message %d of a room with many words", n), At: time.Now()}
			if _, err := s.Accept(t.Context(), chat.Message{Memory: m, Place: chat.Room{ID: room}}, chat.JoinRule{NoRun: true}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.IndexWords(t.Context(), 1000, begun); err != nil {
			t.Fatal(err)
		}
		waiting, err := s.Unembedded(t.Context(), "model", 1000)
		if err != nil || len(waiting) != 100 {
			t.Fatalf("%d messages wait for a vector, %v", len(waiting), err)
		}
		var vectors []chat.Vector
		for n, w := range waiting {
			vector := make([]float32, 768)
			vector[n] = 1
			vectors = append(vectors, chat.Vector{Ticket: w.Ticket, Vector: vector})
		}
		if err := s.SaveVectors(t.Context(), "model", vectors); err != nil {
			t.Fatal(err)
		}
	}
	fill("first")
	most, _ := pages()
	for n := range 5 {
		room := chat.RoomID(fmt.Sprint("room ", n))
		if n == 0 {
			room = "first"
		}
		if _, err := s.Clear(t.Context(), room); err != nil {
			t.Fatal(err)
		}
		if all, free := pages(); free < 40 { // the vectors alone took about 45
			t.Errorf("clearing a room leaves %d of %d pages free", free, all)
		}
		fill(chat.RoomID(fmt.Sprint("room ", n+1)))
		if all, _ := pages(); all > most+most/10 {
			t.Errorf("after %d rooms that were cleared, the file has %d pages; it had %d with one", n+1, all, most)
		}
	}
}
