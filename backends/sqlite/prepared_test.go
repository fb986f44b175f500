package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"parley/backends/record"
)

// plain opens a database without the store's tables.
func plain(t *testing.T) *sql.DB {
	t.Helper()
	db, err := connect(filepath.Join(t.TempDir(), "plain.db"), Options{}, "_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	mustExec(t, db, `CREATE TABLE numbers (n INTEGER PRIMARY KEY)`)
	for n := range 5 {
		mustExec(t, db, `INSERT INTO numbers VALUES (?)`, n)
	}
	return db
}

func mustExec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

func numbers(t *testing.T, q interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, query string, args ...any,
) (all []int) {
	t.Helper()
	rows, err := q.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	all, err = collect(rows, func(r record.Row) (n int, err error) { return n, r.Scan(&n) })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A cached statement returns what a new one would: with other values, nested, after a failure, half read, canceled, and
// with other tables.
func TestKeptStatements(t *testing.T) {
	db := plain(t)
	const from = `SELECT n FROM numbers WHERE n >= ? ORDER BY n`
	for least, want := range [][]int{{0, 1, 2, 3, 4}, {1, 2, 3, 4}, {2, 3, 4}} {
		if got := numbers(t, db, from, least); !slices.Equal(got, want) {
			t.Errorf("from %d there are %d", least, got)
		}
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	outer, err := tx.QueryContext(t.Context(), from, 2)
	if err != nil {
		t.Fatal(err)
	}
	var inner []int
	for outer.Next() {
		var n int
		if err := outer.Scan(&n); err != nil {
			t.Fatal(err)
		}
		inner = append(inner, numbers(t, tx, from, n)...)
	}
	if err := errors.Join(outer.Err(), outer.Close(), tx.Commit()); err != nil || !slices.Equal(inner, []int{2, 3, 4, 3, 4, 4}) {
		t.Errorf("within itself it gives %d, %v", inner, err)
	}
	if _, err := db.ExecContext(t.Context(), `INSERT INTO numbers VALUES (?)`, 1); err == nil {
		t.Error("a number is there twice")
	}
	mustExec(t, db, `INSERT INTO numbers VALUES (?)`, 5)
	var first int
	if err := db.QueryRowContext(t.Context(), from, 3).Scan(&first); err != nil || first != 3 { // it is left half read
		t.Errorf("the first is %d, %v", first, err)
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
	kept := func() (s *statement) {
		t.Helper()
		numbers(t, db, from, 2)
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		err = c.Raw(func(c any) error {
			s = c.(*prepared).known[from]
			return nil
		})
		if err != nil || s == nil {
			t.Fatalf("kept is %v, %v", s, err)
		}
		return s
	}
	if first, second := kept(), kept(); first != second {
		t.Error("the second time it is prepared again")
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
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Raw(func(c any) error {
		if kept := len(c.(*prepared).known); kept != remembered {
			t.Errorf("it keeps %d", kept)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
