package postgres

import (
	"context"

	"parley/backends/record"
	"parley/core/chat"
)

// Revise implements [storage.Memories].
func (s *memories) Revise(ctx context.Context, id chat.MemoryID, text string, files []chat.Attachment) error {
	err := record.CheckMemory(chat.Memory{ID: id, Room: "any", Text: text, Files: files})
	if err == nil {
		err = s.writeMemory(ctx, id, func(ctx context.Context, q querier) error {
			m, err := record.ScanMemory(q.QueryRow(ctx, `SELECT `+record.MemoryColumns+` FROM memories WHERE id = $1`, id))
			if err != nil {
				return err
			}
			m.Files = files
			var turn chat.ResponseID
			err = q.QueryRow(ctx, `UPDATE memories SET text = $1, content = $2 WHERE id = $3 RETURNING turn`, text, record.ContentOf(m), id).Scan(&turn)
			if err != nil {
				return err
			}
			m.Text = text
			if err := replaceWords(ctx, q, m); err != nil {
				return err
			}
			// Notes such as summaries were made of the old text.
			return dropNotes(ctx, q, m.Room, turn, requested)
		})
	}
	return wrap(err, "revising the memory %q", id)
}

// writeMemory is write with the lock of the room of a memory. The room is read before the transaction, because the lock
// comes first; it never changes. If the memory is gone, do runs and finds nothing.
func (s *database) writeMemory(ctx context.Context, id chat.MemoryID, do func(context.Context, querier) error) error {
	var room chat.RoomID
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		err := q.QueryRow(ctx, `SELECT room FROM memories WHERE id = $1`, id).Scan(&room)
		return record.UnlessMissing(record.Found(err))
	})
	if err != nil {
		return err
	}
	return s.write(ctx, roomScope(room), do)
}

// Forget implements [storage.Memories].
func (s *memories) Forget(ctx context.Context, id chat.MemoryID) error {
	err := s.writeMemory(ctx, id, func(ctx context.Context, q querier) error { return s.forget(ctx, q, id, requested) })
	return wrap(err, "forgetting the memory %q", id)
}

// deletion is the reason why a message is deleted.
type deletion bool

const (
	requested deletion = false
	expired   deletion = true
)

// forget deletes a memory. If it was the last input of its run, it also deletes the run's messages, and erases the run:
// an answer quotes its question.
func (s *database) forget(ctx context.Context, q querier, id chat.MemoryID, why deletion) error {
	all, err := s.remove(ctx, q, `DELETE FROM memories WHERE id = $1 RETURNING id, room, turn, role`, id)
	if err != nil || len(all) == 0 {
		return err
	}
	m := all[0]
	if err := dropNotes(ctx, q, m.room, m.turn, why); err != nil || m.role != record.Input {
		return err
	}
	_, err = q.Exec(ctx, `
		DELETE FROM memories WHERE room = $1 AND turn = $2 AND role IN ('said', 'beside')
			AND NOT EXISTS (SELECT 1 FROM memories WHERE room = $1 AND turn = $2 AND role = 'input')`, m.room, m.turn)
	if err != nil {
		return err
	}
	run := record.RunID(m.room, m.turn)
	return erase(ctx, q, m.room, run, run)
}

// Clear implements [storage.Memories].
func (s *memories) Clear(ctx context.Context, room chat.RoomID) (deleted int, err error) {
	err = s.write(ctx, roomScope(room), func(ctx context.Context, q querier) error {
		deleted, err = s.clearRoom(ctx, q, room)
		return err
	})
	if err != nil {
		return 0, wrap(err, "clearing %q", room)
	}
	return deleted, nil
}

// ClearEntirely implements [storage.Memories].
func (s *memories) ClearEntirely(ctx context.Context, room chat.RoomID, person chat.EntityID) (deleted int, err error) {
	err = s.write(ctx, roomScope(room), func(ctx context.Context, q querier) error {
		if deleted, err = s.clearRoom(ctx, q, room); err != nil {
			return err
		}
		for _, table := range []string{"room_notes", "reminders"} {
			if _, err := q.Exec(ctx, `DELETE FROM `+table+` WHERE room = $1`, room); err != nil {
				return err
			}
		}
		_, err := q.Exec(ctx, `UPDATE entities SET names = '', details = '' WHERE id = $1`, person)
		return err
	})
	if err != nil {
		return 0, wrap(err, "clearing all of %q", room)
	}
	return deleted, nil
}

// clearRoom deletes all that was said in a room. Open questions are withdrawn before runs are erased, so that no button
// of a forgotten question works any more. Approvals end with it: no call of a forgotten conversation is made, and none is approved in
// advance. Settings and readers stay: they were made for the room, not taken from the
// conversation.
func (s *memories) clearRoom(ctx context.Context, q querier, room chat.RoomID) (deleted int, err error) {
	all, err := s.remove(ctx, q, `DELETE FROM memories WHERE room = $1 RETURNING id, room, turn, role`, room)
	if err != nil {
		return 0, err
	}
	if _, err = q.Exec(ctx, `DELETE FROM room_notes WHERE room = $1 AND (last_turn > 0 OR kind NOT IN ($2, $3, $4))`, room, chat.SettingNote, chat.ReaderNote, chat.LinkNote); err != nil {
		return 0, err
	}
	if _, err = q.Exec(ctx, `DELETE FROM uploads WHERE room = $1`, room); err != nil {
		return 0, err
	}
	if err := withdraw(ctx, q, room, ""); err != nil {
		return 0, err
	}
	if _, err := q.Exec(ctx, `
		UPDATE approvals SET decision = CASE decision WHEN 'always' THEN 'lapsed' ELSE 'stopped' END
		WHERE room = $1 AND decision IN ('always', 'pending', 'approved')`, room); err != nil {
		return 0, err
	}
	return len(all), eraseRoom(ctx, q, room)
}
