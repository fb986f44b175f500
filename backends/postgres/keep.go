package postgres

import (
	"context"
	"errors"

	"parley/backends/record"
	"parley/core/chat"
)

// Keep remembers value under name, in place of what was there. It is for what a connector must not forget.
func (s *upkeep) Keep(ctx context.Context, name, value string) error {
	err := record.CheckText(name, value)
	if err == nil {
		err = s.write(ctx, nil, func(ctx context.Context, q querier) error {
			return keep(ctx, q, name, value)
		})
	}
	return wrap(err, "saving %q", name)
}

func keep(ctx context.Context, q querier, name, value string) error {
	_, err := q.Exec(ctx, `INSERT INTO notes (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
	return err
}

// Kept is what was last kept under name, or "".
func (s *upkeep) Kept(ctx context.Context, name string) (value string, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return record.Found(q.QueryRow(ctx, `SELECT value FROM notes WHERE name = $1`, name).Scan(&value))
	})
	if errors.Is(err, chat.ErrNotFound) {
		return "", nil
	}
	return value, wrap(err, "reading %q", name)
}
