package backends

import (
	"path/filepath"
	"strings"
	"testing"

	"parley/backends/postgres/postgrestest"
	"parley/internal/require"
)

// A check describes a store, also one that a gateway has, and makes no tables.
func TestCheck(t *testing.T) {
	url := postgrestest.Shared(t).Create(t, "")
	file := "sqlite:" + filepath.Join(t.TempDir(), "parley.db")
	wants := func(address, want string) {
		t.Helper()
		if c, err := Check(t.Context(), address); err != nil || !strings.Contains(c.Text, want) {
			t.Errorf("%+v, %v; want %q", c, err, want)
		}
	}
	wants(file, "is writable")
	for range 2 { // the first changes nothing
		wants(url, "it is empty")
	}
	require.NoError(t, Migrate(t.Context(), url))
	for address, want := range map[string]string{url: "PostgreSQL at 127.0.0.1", file: "in use by a running gateway"} {
		s := require.Value(Open(t.Context(), address, Options{}))(t)
		wants(address, want)
		if again, err := Open(t.Context(), address, Options{}); err == nil {
			t.Errorf("opened twice: %v", again.Close())
		} else if holder, used := InUse(err); !used || holder == "" {
			t.Errorf("the second is told %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, address := range []string{"", "sqlite:", "mysql://a/b"} {
		if s, err := Open(t.Context(), address, Options{}); err == nil {
			t.Errorf("opened %q: %v", address, s.Close())
		}
	}
}
