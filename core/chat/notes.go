package chat

import "time"

// NoteKind is the type of a [RoomNote].
type NoteKind string

// The kinds of notes.
const (
	FactNote       NoteKind = "fact"       // a lasting fact from the conversation
	EvaluationNote NoteKind = "evaluation" // what the agent made of the conversation; one per room, without a key
	SummaryNote    NoteKind = "summary"    // a summary of the conversation up to a message; one per room, without a key
	SettingNote    NoteKind = "setting"    // a setting of the room; the key is its name
)

// MaxNotes is the maximum number of notes of a kind in a room.
const MaxNotes = 200

// RoomNote is information that the agent stores about a room besides its messages. It is not used in another room, except for facts about
// a person if the owner wants that.
type RoomNote struct {
	Room        RoomID
	Kind        NoteKind
	Key         string   // unique within its kind
	About       EntityID // the subject of a fact; empty: the room
	Text        string
	First, Last MemoryID // the messages it was derived from; can be empty
	At          time.Time
	Expires     time.Time // it is not used from then on; zero: it stays
}
