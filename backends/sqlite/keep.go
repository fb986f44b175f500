package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"parley/backends/record"
	"parley/core/chat"
)

// Keep stores value under name, in place of an earlier value. Connectors keep their state with it, such as the place in
// a platform's list of updates.
func (s *upkeep) Keep(ctx context.Context, name, value string) error {
	err := record.CheckText(name, value)
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, tx *sql.Conn) error {
			_, err := tx.ExecContext(ctx, `REPLACE INTO notes (name, value) VALUES (?, ?)`, name, value)
			return err
		})
	}
	return wrap(err, "saving %q", name)
}

// Kept returns the value last stored under name, or "" if there is none.
func (s *upkeep) Kept(ctx context.Context, name string) (value string, err error) {
	err = s.read(ctx, func(db reader) error {
		return record.Found(db.QueryRowContext(ctx, `SELECT value FROM notes WHERE name = ?`, name).Scan(&value))
	})
	if errors.Is(err, chat.ErrNotFound) {
		return "", nil
	}
	return value, wrap(err, "reading %q", name)
}
