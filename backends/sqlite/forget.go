package sqlite

import (
	"context"

	"parley/backends/record"
	"parley/core/chat"
)

// Revise implements [storage.Memories].
func (s *memories) Revise(ctx context.Context, id chat.MemoryID, text string, files []chat.Attachment) error {
	// Only the new parts are checked; the room stands for the one that is stored.
	err := record.CheckMemory(chat.Memory{ID: id, Room: "any", Text: text, Files: files})
	if err == nil {
		err = s.forgetting(ctx, func(ctx context.Context, tx *conn) error {
			m, err := record.ScanMemory(tx.QueryRowContext(ctx, `SELECT `+record.MemoryColumns+` FROM memories WHERE id = ?`, id))
			if err != nil {
				return err
			}
			m.Files = files
			var turn chat.ResponseID
			err = tx.QueryRowContext(ctx, `UPDATE memories SET text = ?, content = ? WHERE id = ? RETURNING turn`, text, record.ContentOf(m), id).Scan(&turn)
			if err != nil {
				return err
			}
			m.Text = text
			if err := replaceWords(ctx, tx, m); err != nil {
				return err
			}
			// Notes such as summaries were made of the old text.
			return dropNotes(ctx, tx, m.Room, turn, requested)
		})
	}
	return wrap(err, "revising the memory %q", id)
}

// Forget implements [storage.Memories].
func (s *memories) Forget(ctx context.Context, id chat.MemoryID) error {
	err := s.forgetting(ctx, func(ctx context.Context, tx *conn) error {
		found, err := forget(ctx, tx, id, requested)
		if err == nil && found { // platforms report the deletion of every message, also of those that are not stored
			err = s.tombstones.add(ctx, tx, tombstone{Kind: messageDeleted, ID: string(id)})
		}
		return err
	})
	return wrap(err, "forgetting the memory %q", id)
}

// deletion is the reason why a message is deleted.
type deletion bool

const (
	requested deletion = false
	expired   deletion = true
)

// forget deletes a memory. If it was the last input of its run, it also deletes the run's messages, and erases the run:
// an answer quotes its question. It reports whether there was such a memory.
func forget(ctx context.Context, tx *conn, id chat.MemoryID, why deletion) (found bool, err error) {
	all, err := remove(ctx, tx, `DELETE FROM memories WHERE id = ? RETURNING id, room, turn, role`, id)
	if err != nil || len(all) == 0 {
		return false, err
	}
	m := all[0]
	if err := dropNotes(ctx, tx, m.room, m.turn, why); err != nil || m.role != record.Input {
		return true, err
	}
	_, err = tx.ExecContext(ctx, `
		DELETE FROM memories WHERE room = ?1 AND turn = ?2 AND role IN ('said', 'beside')
			AND NOT EXISTS (SELECT 1 FROM memories WHERE room = ?1 AND turn = ?2 AND role = 'input')`, m.room, m.turn)
	if err != nil {
		return true, err
	}
	run := record.RunID(m.room, m.turn)
	return true, erase(ctx, tx, m.room, run, run)
}

// Clear implements [storage.Memories].
func (s *memories) Clear(ctx context.Context, room chat.RoomID) (deleted int, err error) {
	err = s.burying(ctx, tombstone{Kind: roomCleared, ID: string(room)}, func(ctx context.Context, tx *conn) error {
		deleted, err = clearRoom(ctx, tx, room)
		return err
	})
	if err != nil {
		return 0, wrap(err, "clearing %q", room)
	}
	return deleted, nil
}

// ClearEntirely implements [storage.Memories].
func (s *memories) ClearEntirely(ctx context.Context, room chat.RoomID, person chat.EntityID) (deleted int, err error) {
	err = s.burying(ctx, tombstone{Kind: chatCleared, ID: string(room), Person: string(person)}, func(ctx context.Context, tx *conn) error {
		if deleted, err = clearRoom(ctx, tx, room); err != nil {
			return err
		}
		for _, table := range []string{"room_notes", "reminders"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE room = ?`, room); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `UPDATE entities SET names = '', details = '' WHERE id = ?`, person)
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
func clearRoom(ctx context.Context, tx *conn, room chat.RoomID) (deleted int, err error) {
	all, err := remove(ctx, tx, `DELETE FROM memories WHERE room = ? RETURNING id, room, turn, role`, room)
	if err != nil {
		return 0, err
	}
	if _, err = tx.ExecContext(ctx, `DELETE FROM room_notes WHERE room = ? AND (last_turn > 0 OR kind NOT IN (?, ?, ?))`, room, chat.SettingNote, chat.ReaderNote, chat.LinkNote); err != nil {
		return 0, err
	}
	if _, err = tx.ExecContext(ctx, `DELETE FROM uploads WHERE room = ?`, room); err != nil {
		return 0, err
	}
	if err := withdraw(ctx, tx, room, ""); err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, `
		UPDATE approvals SET decision = CASE decision WHEN 'always' THEN 'lapsed' ELSE 'stopped' END
		WHERE room = ? AND decision IN ('always', 'pending', 'approved')`, room); err != nil {
		return 0, err
	}
	return len(all), eraseRoom(ctx, tx, room)
}
