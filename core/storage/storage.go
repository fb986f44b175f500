// Package storage declares what a gateway stores: one port for each subject, whose comments are the contract of every backend,
// and their sum. A consumer declares the methods that it needs; they have the contracts of the ports.
package storage

import (
	"context"

	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
)

// A Store is all ports in one, as backends build it and the gateway hands it over. Its methods are safe for concurrent use, each is one transaction, and
// what one has returned survives a crash of the process. Lists, maps and bytes that it returns can be shared with other callers and must not be
// changed; to append to a list is safe.
type Store interface {
	Memories
	Rooms
	RoomFinder
	Attentions
	Directory
	Notebook
	WordIndex
	VectorIndex
	VectorBackfill
	PieceVectors
	Inbox
	Runs
	Journal
	Retries
	Parking
	Leases
	Fleet
	Files
	Uploads
	Questions
	Approvals
	People
	Reminders
	PersonalData
	quota.UsageStore
	Upkeep
}

// Memories knows what was said.
type Memories interface {
	// Recent returns the last limit memories of one kind of room whose turn is at most upTo (0: any), oldest first: in
	// the order of their turns, and within a turn as they were stored. An answer belongs to the turn of its run.
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
	// Remember stores m, once by its id, as something that came about in the turn of a run, beside its answer. It goes
	// when the last input of that run is forgotten. [chat.ErrNotFound] if there is no such run, or it has no input any more.
	Remember(ctx context.Context, run chat.RunID, m chat.Memory) error
	// Memory returns one memory, or [chat.ErrNotFound].
	Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
	// Revise gives a memory another text and other files; nothing else of it changes. Notes on its turn go. [chat.ErrNotFound] if
	// there is none.
	Revise(ctx context.Context, id chat.MemoryID, text string, files []chat.Attachment) error
	// Forget removes a memory, and it is no input of its run any more. With the last input of a run goes what the run
	// said and what it remembered; the run itself stays, and keeps no text once it has ended. Notes on its turn go. A message that
	// arrived leaves a mark. Of what is not there nothing is removed.
	Forget(ctx context.Context, id chat.MemoryID) error
	// Clear removes all memories of room and all notes but settings, and returns how many memories there were. Its runs stay, without
	// inputs, and open ones end by themselves; turn numbers go on. Open questions are withdrawn, and approvals end: those for
	// all calls are [chat.Lapsed], and those that are pending or not used yet, [chat.Stopped]. Messages that arrived leave marks. Runs
	// keep no text once they have ended, and their questions go: of Acting and Acted only whether there was any.
	Clear(ctx context.Context, room chat.RoomID) (deleted int, err error)
	// ClearEntirely is Clear for a room that is gone: its settings go too, and the names and details of person, unless that is empty.
	ClearEntirely(ctx context.Context, room chat.RoomID, person chat.EntityID) (deleted int, err error)
}

// Rooms knows the places.
type Rooms interface {
	// Room returns one room, or [chat.ErrNotFound].
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
	// SaveRoom stores r, in place of an earlier room with its id, whose Created it keeps, and whose Address where r has none.
	SaveRoom(ctx context.Context, r chat.Room) error
}

// RoomFinder knows rooms by what people call them, and by who writes there.
type RoomFinder interface {
	// DirectRoom returns the [chat.Direct] room that author wrote in last, unless it is gone. [chat.ErrNotFound] if there is none.
	DirectRoom(ctx context.Context, author chat.EntityID) (chat.Room, error)
	// ChatRoom returns the room whose [chat.Room.Chats] begins with a connector's id of a chat, unless it is gone: the newest, if there
	// are several. [chat.ErrNotFound] if there is none.
	ChatRoom(ctx context.Context, connector, id string) (chat.Room, error)
	// RoomsNamed returns the rooms whose id is name, or whose name is, whatever the case of its Latin letters: of those
	// in which author has written and whose world it has not left, or of all for an empty author. Rooms that are gone are
	// not among them. The oldest come first, and at most ten.
	RoomsNamed(ctx context.Context, name string, author chat.EntityID) ([]chat.Room, error)
}

// Attentions know where the agent listens, and how closely.
type Attentions interface {
	// Attention is how closely the agent listens in room; [chat.Normal] in an unknown room.
	Attention(ctx context.Context, room chat.RoomID) (chat.Attention, error)
	// SetAttention changes that. [chat.ErrNotFound] if there is no such room.
	SetAttention(ctx context.Context, room chat.RoomID, a chat.Attention) error
}

// Questions know what people were asked, and what they chose.
type Questions interface {
	// Ask stores q, in place of an earlier question of its run that was not answered.
	Ask(ctx context.Context, q chat.Question) error
	// Question returns one by its id, or [chat.ErrNotFound].
	Question(ctx context.Context, id string) (chat.Question, error)
	// QuestionOf returns the newest that a run has asked, or the one that it carries out, or [chat.ErrNotFound].
	QuestionOf(ctx context.Context, run chat.RunID) (chat.Question, error)
	// OpenQuestions returns those of room to which an answer is awaited, the oldest first.
	OpenQuestions(ctx context.Context, room chat.RoomID) ([]chat.Question, error)
	// Choose answers a question, once: [answer.ErrLost] if it is not open any more, of another room than in, or asked by a run that has expired. It stores in as the
	// input of a run of the kind [chat.RunChoiceResult], which goes on in the conversation of the run that asked, and with its messages if
	// that has ended or has a verdict. The author of in, not of the question, is who this run acts for: its address names payer,
	// and keeps the role of the asker only where both are the same person. A message known already answers nothing: Choose
	// then returns what [Inbox.Known] does.
	Choose(ctx context.Context, id string, option int, in chat.Memory, payer chat.EntityID) (chat.Accepted, error)
	// Retire closes an unanswered question, once, also one whose time was over: [answer.ErrLost] otherwise, or if the run that asked has expired. It opens a
	// run as Choose does, without an input, to take the options away.
	Retire(ctx context.Context, id string) (chat.Accepted, error)
	// Withdraw closes the open questions of room, or the one of a run of it.
	Withdraw(ctx context.Context, room chat.RoomID, run chat.RunID) error
}

// Files are what answers show beside their text.
type Files interface {
	// File returns the nth file that was noted with the verdict of a run, from 0. [chat.ErrNotFound] if there is none, or if
	// nothing that the run said is remembered any more.
	File(ctx context.Context, run chat.RunID, n int) (llm.File, error)

	// FilePart returns at most length bytes of the same file, from the given byte on, with what the whole is. There is no data
	// at and past the end. Errors are those of File.
	FilePart(ctx context.Context, run chat.RunID, n int, from, length int64) (chat.FilePart, error)
}
