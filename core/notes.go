package core

import (
	"context"
	"time"
)

// NoteKind says what a [RoomNote] is.
type NoteKind string

// The kinds of notes.
const (
	FactNote    NoteKind = "fact"    // something lasting that was said
	SummaryNote NoteKind = "summary" // what was said up to a message; a room has one, without a key
	SettingNote NoteKind = "setting" // what people chose for the room; the key is its name
)

// MaxNotes is how many notes of a kind a room has at most.
const MaxNotes = 200

// RoomNote is what the agent keeps of a room beside what was said there. It is never told in another room.
type RoomNote struct {
	Room        RoomID
	Kind        NoteKind
	Key         string   // tells it from the others of its kind
	About       EntityID // whom a fact is about; empty: the room
	Text        string
	First, Last MemoryID // the part of the conversation that it was noted from; empty: none
	At          time.Time
}

// Notebook keeps notes. What was noted goes with what it was noted from: when a memory of the turns from First to Last is
// forgotten or revised. Without such a part it stays until the room is cleared; a [SettingNote] stays even then, unless the room is
// cleared entirely.
type Notebook interface {
	// Notes returns the newest limit notes of a kind, oldest first.
	Notes(ctx context.Context, room RoomID, kind NoteKind, limit int) ([]RoomNote, error)
	// SaveNote stores n in place of the note with its room, kind and key; one without text only takes that away. Of more than
	// [MaxNotes] the oldest go. [ErrNotFound] if First or Last are named and one of them is no memory of the room any more,
	// or if there is no such room.
	SaveNote(ctx context.Context, n RoomNote) error
}
