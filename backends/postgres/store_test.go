package postgres

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"parley/backends/postgres/postgrestest"
	"parley/core/storage"
	"parley/core/storage/storagetest"
	"parley/internal/require"
)

// template returns the address of a database with empty tables, on the shared server.
func template(t testing.TB) string {
	t.Helper()
	server := postgrestest.Shared(t)
	migrated.Do(func() {
		migratedAt = server.Create(forever{t}, "")
		s := require.Value(Open(t.Context(), migratedAt, Options{}))(t)
		require.NoError(t, s.Close())
	})
	return migratedAt
}

var (
	migrated   sync.Once
	migratedAt string
)

// forever is a test whose cleanup never comes.
type forever struct{ testing.TB }

func (forever) Cleanup(func()) {}

// free are databases that earlier tests have used, emptied: to make one takes longer than most tests.
var free struct {
	sync.Mutex
	urls []string
}

// fresh returns the address of a database with empty tables, for this test.
func fresh(t testing.TB) string {
	t.Helper()
	from := template(t)
	free.Lock()
	defer free.Unlock()
	var url string
	if n := len(free.urls); n > 0 {
		url, free.urls = free.urls[n-1], free.urls[:n-1]
	} else {
		url = postgrestest.Shared(t).Create(forever{t}, from)
	}
	t.Cleanup(func() {
		if err := empty(context.WithoutCancel(t.Context()), url); err != nil {
			t.Error(err)
			return
		}
		free.Lock()
		defer free.Unlock()
		free.urls = append(free.urls, url)
	})
	return url
}

// empty deletes all rows but those that a new database has.
func empty(ctx context.Context, url string) error {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, `DELETE FROM commits; DELETE FROM piece_vectors; DELETE FROM windows; DELETE FROM holds; DELETE FROM notes; DELETE FROM marks; DELETE FROM spending;
		DELETE FROM members; DELETE FROM worlds; DELETE FROM entities; DELETE FROM knocks; DELETE FROM people; DELETE FROM approvals; DELETE FROM reminders; DELETE FROM uploads; DELETE FROM questions;
		DELETE FROM room_notes; DELETE FROM files; DELETE FROM owners; DELETE FROM leases; DELETE FROM runs; DELETE FROM memories; DELETE FROM rooms`)
	return err
}

func open(t testing.TB, url string, o Options) *Store {
	t.Helper()
	s := require.Value(Open(t.Context(), url, o))(t)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	template(t) // outside of the bubbles
	urls := map[storage.Store]string{}
	storagetest.StoreSuite{
		Open: func(t *testing.T) storage.Store {
			url := fresh(t)
			s := open(t, url, Options{Guest: true, own: true})
			urls[s] = url
			return s
		},
		Reopen: func(t *testing.T, s storage.Store) storage.Store {
			require.NoError(t, s.(*Store).Close())
			again := open(t, urls[s], Options{Guest: true, own: true})
			urls[again] = urls[s]
			return again
		},
	}.Run(t)
}

// The data of a person is read and deleted beside other replicas that go on.
func TestPersonalData(t *testing.T) {
	t.Parallel()
	template(t) // outside of the bubbles
	storagetest.Personal(t, func(t *testing.T) storage.Store { return newReplicas(t, fresh(t), Options{Guest: true, own: true}, 2) })
}

func TestTranscripts(t *testing.T) {
	t.Parallel()
	template(t) // outside of the bubble
	storagetest.Transcripts(t, func(t *testing.T) storage.Store { return open(t, fresh(t), Options{Guest: true, own: true}) })
}

func TestOldTotals(t *testing.T) {
	t.Parallel()
	s := open(t, fresh(t), Options{Guest: true})
	storagetest.OldTotals(t, s, func() {
		if _, err := s.pool.Exec(t.Context(), `UPDATE spending SET messages = 9223372036854775807, tokens = 9223372036854775807, usd = 9223372036854775807, input = 9223372036854775807,
			cached = 9223372036854775807, output = 9223372036854775807, unpriced = 9223372036854775807`); err != nil {
			t.Fatal(err)
		}
	})
}

func TestDamagedVectors(t *testing.T) {
	t.Parallel()
	s := open(t, fresh(t), Options{Guest: true})
	storagetest.DamagedVectors(t, s, func(vector []byte) {
		require.Value(s.pool.Exec(t.Context(), `UPDATE memory_vectors SET vector = $1 WHERE length(vector) > 0`, vector))(t)
	})
}
