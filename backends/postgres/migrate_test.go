package postgres

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"testing"

	"parley/backends/postgres/postgrestest"
	"parley/internal/require"
	"parley/internal/version"
)

// Replicas that start at once with an empty database migrate it once.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).Create(t, "")
	ids := make([]string, 5)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			s, err := Open(t.Context(), url, Options{Several: true})
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = s.ID()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Errorf("the ids of the store are %q", ids)
		}
	}
}

// DI-13: a program uses the tables of a later version if they allow it, and refuses others with a sentence.
func TestLaterTables(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).Create(t, template(t))
	known, err := newest()
	require.NoError(t, err)
	later := func(oldest int64) error {
		s := open(t, url, Options{Guest: true})
		_, err := s.pool.Exec(t.Context(), fmt.Sprintf(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, true); UPDATE identity SET oldest = %d, release = '9.8.7'`, known+1, oldest))
		require.NoError(t, err)
		again, err := Open(t.Context(), url, Options{Guest: true})
		if err == nil {
			err = again.Close()
		}
		return err
	}
	if err := later(known); err != nil {
		t.Errorf("tables that this program can use: %v", err)
	}
	err = later(known + 1)
	if _, waits := Unavailable(err); err == nil || waits || !strings.Contains(err.Error(), "newer version of the gateway") || !strings.Contains(err.Error(), "at least 9.8.7 is needed") {
		t.Errorf("tables that it can't use: %v", err)
	}
}

// A migration that earlier programs can't use records the first release that can.
func TestMigrationsRecordTheirRelease(t *testing.T) {
	t.Parallel()
	all := require.Value(fs.Glob(migrations, "migrations/*.sql"))(t)
	for _, name := range all {
		text := require.Value(fs.ReadFile(migrations, name))(t)
		if raises := regexp.MustCompile(`SET[^;]*\boldest =`).Match(text); raises && !regexp.MustCompile(`SET[^;]*\brelease = '`).Match(text) {
			t.Errorf("%s raises identity.oldest without a release: add release = '%s'", name, version.Release)
		}
	}
}
