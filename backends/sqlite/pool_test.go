package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"parley/internal/contain"
	"parley/internal/require"
)

// A read that panics fails alone: the connection ends the statement that was being read, and serves the next.
func TestReadPanics(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "p.db"), Options{Readers: 1})
	require.NoError(t, err)
	const query = `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 9) SELECT n FROM n`
	var first *statement
	err = s.read(t.Context(), func(c *conn) error {
		rows, err := c.QueryContext(t.Context(), query)
		if err != nil || !rows.Next() {
			t.Error("there are no rows", err)
		}
		first = rows.of
		panic("broken")
	})
	if p := (*contain.Panic)(nil); !errors.As(err, &p) {
		t.Errorf("the read ended with %v", err)
	}
	var n int
	if err := s.read(t.Context(), func(c *conn) error { return c.QueryRow(query).Scan(&n) }); err != nil || n != 1 || first.busy {
		t.Errorf("then %d is read, %v; the statement is still read: %t", n, err, first.busy)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.read(t.Context(), func(*conn) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed store is read: %v", err)
	}
}
