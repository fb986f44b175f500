package sqlite

import (
	"context"
	"fmt"
	"strings"

	"parley/backends/record"
)

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
		rows, err := db.QueryContext(ctx, statement, after...)
		if err != nil {
			return err
		}
		all, err = collect(rows, func(r record.Row) ([]any, error) { return scanAny(r, len(t.Columns)) })
		return err
	})
	return all, wrap(err, "reading the table %s", t.Name)
}

// names returns columns as a list for SQL. What the common tables call seq is SQLite's rowid, an alias of it where the
// table has a column of that name.
func names(columns []string) string {
	return strings.Replace(strings.Join(columns, ", "), "seq", "rowid", 1)
}

// scanAny reads a row of any types: int64, string and []byte in STRICT tables.
func scanAny(r record.Row, columns int) ([]any, error) {
	row, into := make([]any, columns), make([]any, columns)
	for i := range row {
		into[i] = &row[i]
	}
	err := r.Scan(into...)
	for i, v := range row {
		if text, ok := v.(string); ok {
			row[i] = strings.ReplaceAll(text, "\x00", "")
		}
	}
	return row, err
}
