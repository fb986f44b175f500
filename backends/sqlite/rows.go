package sqlite

import (
	"context"
	"fmt"
	"strings"

	"parley/backends/record"
)

// Rows returns the rows of t that follow the key after, at most a page, as they are stored but for NUL characters, which other
// stores do not take. No key is before all.
func (s *upkeep) Rows(ctx context.Context, t record.Table, after []any) (all [][]any, err error) {
	where := ""
	if after != nil {
		where = fmt.Sprintf("WHERE (%s) > (%s)", names(t.Key), strings.TrimSuffix(strings.Repeat("?, ", len(after)), ", "))
	}
	statement := fmt.Sprintf("SELECT %s FROM %s %s ORDER BY %s LIMIT %d", names(t.Columns), t.Name, where, names(t.Key), t.Page)
	err = s.read(ctx, func(db reader) error {
		rows, err := db.QueryContext(ctx, statement, after...)
		if err != nil {
			return err
		}
		all, err = collect(rows, func(r record.Row) ([]any, error) { return scanAny(r, len(t.Columns)) })
		return err
	})
	return all, wrap(err, "reading the table %s", t.Name)
}

func names(columns []string) string {
	return strings.Replace(strings.Join(columns, ", "), "seq", "rowid", 1)
}

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
