package storage

import (
	"context"
	"time"

	"parley/core/chat"
	"parley/core/llm"
)

// Directory knows who and what there is. What is saved as it was costs no write.
type Directory interface {
	// Entity returns one, or [chat.ErrNotFound].
	Entity(ctx context.Context, id chat.EntityID) (chat.Entity, error)
	// Meet stores e; the names it was known by stay, and the details that e does not have. One without a text goes. It says
	// what of that is news.
	Meet(ctx context.Context, e chat.Entity) (chat.News, error)
	// World returns one, or [chat.ErrNotFound].
	World(ctx context.Context, id chat.WorldID) (chat.World, error)
	// SaveWorld stores w; without a name it keeps the one it had.
	SaveWorld(ctx context.Context, w chat.World) (chat.News, error)
	// SaveMember stores m; without a role it keeps the one it had.
	SaveMember(ctx context.Context, m chat.Member) (chat.News, error)
	// Members are those of a world, also who is gone, by their ids; at most limit of them, after the one named after.
	Members(ctx context.Context, world chat.WorldID, after chat.EntityID, limit int) ([]chat.Member, error)
	// RoomsOf are the rooms of a world.
	RoomsOf(ctx context.Context, world chat.WorldID) ([]chat.RoomID, error)
}

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

// Reminders keeps what people asked to be reminded of. A room that is cleared keeps its reminders; with one that is cleared entirely
// they go.
type Reminders interface {
	// AddReminder stores r, once by its id. [chat.ErrTooMany] if its person or its room has as many as rule allows;
	// [chat.ErrNotFound] if there is no such room.
	AddReminder(ctx context.Context, r chat.Reminder, rule chat.ReminderRule) error
	// Reminders returns those of a person in a room, or of everyone there if person is empty, the next ones first.
	Reminders(ctx context.Context, room chat.RoomID, person chat.EntityID) ([]chat.Reminder, error)
	// DueReminders returns at most limit reminders whose time is not after at, the oldest first.
	DueReminders(ctx context.Context, at time.Time, limit int) ([]chat.Reminder, error)
	// MoveReminder gives the reminder id, if its time is due, the time next, or removes it if that is zero. [answer.ErrLost] if it is
	// gone or has another time: of several who move it, one does.
	MoveReminder(ctx context.Context, id string, due, next time.Time) error
}

// Uploads keeps files that people send ahead of the messages that name them. An upload goes with the message that names it, and with
// everything else in its room when that is cleared.
type Uploads interface {
	// BeginUpload stores u without content, in place of one with its id that is not complete; one that is complete stays. It returns what
	// is stored. An announced upload takes no space. [chat.ErrTooMany] if rule.Waiting uploads of the sender wait, [chat.ErrNotFound] if
	// there is no such room.
	BeginUpload(ctx context.Context, u chat.Upload, rule chat.UploadRule) (chat.Upload, error)
	// AddPiece stores the nth piece of an upload, from 0, each [chat.UploadPiece] long but for the last. [answer.ErrLost] if the upload is
	// gone or complete, or has begun again: then attempt is not the latest. To keep rule.Total, the sender with the most bytes makes room,
	// whose oldest uploads go: the content of those that a message names is removed, and their thumbnails stay; then the others are
	// removed. The sender of this upload loses only named ones. [chat.ErrNoSpace] if that is not enough.
	AddPiece(ctx context.Context, id, attempt string, n int, data []byte, rule chat.UploadRule) error
	// EndUpload makes an upload complete, with the type that was found. Errors are those of AddPiece.
	EndUpload(ctx context.Context, id, attempt, kind string, thumbnail []byte) error
	// Upload returns one by its id, or [chat.ErrNotFound].
	Upload(ctx context.Context, id string) (chat.Upload, error)
	// Piece returns the nth piece of an upload, or with [chat.ThumbnailPiece] its thumbnail. [chat.ErrNotFound] if there is none.
	Piece(ctx context.Context, id string, n int) ([]byte, error)
	// NameUploads makes message the one that names uploads, all or none, and returns them in the order of ids. [chat.ErrNotFound] if one is gone
	// or not complete, or another message names it.
	NameUploads(ctx context.Context, message chat.MemoryID, ids ...string) ([]chat.Upload, error)
	// DropUpload removes an upload that no message names, of any attempt if attempt is empty. It does nothing if there is no such upload.
	DropUpload(ctx context.Context, id, attempt string) error
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

// Files are what answers show beside their text.
type Files interface {
	// File returns the nth file that was noted with the verdict of a run, from 0. [chat.ErrNotFound] if there is none, or if
	// nothing that the run said is remembered any more.
	File(ctx context.Context, run chat.RunID, n int) (llm.File, error)

	// FilePart returns at most length bytes of the same file, from the given byte on, with what the whole is. There is no data
	// at and past the end. Errors are those of File.
	FilePart(ctx context.Context, run chat.RunID, n int, from, length int64) (chat.FilePart, error)
}
