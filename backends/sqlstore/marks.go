package sqlstore

import (
	"context"
	"errors"

	"parley/backends/record"
	"parley/core/chat"
)

// Mark implements [storage.Inbox].
func (s *journal) Mark(ctx context.Context, room chat.RoomID, id chat.MemoryID) (acc chat.Accepted, err error) {
	err = record.CheckText(string(room), string(id))
	if err == nil {
		err = s.Write(ctx, s.room(room), func(ctx context.Context, tx Conn) error {
			if acc, err = findAccepted(ctx, tx, chat.Memory{ID: id, Room: room}); !errors.Is(err, chat.ErrNotFound) {
				return err
			}
			acc = chat.Accepted{Memory: id}
			acc.Response, err = scan[chat.ResponseID](tx.QueryRow(ctx, `SELECT turns FROM rooms WHERE id = $1`, room))
			if record.UnlessMissing(err) != nil {
				return err
			}
			return s.mark(ctx, tx, id, acc.Response, false)
		})
	}
	if err != nil {
		return chat.Accepted{}, s.wrap(err, "marking %q", id)
	}
	return acc, nil
}

// mark stores that the event id was accepted in a turn. The first mark stays: it names the turn that answered the
// event.
func (s *Shared) mark(ctx context.Context, tx Conn, id chat.MemoryID, turn chat.ResponseID, answered bool) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO marks (id, turn, answered, at) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING`,
		record.MarkID(id), turn, answered, s.Present())
	return err
}

// findMark completes acc for a message that was deleted except for its mark. Its run is named only while that is open:
// the redelivery then attaches to it; later there is nothing to attach to.
func findMark(ctx context.Context, c Conn, in chat.Memory, acc chat.Accepted, answered bool) (chat.Accepted, error) {
	if !answered {
		return acc, nil
	}
	run := record.RunID(in.Room, acc.Response)
	open, err := scan[bool](c.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE id = $1 AND status = '')`, run))
	if open {
		acc.Run = run
	}
	return acc, err
}

// Gone holds the fields of a deleted memory that its marks and notes depend on.
type Gone struct {
	ID   chat.MemoryID
	Room chat.RoomID
	Turn chat.ResponseID
	Role string
}

// remove deletes memories and leaves marks in their place, so that a redelivery by the platform does not bring them
// back. The query must return the id, room, turn and role of each.
func (s *Shared) remove(ctx context.Context, tx Conn, query string, args ...any) ([]Gone, error) {
	rows, err := tx.Query(ctx, query, args...)
	all, err := Collect(rows, err, func(r record.Row) (g Gone, err error) { return g, r.Scan(&g.ID, &g.Room, &g.Turn, &g.Role) })
	if err != nil {
		return nil, err
	}
	for _, g := range all {
		if g.Role == record.Input || g.Role == record.Heard { // the others are of the agent, so no platform delivers them
			if err := s.mark(ctx, tx, g.ID, g.Turn, g.Role == record.Input); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}
