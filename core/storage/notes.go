package storage

import (
	"context"

	"parley/core/chat"
)

// Notebook keeps notes. What was noted goes with what it was noted from: when a memory of the turns from First to Last is
// forgotten or revised. Without such a part it stays until the room is cleared; a [chat.SettingNote] stays even then, unless the room is
// cleared entirely.
type Notebook interface {
	// Notes returns the newest limit notes of a kind that have not expired, oldest first.
	Notes(ctx context.Context, room chat.RoomID, kind chat.NoteKind, limit int) ([]chat.RoomNote, error)
	// NotesAbout returns the newest limit notes of a kind about a person in all rooms that have not expired, oldest first; if shared is set,
	// only those of rooms that are not private. [chat.RoomKind.Private]
	NotesAbout(ctx context.Context, person chat.EntityID, kind chat.NoteKind, shared bool, limit int) ([]chat.RoomNote, error)
	// SaveNote stores n in place of the note with its room, kind and key; one without text only takes that away. Of more than
	// [chat.MaxNotes] the oldest go. [chat.ErrNotFound] if First or Last are named and one of them is no memory of the room any more,
	// or if there is no such room.
	SaveNote(ctx context.Context, n chat.RoomNote) error
}
