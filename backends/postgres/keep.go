package postgres

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

// Swap stores value under name if old is what is stored there, where "" is nothing. It reports whether it was.
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
