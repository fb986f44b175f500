package storage

import (
	"context"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/quota"
)

// An Inbox accepts what arrives, once. Events that were accepted are told from new ones for longer than what they said is
// remembered: a redelivery repeats nothing. A memory of a message is its own mark; Forget and Clear leave one in its place.
type Inbox interface {
	// Accept stores a message, once by its id, with its room if that is new or changed, and assigns the room's next turn
	// number. The message then joins a run, opens one, or is only remembered:
	//
	//   - With j.NoRun it is only remembered.
	//   - It joins the newest waiting run of the room, one that was never started, whose kind is [chat.RunReply] or
	//     [chat.RunDecide]: with j.Collect any of them, otherwise one that is not ready yet and whose newest input has the
	//     same author. It then shares the turn number of the run. The address of the run becomes that of the message. The
	//     run becomes ready after j.Window, but at most j.Most after it was opened. Its kind becomes [chat.RunReply] if
	//     j.Kind is that. Messages for kinds that are [chat.RunKind.Single] join nothing.
	//   - With j.JoinOnly it is otherwise only remembered.
	//   - Otherwise it opens a run of the kind j.Kind, ready after j.Window. The id of the run is made of its room and turn
	//     number. If j.Limit runs of the room are waiting, and none of them is a [chat.RunOverflow], a message for a
	//     [chat.RunReply] opens a [chat.RunOverflow] instead; any other message is only remembered.
	//
	// If j.Ask is set, the run that it joins or opens asks that question. A message that was accepted before changes
	// nothing, whatever j says; the result is that of Known.
	Accept(ctx context.Context, in chat.Message, j chat.JoinRule) (chat.Accepted, error)
	// Known returns what in was accepted as when it first arrived, with Duplicate set. Chosen is set if it was taken as a
	// choice. If it was forgotten since, it has a Run only while that is open, and is not Altered. [chat.ErrNotFound] if it never
	// arrived, or its mark has expired.
	Known(ctx context.Context, in chat.Memory) (chat.Accepted, error)
	// Mark notes, once, that the event id of room was accepted, which leaves no memory, and returns the last turn of the room
	// at that time as its Response. Of an event known already it returns what Known does.
	Mark(ctx context.Context, room chat.RoomID, id chat.MemoryID) (chat.Accepted, error)
}

// Runs reads which runs there are.
type Runs interface {
	// Run returns one run, open or not, or [chat.ErrNotFound].
	Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	// RunOf returns the run that a message is an input of, or [chat.ErrNotFound].
	RunOf(ctx context.Context, id chat.MemoryID) (chat.Run, error)
	// RunShowing returns the run whose answer is shown as the platform's message, or [chat.ErrNotFound]. It looks at the answers of the
	// last turns of room, and if topics, at as many of each room whose id begins with that of room and a slash.
	RunShowing(ctx context.Context, room chat.RoomID, topics bool, message string, turns int) (chat.Run, error)
	// ShownIn returns the messages that the runs of room, and of rooms whose id begins with that of room and a slash, show or may
	// show, whatever became of these runs: of the newest runs only, if there are more than most.
	ShownIn(ctx context.Context, room chat.RoomID, most int) (map[chat.RunID][]chat.Shown, error)
	// OpenRuns returns the runs of room that have not finished, in turn order.
	OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error)
	// OpenRooms returns the rooms that have open runs, other than parked ones that wait.
	OpenRooms(ctx context.Context) ([]chat.RoomID, error)
}

// A Journal records who holds which run, how far it came, and how it ended.
type Journal interface {
	// Start gives the run to owner, who becomes its only holder, raises its epoch, and closes it for joining: its
	// Inputs are all it will have. [chat.ErrBusy] if another run of the room's was started and has not finished ([chat.RunKind]
	// ones only exclude each other), or if this one is held by another owner who is alive;
	// [answer.ErrLost] if it has finished.
	// If the owner before has beaten, is dead, did not [Leases.Leave], and the run has no verdict, that counts as a death. The run is blamed for
	// it if it had [chat.SuspectDeaths] before, if its last note had a Risk, or if that owner had no other open run.
	// The new owner has not died, even if its last heartbeat is over.
	// A parked run can't be started before it is ready or was woken ([chat.ErrBusy]). It then claims the room with the newest turn that
	// was started there, and keeps its Ending and its continuation.
	Start(ctx context.Context, id chat.RunID, owner string) (chat.Run, error)
	// Attempt counts an attempt of a run, which is about to cost something, and charges its message as [quota.UsageStore.Count] does: both,
	// or neither if over names a limit. Without charges only the attempt is counted. [answer.ErrLost] as with Note.
	Attempt(ctx context.Context, id chat.RunID, epoch chat.Epoch, day string, message ...quota.Charge) (over string, err error)
	// Note adds to a run. [answer.ErrLost] unless epoch is the run's and the run is open.
	Note(ctx context.Context, id chat.RunID, epoch chat.Epoch, n chat.Note) error
	// Finish ends a run, stores what was said if out has an id and the run still has an input or carries out a choice, and
	// frees the room.
	// [answer.ErrLost] as with Note.
	Finish(ctx context.Context, id chat.RunID, epoch chat.Epoch, o answer.Outcome, out chat.Memory) error
}

// Retries lets runs be answered again.
type Retries interface {
	// Reopen lets a run be answered again, in the messages that it has shown. What it said is forgotten as a memory and
	// stays as its Text; its holder has lost it, but no other owner can start it while that one is alive, unless the run
	// had finished. [answer.ErrLost] if something must stay as it is: it never started, is not the newest run of its room (but for
	// [chat.RunKind] ones), was superseded, stopped or withdrawn, or an action of it has begun to write. Deaths and attempts begin
	// at zero.
	Reopen(ctx context.Context, id chat.RunID) error
	// SetAside returns the runs that ended with the failure [llm.SetAside], newest first, at most limit.
	SetAside(ctx context.Context, limit int) ([]chat.Run, error)
	// RetryRun lets a run that SetAside returns be answered again, as Reopen does, also if it is not the newest of its room: it
	// then claims the room as if it were. [chat.ErrNotFound] if there is no such run, [chat.ErrBusy] if another run of its room is under
	// way, [answer.ErrLost] if an action of it has begun to write or all that it answers was taken back.
	RetryRun(ctx context.Context, id chat.RunID) error
}

// Parking lets runs wait for a person without holding their room.
type Parking interface {
	// Park lets go of a run: it stays open, but others of its room can be started, and it can't before w.Until, unless it is woken.
	// The continuation takes the place of an earlier one, and goes when the run ends or is reopened.
	// The epoch rises, and deaths and attempts begin at zero. [answer.ErrLost] as with [Journal.Note].
	Park(ctx context.Context, id chat.RunID, epoch chat.Epoch, w chat.Wait) error
	// Wake lets a parked run be started at once: to go on, or to end with a status. The first such status stays.
	// [answer.ErrLost] if the run is not parked.
	Wake(ctx context.Context, id chat.RunID, end answer.Status) error
	// Continuation returns that of a run, or [chat.ErrNotFound].
	Continuation(ctx context.Context, id chat.RunID) ([]byte, error)
}

// Leases records which processes are alive.
type Leases interface {
	// Beat says that owner is alive until then. A process beats before it starts a run.
	Beat(ctx context.Context, owner string, until time.Time) error
	// Leave records that owner ends as planned: none of its runs, now or later, counts a death for it. It changes nothing else;
	// in particular the owner stays alive as long as it beats. It has no effect for an owner that never beat.
	Leave(ctx context.Context, owner string) error
}

// Fleet tells which processes use the store.
type Fleet interface {
	// Replicas returns the processes that are alive, and those that are not but have runs that have not ended; the leases that have not
	// ended; and how many runs wait. Its parts can be from different moments.
	Replicas(ctx context.Context) (chat.Fleet, error)
}

// Upkeep removes what has outlived its use.
type Upkeep interface {
	// Expire removes what is older than before says: marks by when they were set; uploads that no message names, by when
	// they began; runs that have ended, by when they were opened;
	// questions of such runs; approvals by when they expired, but for [chat.Always]; rooms of no world in which nothing is remembered, noted, set or to be reminded of and no person is reached, by their
	// Created if they have one; and entities that nothing is remembered of, who are in no world and no people of the owner's. It does a
	// bounded part of the work, and reports whether there is more to do: then it goes on with the next call. With the last part,
	// what was forgotten or removed before the call is gone from where the store keeps its bytes.
	Expire(ctx context.Context, before chat.Expiry) (more bool, err error)
}

// Approvals record which calls of actions were approved, and who approved them.
type Approvals interface {
	// RequestApproval stores a, once by its id, and returns what is stored under it.
	RequestApproval(ctx context.Context, a chat.Approval) (chat.Approval, error)
	// Approval returns one by its id, or [chat.ErrNotFound].
	Approval(ctx context.Context, id string) (chat.Approval, error)
	// DecideApproval changes the decision from one to another: [answer.ErrLost] if it is not the first, or there is no such approval.
	DecideApproval(ctx context.Context, id string, from, to chat.Decision, by chat.EntityID, at time.Time) error
	// StandingApproval returns the newest of room whose kind is kind and whose decision is [chat.Always], or [chat.ErrNotFound].
	StandingApproval(ctx context.Context, room chat.RoomID, kind string) (chat.Approval, error)
	// OpenApprovals returns those of room that are [chat.Pending] or [chat.Replaced], the newest first, at most limit. They may have expired.
	OpenApprovals(ctx context.Context, room chat.RoomID, limit int) ([]chat.Approval, error)
	// RecentApprovals returns the newest of room, the newest first.
	RecentApprovals(ctx context.Context, room chat.RoomID, limit int) ([]chat.Approval, error)
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
