package sqlite

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
		err = s.write(ctx, func(ctx context.Context, tx *conn) error {
			_, err := tx.ExecContext(ctx, `REPLACE INTO notes (name, value) VALUES (?, ?)`, name, value)
			return err
		})
	}
	return wrap(err, "saving %q", name)
}

// Swap stores value under name if old is the value there, where "" is none. It reports whether it was.
func (s *upkeep) Swap(ctx context.Context, name, old, value string) (done bool, err error) {
	if err := record.CheckText(name, value); err != nil {
		return false, wrap(err, "saving %q", name)
	}
	err = s.write(ctx, func(ctx context.Context, tx *conn) error {
		query := `UPDATE notes SET value = ?3 WHERE name = ?1 AND value = ?2`
		if old == "" {
			query = `INSERT INTO notes (name, value) VALUES (?1, ?3) ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE notes.value = ?2`
		}
		n, err := tx.ExecContext(ctx, query, name, old, value)
		done = n > 0
		return err
	})
	return done && err == nil, wrap(err, "saving %q", name)
}

// Kept returns the value last stored under name, or "" if there is none.
func (s *upkeep) Kept(ctx context.Context, name string) (value string, err error) {
	err = s.read(ctx, func(db *conn) error {
		return record.Found(db.QueryRowContext(ctx, `SELECT value FROM notes WHERE name = ?`, name).Scan(&value))
	})
	if errors.Is(err, chat.ErrNotFound) {
		return "", nil
	}
	return value, wrap(err, "reading %q", name)
}

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
