package sqlite

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite/sqlitex"

	"parley/backends/record"
	"parley/backends/sqlstore"
)

// schema makes the tables of a new file at once, which takes a tenth of the time of all migrations one by one. Its first line
// has the version of the last one that it includes; later ones are applied afterwards. A test compares it with the
// migrations, and makes it from them with -update.
//
//go:embed schema.sql
var schema string

// schemaVersion returns the version of the last migration that the schema includes.
func schemaVersion() (int, error) {
	line, _, _ := strings.Cut(schema, "\n")
	version, err := strconv.Atoi(strings.TrimPrefix(line, "-- version "))
	if err != nil {
		return 0, fmt.Errorf("reading the version of schema.sql: %w", err)
	}
	return version, nil
}

// versions returns the versions of all migrations, in order.
func versions() (all []int, err error) {
	files, err := fs.ReadDir(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		number, _, _ := strings.Cut(f.Name(), "_")
		version, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("reading the version of migration %s: %w", f.Name(), err)
		}
		all = append(all, version)
	}
	return all, nil
}

// create makes the tables if the file has none, in one transaction, and records the migrations that they include as applied.
func create(ctx context.Context, db *conn) (err error) {
	if made, err := count(ctx, db, `SELECT count(*) FROM sqlite_schema`); err != nil || made > 0 {
		return err
	}
	last, err := schemaVersion()
	if err != nil {
		return err
	}
	known, err := versions()
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, rollback(ctx, db, nil))
		}
	}()
	if err := sqlitex.ExecuteScript(db.db, schema, nil); err != nil {
		return fmt.Errorf("making the tables: %w", bare(err))
	}
	for _, version := range append([]int{0}, known...) { // goose begins with a version 0 that has no migration
		if version > last {
			break
		}
		if _, err := db.ExecContext(ctx, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (?, TRUE)`, version); err != nil {
			return err
		}
	}
	_, err = db.ExecContext(ctx, `COMMIT`)
	return err
}

// current reports whether exactly the migrations of this program are applied, so that nothing is left to do.
func current(ctx context.Context, db *conn) (bool, error) {
	if tracked, err := count(ctx, db, `SELECT count(*) FROM sqlite_schema WHERE name = 'goose_db_version'`); err != nil || tracked == 0 {
		return false, err
	}
	known, err := versions()
	if err != nil {
		return false, err
	}
	rows, err := db.QueryContext(ctx, `SELECT version_id FROM goose_db_version WHERE version_id > 0 ORDER BY version_id`)
	if err != nil {
		return false, err
	}
	var applied []int
	for rows.Next() {
		var version int
		if err := rows.Scan(&version); err != nil {
			return false, errors.Join(err, rows.Close())
		}
		applied = append(applied, version)
	}
	return slices.Equal(applied, known), errors.Join(rows.Err(), rows.Close())
}

func count(ctx context.Context, db *conn, query string) (n int, err error) {
	return n, db.QueryRowContext(ctx, query).Scan(&n)
}

// Rows returns at most t.Page rows of t whose keys come after the key after, sorted by key; nil as after means from the
// beginning. The package backends moves stores to PostgreSQL with it, so it returns the stored values as they are. The
// one exception are NUL characters in texts: PostgreSQL has no text with them, and no reader needs them.
func (s *upkeep) Rows(ctx context.Context, t record.Table, after []any) (all [][]any, err error) {
	// The page is found by the key of the last row, not by an offset, so each page costs the same. The names are
	// constants of record.Tables, never input, so they can be part of the statement.
	where := ""
	if after != nil {
		where = fmt.Sprintf("WHERE (%s) > (%s)", names(t.Key), strings.TrimSuffix(strings.Repeat("?, ", len(after)), ", "))
	}
	statement := fmt.Sprintf("SELECT %s FROM %s %s ORDER BY %s LIMIT %d", names(t.Columns), t.Name, where, names(t.Key), t.Page)
	err = s.read(ctx, func(db *conn) error {
		all, err = list(ctx, db, sqlstore.RowOf(len(t.Columns)), statement, after...)
		return err
	})
	return all, wrap(err, "reading the table %s", t.Name)
}

// names returns columns as a list for SQL. The column seq of the common tables is SQLite's rowid, an alias of it where
// the table has a column of that name.
func names(columns []string) string {
	return strings.Replace(strings.Join(columns, ", "), "seq", "rowid", 1)
}
