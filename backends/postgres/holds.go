package postgres

import (
	"context"
	"time"

	"parley/backends/record"
)

// Holds implements [progressive.Holds]: it returns the ends of the holds in effect, by scope.
func (s *upkeep) Holds(ctx context.Context) (map[string]time.Time, error) {
	ends := map[string]time.Time{}
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, `SELECT scope, until FROM holds WHERE until > $1`, s.clock.nanos())
		_, err = collect(rows, err, func(r record.Row) (scope string, err error) {
			var until time.Time
			err = r.Scan(&scope, record.TimeInto(&until))
			ends[scope] = s.clock.local(until)
			return scope, err
		})
		return err
	})
	return ends, wrap(err, "reading the holds")
}

// SaveHold implements [progressive.Holds]. It also deletes holds that have ended, so the table stays as small as the
// number of scopes that are closed.
func (s *upkeep) SaveHold(ctx context.Context, scope string, until time.Time) error {
	err := s.write(ctx, nil, func(ctx context.Context, q querier) error {
		if _, err := q.Exec(ctx, `DELETE FROM holds WHERE until <= $1`, s.clock.nanos()); err != nil {
			return err
		}
		_, err := q.Exec(ctx, `
			INSERT INTO holds (scope, until) VALUES ($1, $2)
			ON CONFLICT (scope) DO UPDATE SET until = excluded.until`, scope, s.clock.stored(until))
		return err
	})
	return wrap(err, "saving that %q is closed", scope)
}
