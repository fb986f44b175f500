package chat

import "time"

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
