package sqlstore

import (
	"context"
	"slices"

	"parley/backends/record"
	"parley/core/chat"
)

// Notes implements [storage.RoomNotes].
func (s *memories) Notes(ctx context.Context, room chat.RoomID, kind chat.NoteKind, limit int) (all []chat.RoomNote, err error) {
	err = s.Read(ctx, func(ctx context.Context, c Conn) error {
		all, err = s.ReadNotes(ctx, c, room, kind, limit)
		return err
	})
	return all, s.wrap(err, "reading the notes on %q", room)
}

// ReadNotes is [storage.RoomNotes.Notes] over a connection.
func (s *Shared) ReadNotes(ctx context.Context, c Conn, room chat.RoomID, kind chat.NoteKind, limit int) ([]chat.RoomNote, error) {
	rows, err := c.Query(ctx, `
		SELECT `+record.NoteColumns+` FROM room_notes WHERE room = $1 AND kind = $2 AND (expires = 0 OR expires > $3)
		ORDER BY seq DESC LIMIT CAST($4 AS bigint)`, room, kind, s.Present(), max(limit, 0))
	all, err := Collect(rows, err, record.ScanNote)
	slices.Reverse(all)
	return all, err
}

// NotesAbout implements [storage.RoomNotes].
func (s *memories) NotesAbout(ctx context.Context, person chat.EntityID, kind chat.NoteKind, shared bool, limit int) (all []chat.RoomNote, err error) {
	err = s.Read(ctx, func(ctx context.Context, c Conn) error {
		all, err = s.ReadNotesAbout(ctx, c, person, kind, shared, limit)
		return err
	})
	return all, s.wrap(err, "reading the notes about %q", person)
}

// ReadNotesAbout is [storage.RoomNotes.NotesAbout] over a connection.
func (s *Shared) ReadNotesAbout(ctx context.Context, c Conn, person chat.EntityID, kind chat.NoteKind, shared bool, limit int) ([]chat.RoomNote, error) {
	rows, err := c.Query(ctx, `
		SELECT `+record.NoteColumns+` FROM room_notes WHERE about = $1 AND about <> '' AND kind = $2 AND (expires = 0 OR expires > $3)
			AND (NOT $4 OR room NOT IN (SELECT id FROM rooms WHERE kind IN ($5, $6))) ORDER BY seq DESC LIMIT CAST($7 AS bigint)`,
		person, kind, s.Present(), shared, chat.Direct, chat.API, max(limit, 0))
	all, err := Collect(rows, err, record.ScanNote)
	slices.Reverse(all)
	return all, err
}

// SaveNote implements [storage.RoomNotes].
func (s *memories) SaveNote(ctx context.Context, n chat.RoomNote) error {
	err := record.CheckText(string(n.Room), string(n.Kind), n.Key, string(n.About), n.Text, string(n.First), string(n.Last))
	if err == nil {
		err = s.Write(ctx, s.room(n.Room).deleting(), func(ctx context.Context, tx Conn) error { return saveNote(ctx, tx, n) })
	}
	return s.wrap(err, "saving a note on %q", n.Room)
}

// saveNote stores or deletes a note, and deletes the oldest beyond chat.MaxNotes. First and Last must still be
// remembered: a summary that was being written while its messages were deleted must not bring them back. The earlier
// note is deleted, not updated, so that the new one has a new seq and is the newest.
func saveNote(ctx context.Context, tx Conn, n chat.RoomNote) error {
	if _, err := scan[int](tx.QueryRow(ctx, `SELECT 1 FROM rooms WHERE id = $1`, n.Room)); err != nil {
		return err
	}
	first, err := turnOf(ctx, tx, n.Room, n.First)
	if err != nil {
		return err
	}
	last, err := turnOf(ctx, tx, n.Room, n.Last)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM room_notes WHERE room = $1 AND kind = $2 AND key = $3`, n.Room, n.Kind, n.Key)
	if err != nil || n.Text == "" {
		return err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO room_notes (`+record.NoteColumns+`, first_turn, last_turn) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		n.Room, n.Kind, n.Key, n.About, n.Text, n.First, n.Last, record.Nanos(n.At), record.Nanos(n.Expires), first, last)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		DELETE FROM room_notes WHERE room = $1 AND kind = $2
			AND seq <= (SELECT seq FROM room_notes WHERE room = $1 AND kind = $2 ORDER BY seq DESC LIMIT 1 OFFSET $3)`,
		n.Room, n.Kind, chat.MaxNotes)
	return err
}

// turnOf returns the turn of a memory of room; 0 if id is empty, and [chat.ErrNotFound] if the memory is gone.
func turnOf(ctx context.Context, tx Conn, room chat.RoomID, id chat.MemoryID) (turn chat.ResponseID, err error) {
	if id == "" {
		return 0, nil
	}
	return scan[chat.ResponseID](tx.QueryRow(ctx, `SELECT turn FROM memories WHERE id = $1 AND room = $2`, id, room))
}

// dropNotes deletes the notes that were taken from a part of the conversation that includes turn. Facts and settings outlast
// messages that have expired.
func dropNotes(ctx context.Context, tx Conn, room chat.RoomID, turn chat.ResponseID, why deletion) error {
	_, err := tx.Exec(ctx, `DELETE FROM room_notes WHERE room = $1 AND last_turn > 0 AND first_turn <= $2 AND last_turn >= $2
		AND ($3 OR kind NOT IN ('fact', 'setting'))`, room, turn, why == requested)
	return err
}
