package backends

import (
	"context"
	"errors"
	"fmt"

	"parley/backends/postgres"
	"parley/backends/record"
	"parley/backends/sqlite"
)

// Migrate brings the tables of the store at address to this program's version, as the next start of a gateway would. It
// fails if the store can't be opened or a migration fails; those before it stay.
func Migrate(ctx context.Context, address string) error {
	s, err := Open(ctx, address, Options{Guest: true, Create: true})
	if err != nil {
		return err
	}
	return s.Close()
}

// Move copies the store in the file at from to the empty PostgreSQL database at to, and calls moved after each table.
// The file stays as it is, and no gateway can use it meanwhile, so nothing is written that would be missed. A move that
// was interrupted continues where it stopped: rows are copied in the order of their keys, and the last key in the
// target is its position. Each table is read again from both sides and compared, because forms of values differ
// between the databases; only then can a gateway use the target. It fails if the target has other data, or if the rows
// differ.
func Move(ctx context.Context, from, to string, moved func(table string, rows int)) error {
	path := Path(from)
	if path == "" || !isPostgres(to) {
		return errors.New("only a store in a file can be moved, and only to PostgreSQL: from sqlite:PATH to postgres://HOST/DATABASE")
	}
	source, err := sqlite.Open(ctx, path, sqlite.Options{Existing: true})
	if err != nil {
		return err
	}
	defer source.Close() //nolint:errcheck // nothing was written
	target, err := postgres.OpenTarget(ctx, to, source.ID())
	if err != nil {
		return err
	}
	defer target.Close()
	for _, table := range record.Tables() {
		if err := copyRows(ctx, source, target, table); err != nil {
			return err
		}
		rows, err := compareRows(ctx, source, target, table)
		if err != nil {
			return err
		}
		moved(table.Name, rows)
	}
	return target.Finish(ctx, source.ID())
}

// copyRows copies the rows of a table that the target does not have yet, page by page.
func copyRows(ctx context.Context, source *sqlite.Store, target *postgres.Target, table record.Table) error {
	after, err := target.Last(ctx, table)
	if err != nil {
		return err
	}
	for {
		rows, err := source.Rows(ctx, table, after)
		if err != nil || len(rows) == 0 {
			return err
		}
		if err := target.Add(ctx, table, rows); err != nil {
			return err
		}
		after = table.KeyOf(rows[len(rows)-1])
	}
}

// rower is a store whose rows can be read.
type rower interface {
	Rows(ctx context.Context, t record.Table, after []any) ([][]any, error)
}

// compareRows returns the number of rows of a table, or an error if they are not the same in both.
func compareRows(ctx context.Context, source, target rower, table record.Table) (int, error) {
	was, err := sum(ctx, source, table)
	if err != nil {
		return 0, err
	}
	is, err := sum(ctx, target, table)
	if err == nil && !was.Equal(is) {
		err = fmt.Errorf("the table %s differs after the move: %d rows before, %d after; empty the database, and start again", table.Name, was.Rows, is.Rows)
	}
	return was.Rows, err
}

// sum returns the checksum of all rows of a table.
func sum(ctx context.Context, from rower, table record.Table) (*record.Sum, error) {
	all := record.NewSum()
	for after := []any(nil); ; {
		rows, err := from.Rows(ctx, table, after)
		if err == nil {
			err = all.Add(rows)
		}
		if err != nil || len(rows) == 0 {
			return all, err
		}
		after = table.KeyOf(rows[len(rows)-1])
	}
}
