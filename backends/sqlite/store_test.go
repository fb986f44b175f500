package sqlite

import (
	"path/filepath"
	"testing"

	"parley/core/coretest"
	"parley/core/storage"
)

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	paths := map[storage.Store]string{}
	coretest.StoreSuite{
		Open: func(t *testing.T) storage.Store {
			path := filepath.Join(t.TempDir(), "a#b %20?.db")
			s := open(t, path)
			paths[s] = path
			return s
		},
		Reopen: func(t *testing.T, s storage.Store) storage.Store {
			if err := s.(*Store).Close(); err != nil {
				t.Fatal(err)
			}
			again := open(t, paths[s])
			paths[again] = paths[s]
			return again
		},
	}.Run(t)
}

func TestPersonalData(t *testing.T) {
	coretest.Personal(t, func(t *testing.T) storage.Store { return open(t, filepath.Join(t.TempDir(), "parley.db")) })
}
