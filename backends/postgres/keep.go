package postgres

import (
	"context"
	"errors"
	"time"

	"parley/backends/record"
	"parley/core/chat"
)

// Keep stores value under name, in place of an earlier value. Connectors keep their state with it, such as the place in
// a platform's list of updates.
func (s *upkeep) Keep(ctx context.Context, name, value string) error {
	err := record.CheckText(name, value)
	if err == nil {
		err = s.write(ctx, nil, func(ctx context.Context, q querier) error {
			return keep(ctx, q, name, value)
		})
	}
	return wrap(err, "saving %q", name)
}

// keep stores a value within the transaction of q, for Keep and KeepUnder.
func keep(ctx context.Context, q querier, name, value string) error {
	_, err := q.Exec(ctx, `INSERT INTO notes (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
	return err
}

// Swap stores value under name if old is the value there, where "" is none. It reports whether it was.
func (s *upkeep) Swap(ctx context.Context, name, old, value string) (done bool, err error) {
	if err := record.CheckText(name, value); err != nil {
		return false, wrap(err, "saving %q", name)
	}
	err = s.write(ctx, nil, func(ctx context.Context, q querier) error {
		query, arguments := `UPDATE notes SET value = $2 WHERE name = $1 AND value = $3`, []any{name, value, old}
		if old == "" {
			query, arguments = `INSERT INTO notes (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE notes.value = ''`, []any{name, value}
		}
		res, err := q.Exec(ctx, query, arguments...)
		done = err == nil && res.RowsAffected() > 0
		return err
	})
	return done && err == nil, wrap(err, "saving %q", name)
}

// Kept returns the value last stored under name, or "" if there is none.
func (s *upkeep) Kept(ctx context.Context, name string) (value string, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return record.Found(q.QueryRow(ctx, `SELECT value FROM notes WHERE name = $1`, name).Scan(&value))
	})
	if errors.Is(err, chat.ErrNotFound) {
		return "", nil
	}
	return value, wrap(err, "reading %q", name)
}

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
