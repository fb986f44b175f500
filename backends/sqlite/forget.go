package sqlite

import (
	"context"
	"database/sql"

	"parley/core"
)

// Revise implements [core.Memories].
func (s *Store) Revise(ctx context.Context, id core.MemoryID, text string, files []core.File) error {
	err := checkMemory(core.Memory{ID: id, Room: "any", Text: text, Files: files})
	if err == nil {
		err = s.forgetting(ctx, func(ctx context.Context, tx *sql.Tx) error {
			m, err := scanMemory(tx.QueryRowContext(ctx, `SELECT `+memoryColumns+` FROM memories WHERE id = ?`, id))
			if err != nil {
				return err
			}
			m.Files = files
			var turn core.ResponseID
			err = tx.QueryRowContext(ctx, `UPDATE memories SET text = ?, content = ? WHERE id = ? RETURNING turn`, text, contentOf(m), id).Scan(&turn)
			if err != nil {
				return err
			}
			return dropNotes(ctx, tx, m.Room, turn)
		})
	}
	return wrap(err, "revising the memory %q", id)
}

// Forget implements [core.Memories].
func (s *Store) Forget(ctx context.Context, id core.MemoryID) error {
	err := s.forgetting(ctx, func(ctx context.Context, tx *sql.Tx) error { return forget(ctx, tx, id) })
	return wrap(err, "forgetting the memory %q", id)
}

func forget(ctx context.Context, tx *sql.Tx, id core.MemoryID) error {
	all, err := remove(ctx, tx, `DELETE FROM memories WHERE id = ? RETURNING id, room, turn, role`, id)
	if err != nil || len(all) == 0 {
		return err
	}
	m := all[0]
	if err := dropNotes(ctx, tx, m.room, m.turn); err != nil || m.role != input {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		DELETE FROM memories WHERE room = ?1 AND turn = ?2 AND role IN ('said', 'beside')
			AND NOT EXISTS (SELECT 1 FROM memories WHERE room = ?1 AND turn = ?2 AND role = 'input')`, m.room, m.turn)
	if err != nil {
		return err
	}
	run := runID(m.room, m.turn)
	return erase(ctx, tx, m.room, run, run)
}

// Clear implements [core.Memories].
func (s *Store) Clear(ctx context.Context, room core.RoomID) (int, error) {
	var deleted int
	err := s.forgetting(ctx, func(ctx context.Context, tx *sql.Tx) error {
		all, err := remove(ctx, tx, `DELETE FROM memories WHERE room = ? RETURNING id, room, turn, role`, room)
		if err != nil {
			return err
		}
		deleted = len(all)
		if _, err = tx.ExecContext(ctx, `DELETE FROM room_notes WHERE room = ? AND last_turn > 0`, room); err != nil {
			return err
		}
		if err := withdraw(ctx, tx, room, ""); err != nil {
			return err
		}
		return eraseRoom(ctx, tx, room)
	})
	if err != nil {
		return 0, wrap(err, "clearing %q", room)
	}
	return deleted, nil
}
