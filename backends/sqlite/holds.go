package sqlite

import (
	"context"
	"time"

	"parley/backends/record"
)

// Holds implements [progressive.Holds]: it returns the ends of the holds in effect, by scope.
func (s *upkeep) Holds(ctx context.Context) (map[string]time.Time, error) {
	ends := map[string]time.Time{}
	err := s.read(ctx, func(db *conn) error {
		rows, err := db.QueryContext(ctx, `SELECT scope, until FROM holds WHERE until > ?`, record.Nanos(time.Now()))
		if err != nil {
			return err
		}
		_, err = collect(rows, func(r record.Row) (scope string, err error) {
			var until time.Time
			err = r.Scan(&scope, record.TimeInto(&until))
			ends[scope] = until
			return scope, err
		})
		return err
	})
	return ends, wrap(err, "reading the holds")
}

// SaveHold implements [progressive.Holds]. It also deletes holds that have ended, so the table stays as small as the
// number of scopes that are closed.
func (s *upkeep) SaveHold(ctx context.Context, scope string, until time.Time) error {
	err := s.write(ctx, func(ctx context.Context, tx *conn) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM holds WHERE until <= ?`, record.Nanos(time.Now())); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `
			INSERT INTO holds (scope, until) VALUES (?, ?)
			ON CONFLICT (scope) DO UPDATE SET until = excluded.until`, scope, record.Nanos(until))
		return err
	})
	return wrap(err, "saving that %q is closed", scope)
}
