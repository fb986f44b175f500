package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"parley/core/chat"
)

// SE-20: a minute after a message was forgotten or revised, the file holds none of its words, also not in the index.
func TestForgottenWordsAreGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	s := open(t, path)
	for id, text := range map[chat.MemoryID]string{"a": "zanzibarine", "b": "quetzalling", "c": "something else"} {
		in := chat.Message{Memory: chat.Memory{ID: id, Room: "room", Author: "ada", Text: text, At: time.Now()}, Place: chat.Room{ID: "room"}}
		if _, err := s.Accept(t.Context(), in, chat.JoinRule{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.IndexWords(t.Context(), 10, time.Time{}); err != nil {
		t.Fatal(err)
	}
	held := func(word string) (n int) {
		for _, name := range []string{path, path + "-wal"} {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			n += bytes.Count(data, []byte(word))
		}
		return n
	}
	if held("zanzibarine") == 0 || held("quetzalling") == 0 {
		t.Fatal("there is nothing to forget")
	}
	if err := s.Forget(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := s.Revise(t.Context(), "b", "nothing", nil); err != nil {
		t.Fatal(err)
	}
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
