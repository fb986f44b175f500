package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"parley/backends/record"
	"parley/core/chat"
)

// Keep remembers value under name, in place of what was there. It is for what a connector must not forget.
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

// Kept is what was last kept under name, or "".
func (s *upkeep) Kept(ctx context.Context, name string) (value string, err error) {
	err = s.read(ctx, func(db reader) error {
		return record.Found(db.QueryRowContext(ctx, `SELECT value FROM notes WHERE name = ?`, name).Scan(&value))
	})
	if errors.Is(err, chat.ErrNotFound) {
		return "", nil
	}
	return value, wrap(err, "reading %q", name)
}
