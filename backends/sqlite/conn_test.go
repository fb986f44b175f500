package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/backends/record"
	"parley/backends/sqlstore"
	"parley/internal/contain"
	"parley/internal/require"
)

// plain opens a database without the store's tables.
func plain(t *testing.T) *conn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plain.db")
	require.NoError(t, touch(path))
	db := require.Value(dial(path, Options{}))(t)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	mustExec(t, db, `CREATE TABLE numbers (n INTEGER PRIMARY KEY)`)
	for n := range 5 {
		mustExec(t, db, `INSERT INTO numbers VALUES (?)`, n)
	}
	return db
}

func mustExec(t *testing.T, db *conn, query string, args ...any) {
	t.Helper()
	require.Value(db.ExecContext(t.Context(), query, args...))(t)
}

func numbers(t *testing.T, db *conn, query string, args ...any) (all []int) {
	t.Helper()
	rows := require.Value(db.QueryContext(t.Context(), query, args...))(t)
	all = require.Value(sqlstore.Collect(sharedRows{rows}, nil, func(r record.Row) (n int, err error) { return n, r.Scan(&n) }))(t)
	return all
}

// A cached statement returns what a new one would: with other values, nested, after a failure, half read, canceled, and
// with other tables.
func TestKeptStatements(t *testing.T) {
	db := plain(t)
	const from = `SELECT n FROM numbers WHERE n >= ? ORDER BY n`
	for least, want := range [][]int{{0, 1, 2, 3, 4}, {1, 2, 3, 4}, {2, 3, 4}} {
		if got := numbers(t, db, from, least); !slices.Equal(got, want) {
			t.Errorf("from %d there are %d; want %d", least, got, want)
		}
	}
	mustExec(t, db, `BEGIN`)
	outer := require.Value(db.QueryContext(t.Context(), from, 2))(t)
	var inner []int
	for outer.Next() {
		var n int
		require.NoError(t, outer.Scan(&n))
		inner = append(inner, numbers(t, db, from, n)...)
	}
	if err := errors.Join(outer.Err(), outer.Close()); err != nil || !slices.Equal(inner, []int{2, 3, 4, 3, 4, 4}) {
		t.Errorf("within itself it gives %d, %v", inner, err)
	}
	mustExec(t, db, `COMMIT`)
	if _, err := db.ExecContext(t.Context(), `INSERT INTO numbers VALUES (?)`, 1); err == nil {
		t.Error("the second insert of a number succeeded; want a conflict")
	}
	mustExec(t, db, `INSERT INTO numbers VALUES (?)`, 5)
	var first int
	if err := db.QueryRowContext(t.Context(), from, 3).Scan(&first); err != nil || first != 3 { // it is left half read
		t.Errorf("the first is %d, %v; want 3", first, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if rows, err := db.QueryContext(gone, from, 3); err == nil {
		t.Errorf("it is asked in vain: %v", rows.Close())
	}
	mustExec(t, db, `ALTER TABLE numbers RENAME TO old`)
	mustExec(t, db, `CREATE TABLE numbers (word TEXT, n INTEGER)`)
	mustExec(t, db, `INSERT INTO numbers (n) SELECT n * 10 FROM old`)
	if got := numbers(t, db, from, 30); !slices.Equal(got, []int{30, 40, 50}) {
		t.Errorf("of the new table there are %d", got)
	}
}

// A query that comes again is not prepared again.
func TestStatementsAreKept(t *testing.T) {
	db := plain(t)
	const from = `SELECT n FROM numbers WHERE n >= ? ORDER BY n`
	numbers(t, db, from, 2)
	first := db.known[from]
	numbers(t, db, from, 3)
	if first == nil || db.known[from] != first {
		t.Error("the statement was prepared again; want the one of the first time")
	}
}

// A connection keeps what it is asked for again and again, and not without end.
func TestStatementsAreBounded(t *testing.T) {
	db := plain(t)
	for n := range 2 * remembered {
		if got := numbers(t, db, fmt.Sprintf(`SELECT n FROM numbers WHERE n = ? AND %d = %[1]d`, n), 3); !slices.Equal(got, []int{3}) {
			t.Fatalf("query %d gives %d", n, got)
		}
	}
	if kept := len(db.known); kept != remembered {
		t.Errorf("it keeps %d; want %d", kept, remembered)
	}
}

// Values that do not fit where they are read or bound are errors, not other values.
func TestValuesThatDoNotFit(t *testing.T) {
	db := plain(t)
	var small int8
	var positive uint
	var text string
	var list []int
	for query, into := range map[string]any{
		`SELECT 1000`: &small, `SELECT -1`: &positive, `SELECT NULL`: &text, `SELECT 1`: &list, `SELECT 'no time'`: record.TimeInto(nil), `SELECT 5`: record.JSONInto(nil), `SELECT 1, 2`: &text,
	} {
		if err := db.QueryRow(query).Scan(into); err == nil {
			t.Errorf("%s was read into %T", query, into)
		}
	}
	for _, arg := range []any{uint64(1 << 63), []int{1}, struct{}{}} {
		if _, err := db.Exec(`SELECT ?`, arg); err == nil {
			t.Errorf("%v was bound", arg)
		}
	}
	if _, err := db.Exec(`SELECT ?, ?`, 1); err == nil {
		t.Error("a statement with a missing argument succeeded; want an error")
	}
	if _, err := db.Exec(`SELECT 1; SELECT 2`); err == nil {
		t.Error("two statements in one call succeeded; want an error")
	}
	if got := numbers(t, db, `SELECT n FROM numbers WHERE n > ?`, 3); !slices.Equal(got, []int{4}) {
		t.Errorf("after that there are %d", got)
	}
}

// A search that takes long ends with its context, and the connection can be used after it.
func TestQueriesAreInterrupted(t *testing.T) {
	db := plain(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := db.interruptible(ctx, func() error {
		rows, err := db.QueryContext(ctx, `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) SELECT n FROM n`)
		if err != nil {
			return err
		}
		for rows.Next() {
			cancel()
		}
		return errors.Join(rows.Err(), rows.Close())
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	if got := numbers(t, db, `SELECT n FROM numbers WHERE n > ?`, 3); !slices.Equal(got, []int{4}) {
		t.Errorf("after that there are %d", got)
	}
}

// A statement that would damage the file is refused on each connection, also on one that could write.
func TestConnectionsAreDefensive(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	reader, give := s.readers.take()
	defer give()
	mustExec(t, reader, `PRAGMA query_only = OFF`)
	for name, db := range map[string]*conn{"writer": s.writer, "reader": reader} {
		mustExec(t, db, `PRAGMA writable_schema = ON`) // is ignored
		for query, want := range map[string]string{
			`UPDATE sqlite_schema SET sql = '' WHERE name = 'memories'`:              "may not be modified",
			`DELETE FROM sqlite_schema`:                                              "may not be modified",
			`INSERT INTO memory_words_data (id, block) VALUES (1, x'00')`:            "may not be modified",
			`UPDATE memory_words_config SET v = 0`:                                   "may not be modified",
			`DROP TABLE memory_words_idx`:                                            "may not be dropped",
			`ATTACH DATABASE ':memory:' AS other`:                                    "too many attached databases",
			`CREATE TRIGGER t AFTER DELETE ON memory_words_data BEGIN SELECT 1; END`: "cannot create triggers on shadow tables",
		} {
			if _, err := db.Exec(query); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v", name, query, err)
			}
		}
		var mode string
		if err := db.QueryRow(`PRAGMA journal_mode = OFF`).Scan(&mode); err != nil || mode != "wal" {
			t.Errorf(`%s: the journal's mode is %q, %v; want "wal"`, name, mode, err)
		}
	}
	mustExec(t, s.writer, `INSERT INTO memory_words (rowid, room, words) VALUES (1, 'r', 'w')`) // what the index itself writes is allowed
}

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
	require.NoError(t, s.Close())
	if err := s.read(t.Context(), func(*conn) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed store is read: %v", err)
	}
}
