package storage

import (
	"context"
	"time"

	"parley/core/chat"
	"parley/core/llm"
)

// Directory stores entities, worlds and their members. Saving an unchanged value writes nothing.
type Directory interface {
	// Entity returns an entity, or [chat.ErrNotFound].
	Entity(ctx context.Context, id chat.EntityID) (chat.Entity, error)
	// SaveEntity stores e and reports the change. Earlier names are kept, and so are stored details that e lacks; a detail with an
	// empty text is deleted.
	SaveEntity(ctx context.Context, e chat.Entity) (chat.News, error)
	// World returns a world, or [chat.ErrNotFound].
	World(ctx context.Context, id chat.WorldID) (chat.World, error)
	// SaveWorld stores w and reports the change. If w has no name, the stored name is kept.
	SaveWorld(ctx context.Context, w chat.World) (chat.News, error)
	// SaveMember stores m and reports the change. If m has no role, the stored role is kept.
	SaveMember(ctx context.Context, m chat.Member) (chat.News, error)
	// Members returns at most limit members of a world, including former ones, in the order of their ids, beginning after the
	// id after.
	Members(ctx context.Context, world chat.WorldID, after chat.EntityID, limit int) ([]chat.Member, error)
	// RoomsOf returns the rooms of a world.
	RoomsOf(ctx context.Context, world chat.WorldID) ([]chat.RoomID, error)
}

// RoomNotes stores notes of rooms. A note is deleted with its sources:
//
//	note                            deleted when
//	with First and Last             a memory of the turns from First to Last is deleted or edited, or the room is cleared
//	without First and Last          the room is cleared
//	a [chat.SettingNote]            the room is cleared entirely
//	a [chat.ReaderNote]             the room is cleared entirely
//	a [chat.LinkNote]               the room is cleared entirely
type RoomNotes interface {
	// Notes returns the newest limit notes of a kind that have not expired, oldest first.
	Notes(ctx context.Context, room chat.RoomID, kind chat.NoteKind, limit int) ([]chat.RoomNote, error)
	// NotesAbout returns the newest limit notes of a kind about a person, of all rooms, that have not expired, oldest first. If
	// shared is set, notes of private rooms are left out, see [chat.RoomKind.Private].
	NotesAbout(ctx context.Context, person chat.EntityID, kind chat.NoteKind, shared bool, limit int) ([]chat.RoomNote, error)
	// SaveNote stores n in place of the note with the same room, kind and key. A note without text only deletes that one. If there
	// are more than [chat.MaxNotes], the oldest are deleted. It fails with [chat.ErrNotFound] if there is no such room, or if
	// First or Last is set and is not a memory of the room.
	SaveNote(ctx context.Context, n chat.RoomNote) error
}

// Reminders stores reminders. Clearing a room keeps its reminders; clearing it entirely deletes them.
type Reminders interface {
	// AddReminder stores r, once by its id. It fails with [chat.ErrTooMany] if the person or the room has as many reminders as
	// rule allows, and with [chat.ErrNotFound] if there is no such room.
	AddReminder(ctx context.Context, r chat.Reminder, rule chat.ReminderRule) error
	// Reminders returns the reminders of a person in a room, or all of the room if person is empty, earliest due first.
	Reminders(ctx context.Context, room chat.RoomID, person chat.EntityID) ([]chat.Reminder, error)
	// DueReminders returns at most limit reminders that are due at the time at, earliest due first.
	DueReminders(ctx context.Context, at time.Time, limit int) ([]chat.Reminder, error)
	// MoveReminder sets the time of a reminder from due to next, or deletes it if next is zero. It fails with [answer.ErrLost] if
	// the reminder does not exist or has another time: of several concurrent calls, one succeeds.
	MoveReminder(ctx context.Context, id string, due, next time.Time) error
}

// Uploads stores files that users send ahead of the messages that name them. An upload is deleted with the message that names
// it, and when its room is cleared.
type Uploads interface {
	// BeginUpload stores u without content and returns the stored upload. It replaces an incomplete upload with the same id; a
	// complete one stays. It takes no space yet. It fails with [chat.ErrTooMany] if the sender has rule.Waiting uploads that no
	// message names, and with [chat.ErrNotFound] if there is no such room.
	BeginUpload(ctx context.Context, u chat.Upload, rule chat.UploadRule) (chat.Upload, error)
	// AddPiece stores the nth piece of an upload, from 0. Each piece has [chat.UploadPiece] bytes, except the last one.
	//
	//	state                                            error
	//	the upload does not exist or is complete         [answer.ErrLost]
	//	attempt is not the latest one                    [answer.ErrLost]
	//	there is no space even after eviction            [chat.ErrNoSpace]
	//
	// To keep rule.Total, uploads of the sender with the most bytes are evicted, oldest first: those that a message names lose
	// their content and keep their thumbnails; then the others are deleted. If that sender is the sender of this upload, only
	// uploads that a message names are evicted.
	AddPiece(ctx context.Context, id, attempt string, n int, data []byte, rule chat.UploadRule) error
	// EndUpload marks an upload as complete and stores its detected type. It fails with the errors of AddPiece.
	EndUpload(ctx context.Context, id, attempt, kind string, thumbnail []byte) error
	// Upload returns an upload by its id, or [chat.ErrNotFound].
	Upload(ctx context.Context, id string) (chat.Upload, error)
	// Piece returns the nth piece of an upload, or its thumbnail for [chat.ThumbnailPiece]. It fails with [chat.ErrNotFound] if
	// there is none.
	Piece(ctx context.Context, id string, n int) ([]byte, error)
	// NameUploads attaches all the uploads to message, or none, and returns them in the order of ids. It fails with
	// [chat.ErrNotFound] if one does not exist, is incomplete, or is named by another message.
	NameUploads(ctx context.Context, message chat.MemoryID, ids ...string) ([]chat.Upload, error)
	// DropUpload deletes an upload that no message names, of any attempt if attempt is empty. It does nothing if there is no such
	// upload.
	DropUpload(ctx context.Context, id, attempt string) error
}

// Memories stores and finds messages.
type Memories interface {
	// Recent returns the last limit memories of a kind in a room, of turns up to upTo (0: any), oldest first: by turn and, within
	// a turn, as they were stored. An answer belongs to the turn of its run.
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
	// Remember stores m, once by its id, in the turn of a run, in addition to the run's answer. m is deleted with the last input
	// of that run. It fails with [chat.ErrNotFound] if the run does not exist or has no input any more.
	Remember(ctx context.Context, run chat.RunID, m chat.Memory) error
	// Memory returns a memory, or [chat.ErrNotFound].
	Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
	// Revise replaces the text and the files of a memory and deletes the notes on its turn. It fails with [chat.ErrNotFound] if
	// the memory does not exist.
	Revise(ctx context.Context, id chat.MemoryID, text string, files []chat.Attachment) error
	// Forget deletes a memory, if it exists.
	//
	//	data                                 effect
	//	the run that it is an input of       loses this input
	//	the answer and the other memories    deleted with the last input of the run; the run stays, and keeps no text
	//	of that run                          once it has ended
	//	notes on its turn                    deleted
	//	a message of a platform              leaves a mark, see [Inbox]
	Forget(ctx context.Context, id chat.MemoryID) error
	// Clear deletes all memories of a room and returns their number.
	//
	//	data                                 effect
	//	notes                                deleted, except settings, readers and links
	//	messages of a platform               leave marks, see [Inbox]
	//	runs                                 stay without inputs; open ones end by themselves
	//	ended runs                           keep no text and no questions; of Acting and Acted only whether there was any
	//	turn numbers                         continue
	//	open questions                       withdrawn
	//	approvals for all calls              become [chat.Lapsed]
	//	pending and unused approvals         become [chat.Stopped]
	Clear(ctx context.Context, room chat.RoomID) (deleted int, err error)
	// ClearEntirely clears a room that no longer exists: it also deletes its settings and, unless person is empty, the names and
	// details of person.
	ClearEntirely(ctx context.Context, room chat.RoomID, person chat.EntityID) (deleted int, err error)
}

// Rooms stores rooms.
type Rooms interface {
	// Room returns a room, or [chat.ErrNotFound].
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
	// SaveRoom stores r in place of an earlier room with the same id. It keeps the stored Created, and the stored Address if r
	// has none.
	SaveRoom(ctx context.Context, r chat.Room) error
}

// RoomFinder finds rooms by their names and by their authors.
type RoomFinder interface {
	// DirectRoom returns the [chat.Direct] room where author wrote last. Rooms that are gone are left out. It fails with
	// [chat.ErrNotFound] if there is none.
	DirectRoom(ctx context.Context, author chat.EntityID) (chat.Room, error)
	// ChatRoom returns the newest room whose [chat.Room.Chats] begins with a connector's id of a chat. Rooms that are gone are
	// left out. It fails with [chat.ErrNotFound] if there is none.
	ChatRoom(ctx context.Context, connector, id string) (chat.Room, error)
	// RoomsNamed returns at most ten rooms, oldest first, whose id or name is name, regardless of the case of Latin letters. It
	// searches the rooms where author has written and whose world author has not left, or all rooms for an empty author.
	// Rooms that are gone are left out.
	RoomsNamed(ctx context.Context, name string, author chat.EntityID) ([]chat.Room, error)
}

// RoomAttentions stores the agent's attention in each room.
type RoomAttentions interface {
	// Attention returns the attention in a room; [chat.Normal] if the room is unknown.
	Attention(ctx context.Context, room chat.RoomID) (chat.Attention, error)
	// SetAttention stores the attention in a room. It fails with [chat.ErrNotFound] if there is no such room.
	SetAttention(ctx context.Context, room chat.RoomID, a chat.Attention) error
}

// Files reads the files of answers.
type Files interface {
	// File returns the nth file that was stored with the verdict of a run, from 0. It fails with [chat.ErrNotFound] if there is
	// none, or if the answer of the run was deleted.
	File(ctx context.Context, run chat.RunID, n int) (llm.File, error)

	// FilePart returns at most length bytes of the same file, beginning at the byte from, and the size and the type of the whole
	// file. At the end and beyond there is no data. It fails with the errors of File.
	FilePart(ctx context.Context, run chat.RunID, n int, from, length int64) (chat.FilePart, error)
}
