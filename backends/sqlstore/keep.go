package sqlstore

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
		err = s.Write(ctx, Change{}, func(ctx context.Context, tx Conn) error { return Keep(ctx, tx, name, value) })
	}
	return s.wrap(err, "saving %q", name)
}

// Keep stores value under name in a transaction, in place of an earlier value.
func Keep(ctx context.Context, tx Conn, name, value string) error {
	_, err := tx.Exec(ctx, `INSERT INTO notes (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
	return err
}

// Swap stores value under name if old is the value there, where "" is none. It reports whether it was.
func (s *upkeep) Swap(ctx context.Context, name, old, value string) (done bool, err error) {
	if err := record.CheckText(name, value); err != nil {
		return false, s.wrap(err, "saving %q", name)
	}
	err = s.Write(ctx, Change{}, func(ctx context.Context, tx Conn) error {
		query := `UPDATE notes SET value = $2 WHERE name = $1 AND value = $3`
		if old == "" {
			query = `INSERT INTO notes (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE notes.value = $3`
		}
		n, err := tx.Exec(ctx, query, name, value, old)
		done = n > 0
		return err
	})
	return done && err == nil, s.wrap(err, "saving %q", name)
}

// Kept returns the value last stored under name, or "" if there is none.
func (s *upkeep) Kept(ctx context.Context, name string) (value string, err error) {
	value, err = one(ctx, s.Shared, scan[string], `SELECT value FROM notes WHERE name = $1`, name)
	if errors.Is(err, chat.ErrNotFound) {
		return "", nil
	}
	return value, s.wrap(err, "reading %q", name)
}

// Holds implements [progressive.Holds]: it returns the ends of the holds in effect, by scope.
func (s *upkeep) Holds(ctx context.Context) (map[string]time.Time, error) {
	ends := map[string]time.Time{}
	_, err := list(ctx, s.Shared, func(r record.Row) (scope string, err error) {
		var until time.Time
		err = r.Scan(&scope, record.TimeInto(&until))
		ends[scope] = s.Local(until)
		return scope, err
	}, `SELECT scope, until FROM holds WHERE until > $1`, s.Present())
	return ends, s.wrap(err, "reading the holds")
}

// SaveHold implements [progressive.Holds]. It also deletes holds that have ended, so the table stays as small as the
// number of scopes that are closed.
func (s *upkeep) SaveHold(ctx context.Context, scope string, until time.Time) error {
	err := s.Write(ctx, Change{}, func(ctx context.Context, tx Conn) error {
		if _, err := tx.Exec(ctx, `DELETE FROM holds WHERE until <= $1`, s.Present()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO holds (scope, until) VALUES ($1, $2)
			ON CONFLICT (scope) DO UPDATE SET until = excluded.until`, scope, s.Stored(until))
		return err
	})
	return s.wrap(err, "saving that %q is closed", scope)
}
