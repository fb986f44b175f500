package sqlite

import (
	"context"
	"path/filepath"
	"testing"

	"parley/core/chat"
	"parley/core/storage/storagetest"
	"parley/internal/require"
)

func TestKeep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	s := open(t, path)
	wants := func(want string) {
		t.Helper()
		if got, err := s.Kept(t.Context(), "telegram/1"); err != nil || got != want {
			t.Errorf("kept is %q, %v; want %q", got, err, want)
		}
	}
	wants("")
	for _, value := range []string{"one", "two"} {
		require.NoError(t, s.Keep(t.Context(), "telegram/1", value))
		wants(value)
	}
	if err := s.Keep(t.Context(), "telegram/1", "\xff"); err == nil {
		t.Error("Keep stored invalid UTF-8; want an error")
	}
	require.NoError(t, s.Close())
	s = open(t, path)
	wants("two")
}

func TestSwap(t *testing.T) { storagetest.Kept(t, open(t, filepath.Join(t.TempDir(), "parley.db"))) }

// Known people cost no transaction of their own: a message of an earlier author writes to the file once.
func TestWhatIsKnownIsNotWritten(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	save := func() {
		t.Helper()
		for _, do := range saves {
			if news, err := do(t.Context(), s); err != nil || news == chat.Changed {
				t.Fatal(news, err)
			}
		}
	}
	changes := func() (n int) {
		t.Helper()
		require.NoError(t, s.writer.QueryRow(`SELECT total_changes()`).Scan(&n))
		return n
	}
	save()
	before := changes()
	save()
	if after := changes(); after != before {
		t.Errorf("%d rows were written again", after-before)
	}
}

var saves = []func(context.Context, *Store) (chat.News, error){
	func(ctx context.Context, s *Store) (chat.News, error) {
		return s.SaveEntity(ctx, chat.Entity{ID: "ada", Connector: "fake", Names: []string{"Ada"}})
	},
	func(ctx context.Context, s *Store) (chat.News, error) {
		return s.SaveWorld(ctx, chat.World{ID: "world", Connector: "fake", Name: "The world"})
	},
	func(ctx context.Context, s *Store) (chat.News, error) {
		return s.SaveMember(ctx, chat.Member{World: "world", Entity: "ada"})
	},
}
