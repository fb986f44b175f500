package storage

import (
	"context"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/quota"
)

// An Inbox accepts events, each of them once: a redelivery repeats nothing. A message is recognized by its memory. Forget and
// Clear leave a mark in place of the memory, because events are recognized for longer than their content is stored.
type Inbox interface {
	// Accept stores a message, once by its id, with its room if that is new or changed, and assigns the room's next turn
	// number. The first row that applies decides:
	//
	//	state                                               result
	//	the message was accepted before                     no change, regardless of j; the result of Known
	//	j.NoRun                                             only remembered
	//	a run can be joined (see below)                     an input of that run, with its turn number
	//	j.JoinOnly                                          only remembered
	//	j.Limit runs of the room are waiting, and
	//	  j.Kind is [chat.RunReply] and none of them is
	//	  a [chat.RunOverflow]                              opens a [chat.RunOverflow]
	//	  otherwise                                         only remembered
	//	otherwise                                           opens a run of the kind j.Kind, ready after j.Window
	//
	// The run to join is the newest one of the room that was never started, has no Ending, and whose kind is [chat.RunReply] or [chat.RunDecide];
	// without j.Collect, the newest of these that is not ready yet and whose newest input has the same author. Messages for kinds
	// that are [chat.RunKind.Single] join nothing. Joining changes the run:
	//
	//	field      new value
	//	Address    that of the message
	//	Ready      in j.Window, but at most j.Most after the run was opened
	//	Kind       [chat.RunReply] if j.Kind is that
	//
	// With j.Again, a message that was only remembered before is accepted once more, as a new one. The id of a new run is made of
	// its room and turn number. If j.Ask is set, the run that the message joins or opens asks that question.
	Accept(ctx context.Context, in chat.Message, j chat.JoinRule) (chat.Accepted, error)
	// Known returns the result of the first delivery of a message, with Duplicate set. Chosen is set if the message was accepted
	// as a choice. For a message that was deleted since, Run is set only while the run is open, and Altered is not. It fails with
	// [chat.ErrNotFound] if the message never arrived, or if its mark has expired.
	Known(ctx context.Context, in chat.Memory) (chat.Accepted, error)
	// Mark records, once, that the event id of a room was accepted, for an event without a memory. It returns the room's last turn
	// at that time as Response. For an event that was accepted before it returns the result of Known.
	Mark(ctx context.Context, room chat.RoomID, id chat.MemoryID) (chat.Accepted, error)
}

// Runs reads runs.
type Runs interface {
	// Run returns a run, open or not, or [chat.ErrNotFound].
	Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	// RunOf returns the run that a message is an input of, or [chat.ErrNotFound].
	RunOf(ctx context.Context, id chat.MemoryID) (chat.Run, error)
	// RunShowing returns the run whose answer appears in a message of the platform, or [chat.ErrNotFound]. It searches the answers
	// of the last turns of room and, if topics is set, of the last turns of each room whose id begins with that of room and a slash.
	RunShowing(ctx context.Context, room chat.RoomID, topics bool, message string, turns int) (chat.Run, error)
	// ShownIn returns the messages that runs have posted, or may have posted, in room and in rooms whose id begins with that of room
	// and a slash, in any state of the runs. If there are more than most runs, only the newest are searched.
	ShownIn(ctx context.Context, room chat.RoomID, most int) (map[chat.RunID][]chat.Shown, error)
	// OpenRuns returns the runs of room that have not ended, in turn order.
	OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error)
	// OpenRooms returns the rooms that have open runs, except for rooms whose only open runs are parked and not ready.
	OpenRooms(ctx context.Context) ([]chat.RoomID, error)
}

// A Journal records the holder, the progress and the result of each run.
type Journal interface {
	// Start makes owner the only holder of a run, raises its epoch, and closes it: no more messages can join it.
	//
	//	state of the run                                     result
	//	ended                                                [answer.ErrLost]
	//	held by another owner with a valid lease             [chat.ErrBusy]
	//	parked, neither ready nor woken                      [chat.ErrBusy]
	//	another run of the room is started and not ended     [chat.ErrBusy]; see below
	//	otherwise                                            started
	//
	// Parked and reopened runs block no other run. Runs that are [chat.RunKind.OutOfBand] and other runs block only runs of their own group.
	// A parked run claims the room with the newest turn that was started there meanwhile, and keeps its Ending and its continuation.
	//
	// Start counts a crash (Deaths) if the previous owner's lease expired without [Leases.Leave] and the run has no verdict. The run
	// is blamed for it if it had [chat.SuspectDeaths] before, if its last note had a Risk, or if that owner had no other open
	// run. The new owner counts as alive, even if its own lease has expired.
	Start(ctx context.Context, id chat.RunID, owner string) (chat.Run, error)
	// Attempt counts an attempt of a run before it uses a paid service, and charges its message as [quota.UsageStore.Count] does:
	// both, or neither if over names a limit. Without charges it only counts the attempt. It fails with the errors of Note.
	Attempt(ctx context.Context, id chat.RunID, epoch chat.Epoch, day string, message ...quota.Charge) (over string, err error)
	// Join moves the messages of the waiting run from into the turn of run id, which its holder is answering, and returns them in the
	// order of their arrival. They are inputs of run id from then on; from stays open without inputs, to end as [answer.Superseded] when it
	// is started, and no message joins it any more. The message is charged as by Attempt: if over names a limit, nothing changes. It
	// fails with [answer.ErrLost] if from is not ready, was started, has an Ending or is over, or run id has ended or has another epoch.
	Join(ctx context.Context, id chat.RunID, epoch chat.Epoch, from chat.RunID, day string, message ...quota.Charge) (joined []chat.MemoryID, over string, err error)
	// Note adds to the journal of a run. It fails with [answer.ErrLost] if the run has ended or has another epoch. In an open run, an id in
	// n.Shown is stored even then if the run has an intent for its part, so that the next holder edits that message and posts no second one.
	Note(ctx context.Context, id chat.RunID, epoch chat.Epoch, n chat.Note) error
	// Finish ends a run and releases its room. It stores out, the answer, if out has an id and the run still has an input or is the
	// result of a choice. It fails with the errors of Note.
	Finish(ctx context.Context, id chat.RunID, epoch chat.Epoch, o answer.Outcome, out chat.Memory) error
}

// Retries reopens runs.
type Retries interface {
	// Reopen makes a run one that was never answered; the next answer is edited into its posted messages. Its answer is deleted as
	// a memory and stays as its Text. Deaths and attempts begin at zero. The previous holder loses the run; until its lease expires
	// no other owner can start the run, unless the run had ended.
	//
	// It fails with [answer.ErrLost] if the run never started, was superseded, stopped or withdrawn, is not the newest run of
	// its room (out-of-band runs, [chat.RunKind.OutOfBand], don't count, and can be older), or has an action that has begun to write.
	Reopen(ctx context.Context, id chat.RunID) error
	// SetAside returns at most limit runs that ended with the failure [llm.SetAside], newest first.
	SetAside(ctx context.Context, limit int) ([]chat.Run, error)
	// RetryRun reopens a run that SetAside returns, even if it is not the newest run of its room: it then claims the room as if it
	// were.
	//
	//	state                                                error
	//	the run does not exist or is not set aside           [chat.ErrNotFound]
	//	another run of the room is in progress               [chat.ErrBusy]
	//	an action of the run has begun to write              [answer.ErrLost]
	//	all inputs of the run were deleted                   [answer.ErrLost]
	RetryRun(ctx context.Context, id chat.RunID) error
}

// Parking stores runs that wait for a person without blocking their room.
type Parking interface {
	// Park releases a run and its room. The run stays open and can be started again at w.Until, when it is woken, or at once if it has an
	// Ending. Its epoch rises, and deaths and attempts begin at zero. The continuation replaces an earlier one, and is deleted when the run ends or
	// is reopened. It fails with the errors of [Journal.Note].
	Park(ctx context.Context, id chat.RunID, epoch chat.Epoch, w chat.Wait) error
	// Wake makes a parked run ready at once: to continue, or to end with a status. The first such status is kept as its Ending. A run that
	// was started can get the Ending [answer.Stopped], too. It fails with [answer.ErrLost] in other states.
	Wake(ctx context.Context, id chat.RunID, end answer.Status) error
	// Continuation returns the continuation of a run, or [chat.ErrNotFound].
	Continuation(ctx context.Context, id chat.RunID) ([]byte, error)
}

// Leases records the leases of processes.
type Leases interface {
	// RenewLease sets the end of owner's lease. A process calls it before it starts a run.
	RenewLease(ctx context.Context, owner string, until time.Time) error
	// Leave records a planned exit of owner: Start counts no crash for any of its runs. The lease itself remains valid until it
	// expires. Leave does nothing for an owner that never had a lease.
	Leave(ctx context.Context, owner string) error
}

// Fleet lists the processes that use the store.
type Fleet interface {
	// Replicas returns the processes that are alive or have open runs, the valid leases, and the number of waiting runs. Its parts
	// can be from different moments.
	Replicas(ctx context.Context) (chat.Fleet, error)
}

// Upkeep deletes expired data.
type Upkeep interface {
	// Expire deletes a bounded part of the expired data and reports whether there is more; the next call continues there. After the
	// last part, data that was deleted before the call is also erased from the files of the store.
	//
	//	data                                 expired if
	//	messages                             sent before before.Messages, and no run of their turn is open. They are deleted as by
	//	                                     [Memories.Forget], but facts and settings from them stay. An earlier message that was
	//	                                     stored after later ones can stay until those expire
	//	contents of files                    of messages that were sent, or uploads that were begun, before before.Files
	//	marks                                set before before.Marks
	//	uploads without a message            begun before before.Uploads
	//	ended runs                           opened before before.Rest
	//	questions of deleted runs            expired before before.Rest
	//	approvals                            expired before before.Rest; [chat.Always] stays
	//	rooms                                created before before.Rest, of no world, and without memories, runs, notes,
	//	                                     settings, reminders, uploads, and approved or requesting users whose address it
	//	                                     is; a room without a Created stays
	//	entities                             last seen before before.Rest, author of no memory, member of no world, and not
	//	                                     approved
	//	vectors of pieces                    last used before before.Rest
	//	notes                                past their own Expires
	Expire(ctx context.Context, before chat.Expiry) (more bool, err error)
}

// Approvals stores approvals of calls of actions, with the user who decided.
type Approvals interface {
	// RequestApproval stores a, once by its id, and returns the stored approval with that id.
	RequestApproval(ctx context.Context, a chat.Approval) (chat.Approval, error)
	// Approval returns an approval by its id, or [chat.ErrNotFound].
	Approval(ctx context.Context, id string) (chat.Approval, error)
	// DecideApproval changes the decision from one to another. It fails with [answer.ErrLost] if the stored decision is not from, or
	// if there is no such approval.
	DecideApproval(ctx context.Context, id string, from, to chat.Decision, by chat.EntityID, at time.Time) error
	// StandingApproval returns the newest approval of room with this kind and the decision [chat.Always], or [chat.ErrNotFound].
	StandingApproval(ctx context.Context, room chat.RoomID, kind string) (chat.Approval, error)
	// OpenApprovals returns at most limit approvals of room that are [chat.Pending] or [chat.Replaced], newest first. They may have
	// expired.
	OpenApprovals(ctx context.Context, room chat.RoomID, limit int) ([]chat.Approval, error)
	// RecentApprovals returns the newest limit approvals of room, newest first.
	RecentApprovals(ctx context.Context, room chat.RoomID, limit int) ([]chat.Approval, error)
}

// Questions stores questions to users, and the selected options.
type Questions interface {
	// Ask stores q, in place of an earlier unanswered question of its run.
	Ask(ctx context.Context, q chat.Question) error
	// Question returns a question by its id, or [chat.ErrNotFound].
	Question(ctx context.Context, id string) (chat.Question, error)
	// QuestionOf returns the newest question of a run, or the question whose result the run is, or [chat.ErrNotFound].
	QuestionOf(ctx context.Context, run chat.RunID) (chat.Question, error)
	// OpenQuestions returns the open questions of room, oldest first.
	OpenQuestions(ctx context.Context, room chat.RoomID) ([]chat.Question, error)
	// Choose answers a question, once. It stores in as the input of a new run of the kind [chat.RunChoiceResult]. That run continues
	// the conversation of the run that asked; if that has ended or has a verdict, it also continues its messages. The option after the
	// last is the text of in, where [chat.Question.Other] permits that: it becomes the last one. The
	// files of in are added to those of the question.
	//
	//	state                                                result
	//	in was accepted before                               no change; the result of [Inbox.Known]
	//	the question is not open, or of another room         [answer.ErrLost]
	//	the run that asked has expired                       [answer.ErrLost]
	//	otherwise                                            the accepted choice
	//
	// The new run acts for the author of in, not for the addressee of the question: its address names payer, and keeps the role of
	// the asker only if both are the same person.
	Choose(ctx context.Context, id string, option int, in chat.Memory, payer chat.EntityID) (chat.Accepted, error)
	// Retire closes an unanswered question, once, including one that has expired. It opens a run as Choose does, without an
	// input, to remove the options. It fails with [answer.ErrLost] if the question was answered or closed, or if the run that asked
	// has expired.
	Retire(ctx context.Context, id string) (chat.Accepted, error)
	// Withdraw closes the open questions of room, or only that of one of its runs if run is not empty.
	Withdraw(ctx context.Context, room chat.RoomID, run chat.RunID) error
}
