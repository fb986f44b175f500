package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parley/backends/record"
	"parley/core/chat"
)

// Mark implements [storage.Inbox].
func (s *journal) Mark(ctx context.Context, room chat.RoomID, id chat.MemoryID) (acc chat.Accepted, err error) {
	err = record.CheckText(string(room), string(id))
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, tx *conn) error {
			if acc, err = findAccepted(ctx, tx, chat.Memory{ID: id, Room: room}); !errors.Is(err, chat.ErrNotFound) {
				return err
			}
			acc = chat.Accepted{Memory: id}
			err := tx.QueryRowContext(ctx, `SELECT turns FROM rooms WHERE id = ?`, room).Scan(&acc.Response)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			return mark(ctx, tx, id, acc.Response, false)
		})
	}
	if err != nil {
		return chat.Accepted{}, wrap(err, "marking %q", id)
	}
	return acc, nil
}

// mark stores that the event id was accepted in a turn. The first mark stays: it names the turn that answered the
// event.
func mark(ctx context.Context, tx *conn, id chat.MemoryID, turn chat.ResponseID, answered bool) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO marks (id, turn, answered, at) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		record.MarkID(id), turn, answered, record.Nanos(time.Now()))
	return err
}

// findMark completes acc for a message that was deleted except for its mark. Its run is named only while that is open:
// the redelivery then attaches to it; later there is nothing to attach to.
func findMark(ctx context.Context, q *conn, in chat.Memory, acc chat.Accepted, answered bool) (chat.Accepted, error) {
	if !answered {
		return acc, nil
	}
	run := record.RunID(in.Room, acc.Response)
	var open bool
	err := q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE id = ? AND status = '')`, run).Scan(&open)
	if open {
		acc.Run = run
	}
	return acc, err
}

// gone holds the fields of a deleted memory that its marks and notes depend on.
type gone struct {
	id   chat.MemoryID
	room chat.RoomID
	turn chat.ResponseID
	role string
}

// remove deletes memories and leaves marks in their place, so that a redelivery by the platform does not bring them
// back. The query must return the id, room, turn and role of each.
func remove(ctx context.Context, tx *conn, query string, args ...any) ([]gone, error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	all, err := collect(rows, func(r record.Row) (g gone, err error) { return g, r.Scan(&g.id, &g.room, &g.turn, &g.role) })
	if err != nil {
		return nil, err
	}
	for _, g := range all {
		if g.role == record.Input || g.role == record.Heard { // the others are of the agent, so no platform delivers them
			if err := mark(ctx, tx, g.id, g.turn, g.role == record.Input); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}
