package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"parley/backends/record"
	"parley/core/chat"
)

// Mark implements [storage.Inbox].
func (s *journal) Mark(ctx context.Context, room chat.RoomID, id chat.MemoryID) (acc chat.Accepted, err error) {
	err = record.CheckText(string(room), string(id))
	if err == nil {
		err = s.write(ctx, roomScope(room), func(ctx context.Context, q querier) error {
			if acc, err = findAccepted(ctx, q, chat.Memory{ID: id, Room: room}); !errors.Is(err, chat.ErrNotFound) {
				return err
			}
			acc = chat.Accepted{Memory: id}
			err := q.QueryRow(ctx, `SELECT turns FROM rooms WHERE id = $1`, room).Scan(&acc.Response)
			if err != nil && !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			return s.mark(ctx, q, id, acc.Response, false)
		})
	}
	if err != nil {
		return chat.Accepted{}, wrap(err, "marking %q", id)
	}
	return acc, nil
}

// mark stores that the event id was accepted in a turn. The first mark stays: it names the turn that answered the
// event.
func (s *database) mark(ctx context.Context, q querier, id chat.MemoryID, turn chat.ResponseID, answered bool) error {
	_, err := q.Exec(ctx, `
		INSERT INTO marks (id, turn, answered, at) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING`,
		record.MarkID(id), turn, answered, s.clock.nanos())
	return err
}

// findMark returns the mark of in, or [chat.ErrNotFound]. Its run is named only while that is open: the
// redelivery then attaches to it; later there is nothing to attach to.
func findMark(ctx context.Context, q querier, in chat.Memory) (chat.Accepted, error) {
	acc := chat.Accepted{Memory: in.ID, Duplicate: true}
	var answered bool
	err := q.QueryRow(ctx, `SELECT turn, answered FROM marks WHERE id = $1`, record.MarkID(in.ID)).Scan(&acc.Response, &answered)
	if err != nil || !answered {
		return acc, record.Found(err)
	}
	run := record.RunID(in.Room, acc.Response)
	var open bool
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE id = $1 AND status = '')`, run).Scan(&open)
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
func (s *database) remove(ctx context.Context, q querier, query string, args ...any) ([]gone, error) {
	rows, err := q.Query(ctx, query, args...)
	all, err := collect(rows, err, func(r record.Row) (g gone, err error) { return g, r.Scan(&g.id, &g.room, &g.turn, &g.role) })
	if err != nil {
		return nil, err
	}
	for _, g := range all {
		if g.role == record.Input || g.role == record.Heard { // the others are of the agent, so no platform delivers them
			if err := s.mark(ctx, q, g.id, g.turn, g.role == record.Input); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}
