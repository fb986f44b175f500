package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"parley/core/storage"
	"parley/core/storage/storagetest"
	"parley/internal/require"
)

func open(t testing.TB, path string) *Store {
	t.Helper()
	s := require.Value(Open(t.Context(), path, Options{Audit: func(err error) { t.Error(err) }}))(t)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// empty is the content of an empty database. It is made once: under the race detector the migrations take longer than most tests.
var empty = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "sqlite")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "empty.db")
	s, err := Open(context.Background(), path, Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// migrated returns the path of an empty, migrated database called name.
func migrated(t testing.TB, name string) string {
	t.Helper()
	file := require.Value(empty())(t)
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, file, 0o600))
	return path
}

func TestStore(t *testing.T) {
	paths := map[storage.Store]string{}
	storagetest.StoreSuite{
		Open: func(t *testing.T) storage.Store {
			path := migrated(t, "a#b %20?.db")
			s := open(t, path)
			paths[s] = path
			return s
		},
		Reopen: func(t *testing.T, s storage.Store) storage.Store {
			require.NoError(t, s.(*Store).Close())
			again := open(t, paths[s])
			paths[again] = paths[s]
			return again
		},
	}.Run(t)
}

func TestPersonalData(t *testing.T) {
	storagetest.Personal(t, func(t *testing.T) storage.Store { return open(t, migrated(t, "parley.db")) })
}

func TestTranscripts(t *testing.T) {
	storagetest.Transcripts(t, func(t *testing.T) storage.Store { return open(t, migrated(t, "parley.db")) })
}

func TestOldTotals(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	storagetest.OldTotals(t, s, func() {
		err := s.write(t.Context(), func(ctx context.Context, tx *conn) error {
			_, err := tx.ExecContext(ctx, `UPDATE spending SET messages = 9223372036854775807, tokens = 9223372036854775807, usd = 9223372036854775807, input = 9223372036854775807,
			cached = 9223372036854775807, output = 9223372036854775807, unpriced = 9223372036854775807`)
			return err
		})
		require.NoError(t, err)
	})
}

func TestDamagedVectors(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	storagetest.DamagedVectors(t, s, func(vector []byte) {
		err := s.write(t.Context(), func(ctx context.Context, tx *conn) error {
			_, err := tx.ExecContext(ctx, `UPDATE memory_vectors SET vector = ? WHERE length(vector) > 0`, vector)
			return err
		})
		require.NoError(t, err)
	})
}

// IN-06: the turns of a room have one order.
func TestLinearizable(t *testing.T) {
	for seed := range uint64(5) {
		storagetest.Linearizable(t, seed, open(t, migrated(t, "parley.db")))
	}
}
