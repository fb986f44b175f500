package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"parley/backends/record"
	"parley/backends/sqlstore"
)

// Target is a database that the rows of another store are being moved to. The column identity.moving has the id of that
// store until Finish, and no gateway can use the database until then. A move that was interrupted continues with a new
// Target.
type Target struct{ pool *pgxpool.Pool }

// OpenTarget opens a database for the rows of the store with the id source, and migrates it. It must be empty, or have
// a part of the same store's rows; otherwise OpenTarget fails.
func OpenTarget(ctx context.Context, url, source string) (*Target, error) {
	pool, err := connect(ctx, url, Options{})
	if err != nil {
		return nil, wrap(explain(err), "opening the database")
	}
	t := &Target{pool}
	err = migrate(ctx, pool)
	if err == nil {
		err = t.begin(ctx, source)
	}
	if err != nil {
		pool.Close()
		return nil, wrap(explain(err), "preparing the database")
	}
	return t, nil
}

// begin marks the database as the target of source. It refuses a database with rows of another origin: they would be
// mixed.
func (t *Target) begin(ctx context.Context, source string) error {
	var id, moving string
	if err := t.pool.QueryRow(ctx, `SELECT id, moving FROM identity`).Scan(&id, &moving); err != nil {
		return err
	}
	switch {
	case moving == source:
		return nil
	case moving != "":
		return fmt.Errorf("the rows of another store (%s) are being moved here", moving)
	case id == source:
		return fmt.Errorf("this store was moved here already")
	}
	for _, table := range record.Tables() {
		last, err := t.Last(ctx, table)
		if err != nil {
			return err
		}
		if last != nil {
			return fmt.Errorf("its table %s has rows; move a store into an empty database", table.Name)
		}
	}
	_, err := t.pool.Exec(ctx, `UPDATE identity SET moving = $1`, source)
	return err
}

// Last returns the key of the last row of a table, or nil if it is empty. Rows are added in the order of their keys, so
// an interrupted move continues there. It fails if the table can't be read.
func (t *Target) Last(ctx context.Context, table record.Table) ([]any, error) {
	order := strings.Join(table.Key, " DESC, ") + " DESC"
	all, err := list(ctx, t.pool, sqlstore.RowOf(len(table.Key)), fmt.Sprintf("SELECT %s FROM %s ORDER BY %s LIMIT 1", strings.Join(table.Key, ", "), table.Name, order))
	if err != nil || len(all) == 0 {
		return nil, wrap(err, "reading the table %s", table.Name)
	}
	return all[0], nil
}

// Add adds rows to a table, all or none (COPY is one statement). SQLite has no booleans, so numbers become booleans
// where the column is one. It fails if a row exists already.
func (t *Target) Add(ctx context.Context, table record.Table, rows [][]any) error {
	boolean, err := t.booleans(ctx, table)
	if err != nil {
		return wrap(err, "reading the columns of %s", table.Name)
	}
	_, err = t.pool.CopyFrom(ctx, pgx.Identifier{table.Name}, table.Columns, pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
		row := append([]any(nil), rows[i]...)
		for n := range row {
			if v, ok := row[n].(int64); ok && boolean[table.Columns[n]] {
				row[n] = v != 0
			}
		}
		return row, nil
	}))
	return wrap(err, "writing the table %s", table.Name)
}

// booleans returns which columns of a table are booleans.
func (t *Target) booleans(ctx context.Context, table record.Table) (map[string]bool, error) {
	names, err := list(ctx, t.pool, func(r record.Row) (name string, err error) { return name, r.Scan(&name) },
		`SELECT attname::text FROM pg_attribute WHERE attrelid = $1::regclass AND atttypid = 'boolean'::regtype`, table.Name)
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	return all, err
}

// Rows returns at most a page of rows whose keys come after the key after, sorted by key; nil as after means from the
// beginning. It must return the rows in the same order as SQLite, hence the collation "C" of all keys. It fails if the
// table can't be read.
func (t *Target) Rows(ctx context.Context, table record.Table, after []any) ([][]any, error) {
	where := ""
	if after != nil {
		var places []string
		for i := range after {
			places = append(places, fmt.Sprintf("$%d", i+1))
		}
		where = fmt.Sprintf("WHERE (%s) > (%s)", strings.Join(table.Key, ", "), strings.Join(places, ", "))
	}
	all, err := list(ctx, t.pool, sqlstore.RowOf(len(table.Columns)), fmt.Sprintf("SELECT %s FROM %s %s ORDER BY %s LIMIT %d",
		strings.Join(table.Columns, ", "), table.Name, where, strings.Join(table.Key, ", "), table.Page), after...)
	return all, wrap(err, "reading the table %s", table.Name)
}

// Finish makes the database the store with the id source, in one transaction. The sequences continue after the highest
// number that was moved: rows that are copied with their numbers don't advance them. After an error the move is
// unfinished, and Finish can be called again.
func (t *Target) Finish(ctx context.Context, source string) error {
	tx, err := t.pool.Begin(ctx)
	if err != nil {
		return wrap(err, "ending the move")
	}
	defer tx.Rollback(ctx) //nolint:errcheck // of no effect after Commit
	for _, table := range record.Tables() {
		if table.Columns[0] != "seq" {
			continue
		}
		_, err := tx.Exec(ctx, fmt.Sprintf("SELECT setval(pg_get_serial_sequence('%[1]s', 'seq'), max(seq)) FROM %[1]s HAVING max(seq) > 0", table.Name))
		if err != nil {
			return wrap(err, "numbering the rows of %s", table.Name)
		}
	}
	if _, err := tx.Exec(ctx, `UPDATE identity SET id = $1, moving = ''`, source); err != nil {
		return wrap(err, "ending the move")
	}
	return wrap(tx.Commit(ctx), "ending the move")
}

// Close ends the connections.
func (t *Target) Close() { t.pool.Close() }
