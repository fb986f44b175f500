package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"parley/backends/record"
	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/search"
)

// SE-20: a minute after a message was forgotten or revised, the file holds none of its words, also not in the index.
func TestForgottenWordsAreGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	s := open(t, path)
	for id, text := range map[chat.MemoryID]string{"a": "zanzibarine", "b": "quetzalling", "c": "something else"} {
		in := chat.Message{Memory: chat.Memory{ID: id, Room: "room", Author: "ada", Text: text, At: time.Now()}, Place: chat.Room{ID: "room"}}
		require.Value(s.Accept(t.Context(), in, chat.JoinRule{}))(t)
	}
	require.Value(s.IndexWords(t.Context(), 10, time.Time{}))(t)
	held := func(word string) (n int) {
		for _, name := range []string{path, path + "-wal"} {
			data := require.Value(os.ReadFile(name))(t)
			n += bytes.Count(data, []byte(word))
		}
		return n
	}
	if held("zanzibarine") == 0 || held("quetzalling") == 0 {
		t.Fatal("the index does not hold the words before they are deleted; want both")
	}
	require.NoError(t, s.Forget(t.Context(), "a"))
	require.NoError(t, s.Revise(t.Context(), "b", "nothing", nil))
	for more := true; more; {
		var err error
		if more, err = s.Expire(t.Context(), chat.Expiry{}); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := held("zanzibarine"), held("quetzalling"); a+b > 0 {
		t.Errorf("the file holds the word of a forgotten message %d times, and of a revised one %d times", a, b)
	}
}

// The index has rooms by a hash. A message of another room with the same hash is not found.
func TestRoomsWithOneHash(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "parley.db"))
	say := func(room chat.RoomID, n int, text string) {
		in := chat.Message{
			Memory: chat.Memory{ID: chat.MemoryID(fmt.Sprint(room, n)), Room: room, Author: "ada", Text: text, At: time.Now()},
			Place:  chat.Room{ID: room},
		}
		if _, err := s.Accept(t.Context(), in, chat.JoinRule{NoRun: true}); err != nil {
			t.Error(err)
		}
	}
	const many = record.Compared + 10
	var group sync.WaitGroup
	for n := range many - 1 {
		group.Go(func() { say("room", n, "one of many") })
	}
	group.Wait()
	say("room", many-1, "which?")
	say("other", 0, "many secrets")
	require.Value(s.IndexWords(t.Context(), 2*many, time.Time{}))(t)
	err := s.memories.write(t.Context(), func(ctx context.Context, tx *conn) error {
		_, err := tx.ExecContext(ctx, `UPDATE memory_words SET room = ? WHERE room = ?`, record.RoomWord("room"), record.RoomWord("other"))
		return err
	})
	require.NoError(t, err)
	found, err := s.FindWords(t.Context(), chat.Search{Room: "room", Before: chat.MemoryID(fmt.Sprint("room", many-1)), Words: search.Question("many secrets"), Limit: 3})
	if err != nil || len(found) != 3 {
		t.Fatalf("found %v, %v; want 3", found, err)
	}
	for _, p := range found {
		if p.Room != "room" {
			t.Errorf(`found in %q: %v; want "room"`, p.Room, p.Messages[0].Text)
		}
	}
}
