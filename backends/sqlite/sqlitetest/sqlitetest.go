// Package sqlitetest provides tests with a migrated database file: under the race detector the migrations take longer
// than most tests.
package sqlitetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"parley/backends/sqlite"
	"parley/internal/require"
)

// Path returns the path of an empty, migrated database in a directory of the test's own.
func Path(t testing.TB) string {
	t.Helper()
	file := require.Value(empty())(t)
	path := filepath.Join(t.TempDir(), "parley.db")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	return path
}

// Audited returns the options of a store whose cache is compared with the file, each time that something is found there.
func Audited(t testing.TB) sqlite.Options {
	return sqlite.Options{Audit: func(err error) { t.Error(err) }}
}

// empty makes the migrated file once for each test process, and returns its content. The migrations run in a directory
// of their own, because t.TempDir of the first test would be removed with it.
var empty = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "sqlitetest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "empty.db")
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
