package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	native "zombiezen.com/go/sqlite"

	"parley/core/chat"
	"parley/internal/require"
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
		require.NoError(t, err)
		return all, free
	}
	begun := time.Now().Add(-time.Minute)
	fill := func(room chat.RoomID) {
		t.Helper()
		for n := range 100 {
			m := chat.Memory{ID: chat.MemoryID(fmt.Sprint(room, "/", n)), Room: room, Author: "ada", Text: fmt.Sprintf("message %d of a room with many words", n), At: time.Now()}
			require.Value(s.Accept(t.Context(), chat.Message{Memory: m, Place: chat.Room{ID: room}}, chat.JoinRule{NoRun: true}))(t)
		}
		require.Value(s.IndexWords(t.Context(), 1000, begun))(t)
		waiting, err := s.Unembedded(t.Context(), "model", 1000)
		if err != nil || len(waiting) != 100 {
			t.Fatalf("%d messages wait for a vector, %v; want 100", len(waiting), err)
		}
		var vectors []chat.Vector
		for n, w := range waiting {
			vector := make([]float32, 768)
			vector[n] = 1
			vectors = append(vectors, chat.Vector{Ticket: w.Ticket, Vector: vector})
		}
		require.NoError(t, s.SaveVectors(t.Context(), "model", vectors))
	}
	fill("first")
	most, _ := pages()
	for n := range 5 {
		room := chat.RoomID(fmt.Sprint("room ", n))
		if n == 0 {
			room = "first"
		}
		require.Value(s.Clear(t.Context(), room))(t)
		if all, free := pages(); free < 40 { // the vectors alone took about 45
			t.Errorf("clearing a room leaves %d of %d pages free; want at least 40", free, all)
		}
		fill(chat.RoomID(fmt.Sprint("room ", n+1)))
		if all, _ := pages(); all > most+most/10 {
			t.Errorf("after %d rooms that were cleared, the file has %d pages; it had %d with one", n+1, all, most)
		}
	}
}

// A file of which most is free shrinks with the next upkeep, also after a restore of a store that an earlier version made: its backup can
// shrink.
func TestDeletionReturnsSpace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	s := open(t, path)
	text := strings.Repeat("words ", 2000)
	for n := range 400 {
		m := chat.Memory{ID: chat.MemoryID(fmt.Sprint("m", n)), Room: "room", Author: "ada", Text: text, At: time.Now()}
		require.Value(s.Accept(t.Context(), chat.Message{Memory: m, Place: chat.Room{ID: "room"}}, chat.JoinRule{NoRun: true}))(t)
	}
	upkeep := func() int64 {
		t.Helper()
		for more := true; more; {
			var err error
			if more, err = s.Expire(t.Context(), chat.Expiry{}); err != nil {
				t.Fatal(err)
			}
		}
		info := require.Value(os.Stat(path))(t)
		return info.Size()
	}
	before := upkeep()
	require.Value(s.Clear(t.Context(), "room"))(t)
	if after := upkeep(); after > before/2 {
		t.Errorf("the file has %d bytes after the deletion; it had %d", after, before)
	}
	require.NoError(t, s.Close())
	backup := filepath.Join(t.TempDir(), "backup.db")
	err := onceIn(t.Context(), path, func(c *conn) error {
		c.db.Limit(native.LimitAttached, 1) // which VACUUM needs
		for _, pragma := range []string{"PRAGMA journal_mode = DELETE", "PRAGMA auto_vacuum = NONE", "VACUUM"} {
			if _, err := c.ExecContext(t.Context(), pragma); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Value(Backup(t.Context(), path, backup))(t)
	for name, want := range map[string]int{path: 0, backup: incrementalMode} {
		err := onceIn(t.Context(), name, func(c *conn) error {
			if mode, err := count(t.Context(), c, `PRAGMA auto_vacuum`); err != nil || mode != want {
				t.Errorf("the mode of %s is %d, %v; want %d", name, mode, err, want)
			}
			return nil
		})
		require.NoError(t, err)
	}
}
