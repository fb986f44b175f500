package core

import (
	"context"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
)

// Store is all that is remembered and owed. Its methods are safe for concurrent use, each is one transaction, and
// what one has returned survives a crash of the process.
type Store interface {
	Memories
	Rooms
	RoomFinder
	Attentions
	Directory
	Notebook
	Journal
	Files
	Questions
	People
	quota.UsageStore
	Marks
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
	// inputs, and open ones end by themselves; turn numbers go on. Open questions are withdrawn. Messages that arrived leave marks. Runs
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
	// Choose answers a question, once: [answer.ErrLost] if it is not open any more, or of another room than in. It stores in as the
	// input of a run with the duty [chat.RunChoiceResult], which goes on in the conversation of the run that asked, and with its messages if
	// that has ended or has a verdict. The author of in, not of the question, is who this run acts for: its address names payer,
	// and keeps the role of the asker only where both are the same person. A message known already answers nothing: Choose
	// then returns what [Marks.AuthorizedByRole] does.
	Choose(ctx context.Context, id string, option int, in chat.Memory, payer chat.EntityID) (chat.Accepted, error)
	// Retire closes an unanswered question, once, also one whose time was over: [answer.ErrLost] otherwise. It opens a
	// run as Choose does, without an input, to take the options away.
	Retire(ctx context.Context, id string) (chat.Accepted, error)
	// Withdraw closes the open questions of room, or the one of a run of it.
	Withdraw(ctx context.Context, room chat.RoomID, run chat.RunID) error
}

// Journal knows what is owed: who holds which run, and how far it came.
type Journal interface {
	// Accept stores in once by its id, with its room if that is new or changed, and gives the room's next turn number.
	// Unless j.NoRun is set it joins the message to the room's newest waiting run (never started, and either not
	// ready at the time of the call, with its newest input by the same author, or any under j.Collect), whose Address
	// and readiness become the newer ones, or else opens a run, ready after j.Window. The id of a run is made of its
	// room and turn number. A run has the duty j.Duty, and that of a message that joins it if this is [chat.RunReply]. Nothing
	// joins an [chat.RunOverflow], and what is told to [chat.RunKind] neither joins nor is joined. If j.Limit runs of the
	// room wait, no further one is opened, but for one Excuse if in is to have a Reply and none waits; else in is only
	// remembered.
	// A message known already changes nothing, whatever j says.
	Accept(ctx context.Context, in chat.Message, j chat.JoinRule) (chat.Accepted, error)
	// Run returns one run, open or not, or [chat.ErrNotFound].
	Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	// RunOf returns the run that a message is an input of, or [chat.ErrNotFound].
	RunOf(ctx context.Context, id chat.MemoryID) (chat.Run, error)
	// OpenRuns returns the runs of room that have not finished, in turn order.
	OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error)
	// OpenRooms returns the rooms that have open runs.
	OpenRooms(ctx context.Context) ([]chat.RoomID, error)
	// Start gives the run to owner, who becomes its only holder, raises its epoch, and closes it for joining: its
	// Inputs are all it will have. [chat.ErrBusy] if another run of the room's was started and has not finished ([chat.RunKind]
	// ones only exclude each other), or if this one is held by another owner who is alive;
	// [answer.ErrLost] if it has finished.
	// If the owner before has beaten, is dead, did not [Journal.Leave], and the run has no verdict, that counts as a death.
	Start(ctx context.Context, id chat.RunID, owner string) (chat.Run, error)
	// Note adds to a run. [answer.ErrLost] unless epoch is the run's and the run is open.
	Note(ctx context.Context, id chat.RunID, epoch chat.Epoch, n chat.Note) error
	// Finish ends a run, stores what was said if out has an id and the run still has an input or carries out a choice, and
	// frees the room.
	// [answer.ErrLost] as with Note.
	Finish(ctx context.Context, id chat.RunID, epoch chat.Epoch, o answer.Outcome, out chat.Memory) error
	// Reopen lets a run be answered again, in the messages that it has shown. What it said is forgotten as a memory and
	// stays as its Text; its holder has lost it, but no other owner can start it while that one is alive, unless the run
	// had finished. [answer.ErrLost] if something must stay as it is: it never started, is not the newest run of its room (but for
	// [chat.RunKind] ones), was superseded, stopped or withdrawn, or an action of it has begun to write. Deaths and attempts begin
	// at zero.
	Reopen(ctx context.Context, id chat.RunID) error
	// Beat says that owner is alive until then. A process beats before it starts a run.
	Beat(ctx context.Context, owner string, until time.Time) error
	// Leave records that owner ends as planned: none of its runs, now or later, counts a death for it. It changes nothing else;
	// in particular the owner stays alive as long as it beats. It has no effect for an owner that never beat.
	Leave(ctx context.Context, owner string) error
	// SetAside returns the runs that ended with the failure [llm.SetAside], newest first, at most limit.
	SetAside(ctx context.Context, limit int) ([]chat.Run, error)
	// RetryRun lets a run that SetAside returns be answered again, as Reopen does, also if it is not the newest of its room: it
	// then claims the room as if it were. [chat.ErrNotFound] if there is no such run, [chat.ErrBusy] if another run of its room is under
	// way, [answer.ErrLost] if an action of it has begun to write or all that it answers was taken back.
	RetryRun(ctx context.Context, id chat.RunID) error
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
