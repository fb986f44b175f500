package sqlite

import (
	"context"
	"errors"

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

// Swap stores value under name if old is what is stored there, where "" is nothing. It reports whether it was.
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
