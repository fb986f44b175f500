package postgres

import (
	"context"
	"strings"
	"sync"
	"testing"

	"parley/backends/postgres/postgrestest"
	"parley/core/chat"
	"parley/internal/require"
)

// DI-02: sessions that began while the database was read-only stay so after it is writable. The store closes them all when it meets the
// first, so the next write succeeds and readiness returns.
func TestReadOnlySessionsAreClosed(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	at := server.Create(t, "")
	database := at[strings.LastIndexByte(at, '/')+1 : strings.IndexByte(at, '?')]
	exec := func(statement string) {
		t.Helper()
		require.NoError(t, server.Exec(t.Context(), "postgres", statement))
	}
	s := open(t, at, Options{Connections: 4, Several: true})
	accept := func(id chat.MemoryID) error {
		_, err := s.Accept(t.Context(), message("room", id), chat.JoinRule{})
		return err
	}
	require.NoError(t, accept("room/1"))
	for name, notices := range map[string]func() error{
		"by a write":           func() error { return accept("room/2") },
		"by a readiness probe": func() error { return s.Ping(t.Context()) },
	} {
		exec("ALTER DATABASE " + database + " SET default_transaction_read_only = on")
		exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + database + "'")
		occupy(t, s, 4)
		exec("ALTER DATABASE " + database + " RESET default_transaction_read_only")
		if reason, passes := Unavailable(notices()); !passes || reason != "the database is read-only" {
			t.Errorf("noticed %s: %q, %v", name, reason, passes)
		}
		if err := accept("room/2"); err != nil {
			t.Errorf("noticed %s, a message is then accepted with %v", name, err)
		}
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("noticed %s, readiness then is %v", name, err)
		}
	}
}

// occupy makes n connections at the same time, which are idle then.
func occupy(t *testing.T, s *Store, n int) {
	t.Helper()
	var all, here sync.WaitGroup
	here.Add(n)
	for range n {
		all.Go(func() {
			arrive := sync.OnceFunc(func() { here.Done(); here.Wait() })
			err := s.read(t.Context(), func(ctx context.Context, q querier) error {
				var one int
				err := q.QueryRow(ctx, `SELECT 1`).Scan(&one)
				if err == nil {
					arrive()
				}
				return err
			})
			if err != nil {
				t.Errorf("a read: %v", err)
				arrive()
			}
		})
	}
	all.Wait()
}
