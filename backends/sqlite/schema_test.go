package sqlite

import (
	"flag"
	"fmt"
	"os"
	"parley/internal/require"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "make schema.sql from the migrations")

// TestSchemaIsThatOfTheMigrations compares what a new file gets with what the migrations make one by one.
func TestSchemaIsThatOfTheMigrations(t *testing.T) {
	version := require.Value(schemaVersion())(t)
	if *update {
		all := require.Value(versions())(t)
		version = all[len(all)-1]
		require.NoError(t, os.WriteFile("schema.sql", []byte(script(t, migratedTo(t, version), version)), 0o644))
		return
	}
	path := filepath.Join(t.TempDir(), "new.db")
	require.NoError(t, touch(path))
	made := require.Value(dial(path, Options{}))(t)
	t.Cleanup(func() { _ = made.Close() })
	require.NoError(t, create(t.Context(), made))
	by := migratedTo(t, version)
	if diff := cmp.Diff(script(t, by, version), script(t, made, version)); diff != "" {
		t.Errorf("schema.sql differs from the migrations (go test ./backends/sqlite -run TestSchema -update): %s; want none", diff)
	}
	if diff := cmp.Diff(rowsIn(t, by), rowsIn(t, made)); diff != "" {
		t.Errorf("the rows differ: %s; want none", diff)
	}
	const applied = `SELECT group_concat(version_id || ' ' || is_applied) FROM goose_db_version`
	var want, got string
	require.NoError(t, by.QueryRow(applied).Scan(&want))
	if err := made.QueryRow(applied).Scan(&got); err != nil || got != want {
		t.Errorf("%q are applied, %v; want %q", got, err, want)
	}
}

// Tables that can't be made are an error, and none is there then.
func TestTablesThatCantBeMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.db")
	require.NoError(t, touch(path))
	db := require.Value(dial(path, Options{}))(t)
	t.Cleanup(func() { _ = db.Close() })
	stopped := make(chan struct{})
	close(stopped)
	db.trace = func(statement string) {
		db.db.SetInterrupt(map[bool]chan struct{}{true: stopped}[strings.HasPrefix(statement, "INSERT INTO goose_db_version")])
	}
	err := create(t.Context(), db)
	if made, failed := count(t.Context(), db, `SELECT count(*) FROM sqlite_schema`); !interrupted(err) || failed != nil || made > 0 {
		t.Errorf("it says %v, and there are %d tables, %v; want the reason and none", err, made, failed)
	}
}

// A file of which the tables are older than this program's is migrated: also one that was made at once, by an earlier version.
func TestNewFileIsMigratedFurther(t *testing.T) {
	path := migrated(t, "parley.db")
	goBack(t, path, 29)
	s := open(t, path)
	if ok, err := current(t.Context(), s.writer); err != nil || !ok {
		t.Errorf("the tables are current: %v, %v", ok, err)
	}
}

// migratedTo returns a connection to a file whose tables were made by the migrations up to version.
func migratedTo(t *testing.T, version int) *conn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "migrated.db")
	require.NoError(t, touch(path))
	db := require.Value(connect(path, Options{}))(t)
	p := require.Value(steps(db))(t)
	require.Value(p.UpTo(t.Context(), int64(version)))(t)
	require.NoError(t, db.Close())
	c := require.Value(dial(path, Options{}))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// script returns the statements that make the tables of db and the rows that migrations put there.
func script(t *testing.T, db *conn, version int) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "-- version %d\n-- Made from the migrations by go test ./backends/sqlite -run TestSchema -update. Don't edit it.\n\n", version)
	rows, err := db.Query(`SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'memory\_words\__%' ESCAPE '\' OR name IN ('memory_words_until', 'memory_words_go')
		ORDER BY type = 'table' DESC, type = 'index' DESC, name`)
	require.NoError(t, err)
	for rows.Next() {
		var sql string
		require.NoError(t, rows.Scan(&sql))
		b.WriteString(sql + ";\n\n")
	}
	require.NoError(t, rows.Close())
	b.WriteString(firstRows)
	return b.String()
}

// firstRows are what migrations put into their tables.
const firstRows = `INSERT INTO identity (id) VALUES (lower(hex(randomblob(8))));
INSERT INTO memory_words (memory_words, rank) VALUES ('secure-delete', 1);
INSERT INTO memory_words_until (seq) VALUES (0);
`

// rowsIn returns the number of rows in each table, also in the internal ones.
func rowsIn(t *testing.T, db *conn) map[string]int {
	t.Helper()
	rows, err := db.Query(`SELECT name FROM sqlite_schema WHERE type = 'table'`)
	require.NoError(t, err)
	all := map[string]int{}
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		if all[name], err = count(t.Context(), db, fmt.Sprintf(`SELECT count(*) FROM %q`, name)); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, rows.Close())
	return all
}
