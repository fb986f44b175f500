package sqlstore

import (
	"context"

	"parley/backends/record"
	"parley/core/chat"
)

// Revise implements [storage.Memories].
func (s *memories) Revise(ctx context.Context, id chat.MemoryID, text string, files []chat.Attachment) error {
	// Only the new parts are checked; the room stands for the stored one.
	err := record.CheckMemory(chat.Memory{ID: id, Room: "any", Text: text, Files: files})
	if err == nil {
		err = s.writeMemory(ctx, id, func(ctx context.Context, tx Conn) error {
			m, err := record.ScanMemory(tx.QueryRow(ctx, `SELECT `+record.MemoryColumns+` FROM memories WHERE id = $1`, id))
			if err != nil {
				return err
			}
			m.Files = files
			var turn chat.ResponseID
			err = tx.QueryRow(ctx, `UPDATE memories SET text = $1, content = $2 WHERE id = $3 RETURNING turn`, text, record.ContentOf(m), id).Scan(&turn)
			if err != nil {
				return err
			}
			m.Text = text
			if err := s.ReplaceWords(ctx, tx, m); err != nil {
				return err
			}
			// Notes such as summaries were made of the old text.
			return dropNotes(ctx, tx, m.Room, turn, requested)
		})
	}
	return s.wrap(err, "revising the memory %q", id)
}

// writeMemory is Write with the lock of the room of a memory, for a deletion. The room is read before the transaction, because the lock
// comes first; it never changes. If the memory is gone, do runs and finds nothing.
func (s *memories) writeMemory(ctx context.Context, id chat.MemoryID, do func(context.Context, Conn) error) error {
	room, err := one(ctx, s.Shared, scan[chat.RoomID], `SELECT room FROM memories WHERE id = $1`, id)
	if record.UnlessMissing(err) != nil {
		return err
	}
	return s.Write(ctx, s.room(room).deleting(), do)
}

// Forget implements [storage.Memories].
func (s *memories) Forget(ctx context.Context, id chat.MemoryID) error {
	err := s.writeMemory(ctx, id, func(ctx context.Context, tx Conn) error {
		found, err := s.forget(ctx, tx, id, requested)
		if err == nil && found { // platforms report the deletion of every message, also of those that are not stored
			err = s.Bury(ctx, tx, Tombstone{Kind: MessageDeleted, ID: string(id)})
		}
		return err
	})
	return s.wrap(err, "forgetting the memory %q", id)
}

// deletion is the reason why a message is deleted.
type deletion bool

const (
	requested deletion = false
	expired   deletion = true
)

// forget deletes a memory. If it was the last input of its run, it also deletes the run's messages, and erases the run:
// an answer quotes its question. It reports whether there was such a memory.
func (s *Shared) forget(ctx context.Context, tx Conn, id chat.MemoryID, why deletion) (found bool, err error) {
	all, err := s.remove(ctx, tx, `DELETE FROM memories WHERE id = $1 RETURNING id, room, turn, role`, id)
	if err != nil || len(all) == 0 {
		return false, err
	}
	m := all[0]
	if err := dropNotes(ctx, tx, m.Room, m.Turn, why); err != nil || m.Role != record.Input {
		return true, err
	}
	_, err = tx.Exec(ctx, `
		DELETE FROM memories WHERE room = $1 AND turn = $2 AND role IN ('said', 'beside')
			AND NOT EXISTS (SELECT 1 FROM memories WHERE room = $1 AND turn = $2 AND role = 'input')`, m.Room, m.Turn)
	if err != nil {
		return true, err
	}
	run := record.RunID(m.Room, m.Turn)
	return true, erase(ctx, tx, m.Room, run, run)
}

// ExpireMemory deletes a memory that has expired, and erases its run.
func (s *Shared) ExpireMemory(ctx context.Context, tx Conn, m Gone) error {
	if _, err := s.forget(ctx, tx, m.ID, expired); err != nil {
		return err
	}
	run := record.RunID(m.Room, m.Turn)
	return erase(ctx, tx, m.Room, run, run)
}

// Clear implements [storage.Memories].
func (s *memories) Clear(ctx context.Context, room chat.RoomID) (deleted int, err error) {
	err = s.burying(ctx, s.room(room), Tombstone{Kind: RoomCleared, ID: string(room)}, func(ctx context.Context, tx Conn) error {
		deleted, err = s.clearRoom(ctx, tx, room)
		return err
	})
	if err != nil {
		return 0, s.wrap(err, "clearing %q", room)
	}
	return deleted, nil
}

// ClearEntirely implements [storage.Memories].
func (s *memories) ClearEntirely(ctx context.Context, room chat.RoomID, person chat.EntityID) (deleted int, err error) {
	err = s.burying(ctx, s.room(room), Tombstone{Kind: ChatCleared, ID: string(room), Person: string(person)}, func(ctx context.Context, tx Conn) error {
		if deleted, err = s.clearRoom(ctx, tx, room); err != nil {
			return err
		}
		for _, table := range []string{"room_notes", "reminders"} {
			if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE room = $1`, room); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `UPDATE entities SET names = '', details = '' WHERE id = $1`, person)
		return err
	})
	if err != nil {
		return 0, s.wrap(err, "clearing all of %q", room)
	}
	return deleted, nil
}

// clearRoom deletes all that was said in a room. Open questions are withdrawn before runs are erased, so that no button
// of a forgotten question works any more. Approvals end with it: no call of a forgotten conversation is made, and none is approved in
// advance. Settings and readers stay: they were made for the room, not taken from the
// conversation.
func (s *Shared) clearRoom(ctx context.Context, tx Conn, room chat.RoomID) (deleted int, err error) {
	all, err := s.remove(ctx, tx, `DELETE FROM memories WHERE room = $1 RETURNING id, room, turn, role`, room)
	if err != nil {
		return 0, err
	}
	if _, err = tx.Exec(ctx, `DELETE FROM room_notes WHERE room = $1 AND (last_turn > 0 OR kind NOT IN ($2, $3, $4))`,
		room, chat.SettingNote, chat.ReaderNote, chat.LinkNote); err != nil {
		return 0, err
	}
	if _, err = tx.Exec(ctx, `DELETE FROM uploads WHERE room = $1`, room); err != nil {
		return 0, err
	}
	if err := withdraw(ctx, tx, room, ""); err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, `
		UPDATE approvals SET decision = CASE decision WHEN 'always' THEN 'lapsed' ELSE 'stopped' END
		WHERE room = $1 AND decision IN ('always', 'pending', 'approved')`, room); err != nil {
		return 0, err
	}
	return len(all), eraseRoom(ctx, tx, room)
}

// erase removes the text of runs of room with ids from first to last, and their questions, where nothing of their turn
// is remembered any more. Runs that are open keep theirs until they end (eraseEnded): they still need it to go on. Of
// the actions only a dash remains, for "there was one": a run that has written something must not be retried.
//
// The ids are a range of the primary key, so that one run and all runs of a room are erased by the same statements. The
// range can contain runs of other rooms, whose ids begin alike, hence the condition on room. The collation "C" of PostgreSQL makes it the same
// range in both.
func erase(ctx context.Context, tx Conn, room chat.RoomID, first, last chat.RunID) error {
	_, err := tx.Exec(ctx, `
		DELETE FROM questions WHERE run BETWEEN $1 AND $2 AND room = $3
			AND NOT EXISTS (SELECT 1 FROM runs WHERE id IN (questions.run, questions.carrier) AND status = '')
			AND NOT EXISTS (SELECT 1 FROM memories m JOIN runs r ON r.room = m.room AND r.turn = m.turn
				WHERE r.id = questions.run AND m.role IN ('input', 'said'))`, first, last, room)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		UPDATE runs SET text = '', verdict = '', acting = CASE WHEN acting = '' THEN '' ELSE '-' END, acted = CASE WHEN acted = '' THEN '' ELSE '-' END
		WHERE id BETWEEN $1 AND $2 AND room = $3 AND status <> '' AND text || verdict || acting || acted <> ''
			AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.room = runs.room AND m.turn = runs.turn AND m.role IN ('input', 'said'))
			AND NOT EXISTS (SELECT 1 FROM questions WHERE run = runs.id AND carrier <> '')`, first, last, room)
	return err
}

// eraseRoom is erase for all runs of room.
func eraseRoom(ctx context.Context, tx Conn, room chat.RoomID) error {
	return erase(ctx, tx, room, chat.RunID(room+"#"), chat.RunID(room+"$")) // a run id is room#turn, and $ follows # in ASCII, see record.RunID
}

// eraseEnded erases a run that has just ended, and the one whose question it carried out, which had to wait for it.
func eraseEnded(ctx context.Context, tx Conn, run chat.RunID) error {
	room, err := scan[chat.RoomID](tx.QueryRow(ctx, `SELECT room FROM runs WHERE id = $1`, run))
	if err != nil {
		return err
	}
	asked, err := record.ScanQuestion(tx.QueryRow(ctx, selectQuestions+`WHERE carrier = $1 AND carrier <> ''`, run))
	if err == nil {
		err = erase(ctx, tx, room, asked.Run, asked.Run)
	}
	if record.UnlessMissing(err) != nil {
		return err
	}
	return erase(ctx, tx, room, run, run)
}
