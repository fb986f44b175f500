package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"parley/backends/record"
	"parley/core/chat"
)

// Notes implements [storage.RoomNotes].
func (s *memories) Notes(ctx context.Context, room chat.RoomID, kind chat.NoteKind, limit int) ([]chat.RoomNote, error) {
	enough := func(l noteList) bool { return l.limit == limit && l.current() }
	list, err := cached(ctx, s.database, subject{cachedNotes, string(room), string(kind)}, enough, func(ctx context.Context, db *conn) (noteList, error) {
		rows, err := db.QueryContext(ctx, ` -- the limit is a sum, as in selectRecent
			SELECT `+record.NoteColumns+` FROM room_notes WHERE room = ? AND kind = ? AND (expires = 0 OR expires > ?) ORDER BY seq DESC LIMIT ? + 0`,
			room, kind, record.Nanos(time.Now()), max(limit, 0))
		if err != nil {
			return noteList{}, err
		}
		all, err := collect(rows, record.ScanNote)
		slices.Reverse(all)
		return noteList{limit, all}, err
	})
	return list.all, wrap(err, "reading the notes on %q", room)
}

// NotesAbout implements [storage.RoomNotes].
func (s *memories) NotesAbout(ctx context.Context, person chat.EntityID, kind chat.NoteKind, shared bool, limit int) ([]chat.RoomNote, error) {
	var all []chat.RoomNote
	err := s.read(ctx, func(db *conn) error {
		rows, err := db.QueryContext(ctx, `
			SELECT `+record.NoteColumns+` FROM room_notes WHERE about = ?1 AND about <> '' AND kind = ?2 AND (expires = 0 OR expires > ?3)
				AND (NOT ?4 OR room NOT IN (SELECT id FROM rooms WHERE kind IN (?5, ?6))) ORDER BY seq DESC LIMIT ?7 + 0`,
			person, kind, record.Nanos(time.Now()), shared, chat.Direct, chat.API, max(limit, 0))
		if err != nil {
			return err
		}
		all, err = collect(rows, record.ScanNote)
		return err
	})
	slices.Reverse(all)
	return all, wrap(err, "reading the notes about %q", person)
}

// SaveNote implements [storage.RoomNotes].
func (s *memories) SaveNote(ctx context.Context, n chat.RoomNote) error {
	err := record.CheckText(string(n.Room), string(n.Kind), n.Key, string(n.About), n.Text, string(n.First), string(n.Last))
	if err == nil {
		err = s.forgetting(ctx, func(ctx context.Context, tx *conn) error { return saveNote(ctx, tx, n) })
	}
	return wrap(err, "saving a note on %q", n.Room)
}

// saveNote stores or deletes a note, and deletes the oldest beyond chat.MaxNotes. First and Last must still be
// remembered: a summary that was being written while its messages were deleted must not bring them back. REPLACE gives
// the note a new seq, so it is the newest again.
func saveNote(ctx context.Context, tx *conn, n chat.RoomNote) error {
	var known int
	if err := tx.QueryRowContext(ctx, `SELECT 1 FROM rooms WHERE id = ?`, n.Room).Scan(&known); err != nil {
		return record.Found(err)
	}
	first, err := turnOf(ctx, tx, n.Room, n.First)
	if err != nil {
		return err
	}
	last, err := turnOf(ctx, tx, n.Room, n.Last)
	if err != nil {
		return err
	}
	if n.Text == "" {
		_, err := tx.ExecContext(ctx, `DELETE FROM room_notes WHERE room = ? AND kind = ? AND key = ?`, n.Room, n.Kind, n.Key)
		return err
	}
	_, err = tx.ExecContext(ctx, `
		REPLACE INTO room_notes (`+record.NoteColumns+`, first_turn, last_turn) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		n.Room, n.Kind, n.Key, n.About, n.Text, n.First, n.Last, record.Nanos(n.At), record.Nanos(n.Expires), first, last)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		DELETE FROM room_notes WHERE room = ?1 AND kind = ?2
			AND seq <= (SELECT seq FROM room_notes WHERE room = ?1 AND kind = ?2 ORDER BY seq DESC LIMIT 1 OFFSET ?3)`,
		n.Room, n.Kind, chat.MaxNotes)
	return err
}

// turnOf returns the turn of a memory of room; 0 if id is empty, and [chat.ErrNotFound] if the memory is gone.
func turnOf(ctx context.Context, tx *conn, room chat.RoomID, id chat.MemoryID) (turn chat.ResponseID, err error) {
	if id == "" {
		return 0, nil
	}
	err = tx.QueryRowContext(ctx, `SELECT turn FROM memories WHERE id = ? AND room = ?`, id, room).Scan(&turn)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, chat.ErrNotFound
	}
	return turn, err
}

// dropNotes deletes the notes that were taken from a part of the conversation that includes turn. Facts and settings outlast
// messages that have expired.
func dropNotes(ctx context.Context, tx *conn, room chat.RoomID, turn chat.ResponseID, why deletion) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM room_notes WHERE room = ?1 AND last_turn > 0 AND first_turn <= ?2 AND last_turn >= ?2
		AND (?3 OR kind NOT IN ('fact', 'setting'))`, room, turn, why == requested)
	return err
}
