package core

import (
	"context"
	"time"

	"parley/core/answer"
	"parley/core/llm"
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
	UsageStore
	Marks
	Upkeep
}

// Memories knows what was said.
type Memories interface {
	// Recent returns the last limit memories of one kind of room whose turn is at most upTo (0: any), oldest first: in
	// the order of their turns, and within a turn as they were stored. An answer belongs to the turn of its run.
	Recent(ctx context.Context, room RoomID, kind MemoryKind, upTo ResponseID, limit int) ([]Memory, error)
	// Remember stores m, once by its id, as something that came about in the turn of a run, beside its answer. It goes
	// when the last input of that run is forgotten. [ErrNotFound] if there is no such run, or it has no input any more.
	Remember(ctx context.Context, run RunID, m Memory) error
	// Memory returns one memory, or [ErrNotFound].
	Memory(ctx context.Context, id MemoryID) (Memory, error)
	// Revise gives a memory another text and other files; nothing else of it changes. Notes on its turn go. [ErrNotFound] if
	// there is none.
	Revise(ctx context.Context, id MemoryID, text string, files []Attachment) error
	// Forget removes a memory, and it is no input of its run any more. With the last input of a run goes what the run
	// said and what it remembered; the run itself stays, and keeps no text once it has ended. Notes on its turn go. A message that
	// arrived leaves a mark. Of what is not there nothing is removed.
	Forget(ctx context.Context, id MemoryID) error
	// Clear removes all memories of room and all notes but settings, and returns how many memories there were. Its runs stay, without
	// inputs, and open ones end by themselves; turn numbers go on. Open questions are withdrawn. Messages that arrived leave marks. Runs
	// keep no text once they have ended, and their questions go: of Acting and Acted only whether there was any.
	Clear(ctx context.Context, room RoomID) (deleted int, err error)
	// ClearEntirely is Clear for a room that is gone: its settings go too, and the names and details of person, unless that is empty.
	ClearEntirely(ctx context.Context, room RoomID, person EntityID) (deleted int, err error)
}

// Rooms knows the places.
type Rooms interface {
	// Room returns one room, or [ErrNotFound].
	Room(ctx context.Context, id RoomID) (Room, error)
	// SaveRoom stores r, in place of an earlier room with its id, whose Created it keeps, and whose Address where r has none.
	SaveRoom(ctx context.Context, r Room) error
}

// RoomFinder knows rooms by what people call them, and by who writes there.
type RoomFinder interface {
	// DirectRoom returns the [Direct] room that author wrote in last, unless it is gone. [ErrNotFound] if there is none.
	DirectRoom(ctx context.Context, author EntityID) (Room, error)
	// RoomsNamed returns the rooms whose id is name, or whose name is, whatever the case of its Latin letters: of those
	// in which author has written and whose world it has not left, or of all for an empty author. Rooms that are gone are
	// not among them. The oldest come first, and at most ten.
	RoomsNamed(ctx context.Context, name string, author EntityID) ([]Room, error)
}

// Attentions know where the agent listens, and how closely.
type Attentions interface {
	// Attention is how closely the agent listens in room; [Normal] in one that nobody knows.
	Attention(ctx context.Context, room RoomID) (Attention, error)
	// SetAttention changes that. [ErrNotFound] if there is no such room.
	SetAttention(ctx context.Context, room RoomID, a Attention) error
}

// Questions know what people were asked, and what they chose.
type Questions interface {
	// Ask stores q, in place of an earlier question of its run that was not answered.
	Ask(ctx context.Context, q Question) error
	// Question returns one by its id, or [ErrNotFound].
	Question(ctx context.Context, id string) (Question, error)
	// QuestionOf returns the newest that a run has asked, or the one that it carries out, or [ErrNotFound].
	QuestionOf(ctx context.Context, run RunID) (Question, error)
	// OpenQuestions returns those of room to which an answer is awaited, the oldest first.
	OpenQuestions(ctx context.Context, room RoomID) ([]Question, error)
	// Choose answers a question, once: [answer.ErrLost] if it is not open any more, or of another room than in. It stores in as the
	// input of a run with the duty [RunChoiceResult], which goes on in the conversation of the run that asked, and with its messages if
	// that has ended or has a verdict. The author of in, not of the question, is who this run acts for: its address names payer,
	// and keeps the role of the asker only where both are the same person. A message known already answers nothing: Choose
	// then returns what [Marks.AuthorizedByRole] does.
	Choose(ctx context.Context, id string, option int, in Memory, payer EntityID) (Accepted, error)
	// Retire closes a question from which nobody has chosen, once, also one whose time was over: [answer.ErrLost] otherwise. It opens a
	// run as Choose does, without an input, to take the options away.
	Retire(ctx context.Context, id string) (Accepted, error)
	// Withdraw closes the open questions of room, or the one of a run of it.
	Withdraw(ctx context.Context, room RoomID, run RunID) error
}

// Journal knows what is owed: who holds which run, and how far it came.
type Journal interface {
	// Accept stores in once by its id, with its room if that is new or changed, and gives the room's next turn number.
	// Unless j.NoRun is set it joins the message to the room's newest waiting run (never started, and either not
	// ready at the time of the call, with its newest input by the same author, or any under j.Collect), whose Address
	// and readiness become the newer ones, or else opens a run, ready after j.Window. The id of a run is made of its
	// room and turn number. A run has the duty j.Duty, and that of a message that joins it if this is [RunReply]. Nothing
	// joins an [RunOverflow], and what is told to [RunKind.Single] neither joins nor is joined. If j.Limit runs of the
	// room wait, no further one is opened, but for one Excuse if in is to have a Reply and none waits; else in is only
	// remembered.
	// A message known already changes nothing, whatever j says.
	Accept(ctx context.Context, in Message, j JoinRule) (Accepted, error)
	// Run returns one run, open or not, or [ErrNotFound].
	Run(ctx context.Context, id RunID) (Run, error)
	// RunOf returns the run that a message is an input of, or [ErrNotFound].
	RunOf(ctx context.Context, id MemoryID) (Run, error)
	// OpenRuns returns the runs of room that have not finished, in turn order.
	OpenRuns(ctx context.Context, room RoomID) ([]Run, error)
	// OpenRooms returns the rooms that have open runs.
	OpenRooms(ctx context.Context) ([]RoomID, error)
	// Start gives the run to owner, who becomes its only holder, raises its epoch, and closes it for joining: its
	// Inputs are all it will have. [ErrBusy] if another run of the room's was started and has not finished ([RunKind.OutOfBand]
	// ones are in the way of each other, and of nobody else), or if this one is held by another owner who is alive;
	// [answer.ErrLost] if it has finished.
	// If the owner before has beaten, is dead, did not [Journal.Leave], and the run has no verdict, that counts as a death.
	Start(ctx context.Context, id RunID, owner string) (Run, error)
	// Note adds to a run. [answer.ErrLost] unless epoch is the run's and the run is open.
	Note(ctx context.Context, id RunID, epoch Epoch, n Note) error
	// Finish ends a run, stores what was said if out has an id and the run still has an input or carries out a choice, and
	// frees the room.
	// [answer.ErrLost] as with Note.
	Finish(ctx context.Context, id RunID, epoch Epoch, o answer.Outcome, out Memory) error
	// Reopen lets a run be answered again, in the messages that it has shown. What it said is forgotten as a memory and
	// stays as its Text; its holder has lost it, but nobody else may start it while that one is alive, unless the run
	// had finished. [answer.ErrLost] if something must stay as it is: it never started, is not the newest run of its room (but for
	// [RunKind.OutOfBand] ones), was superseded, stopped or withdrawn, or an action of it has begun to write. Deaths and attempts begin
	// at zero.
	Reopen(ctx context.Context, id RunID) error
	// Beat says that owner is alive until then. A process beats before it starts a run.
	Beat(ctx context.Context, owner string, until time.Time) error
	// Leave records that owner ends as planned: none of its runs, now or later, counts a death for it. It changes nothing else;
	// in particular the owner stays alive as long as it beats. It has no effect for an owner that never beat.
	Leave(ctx context.Context, owner string) error
	// SetAside returns the runs that ended with the failure [llm.SetAside], newest first, at most limit.
	SetAside(ctx context.Context, limit int) ([]Run, error)
	// RetryRun lets a run that SetAside returns be answered again, as Reopen does, also if it is not the newest of its room: it
	// then claims the room as if it were. [ErrNotFound] if there is no such run, [ErrBusy] if another run of its room is under
	// way, [answer.ErrLost] if an action of it has begun to write or all that it answers was taken back.
	RetryRun(ctx context.Context, id RunID) error
}

// Files are what answers show beside their text.
type Files interface {
	// File returns the nth file that was noted with the verdict of a run, from 0. [ErrNotFound] if there is none, or if
	// nothing that the run said is remembered any more.
	File(ctx context.Context, run RunID, n int) (llm.File, error)

	// FilePart returns at most length bytes of the same file, from the given byte on, with what the whole is. There is no data
	// at and past the end. Errors are those of File.
	FilePart(ctx context.Context, run RunID, n int, from, length int64) (FilePart, error)
}

// FilePart is a piece of a stored file.
type FilePart struct {
	Name string
	Type string // MIME
	Size int64  // bytes of the whole file
	Data []byte
}

// JoinRule says which messages become one run.
type JoinRule struct {
	NoRun    bool          // the message is only remembered
	JoinOnly bool          // it joins a run that waits for it, or is only remembered
	Window   time.Duration // how long its run waits for more
	Most     time.Duration // how long a run waits at most, since it was opened; 0 is for ever
	Collect  bool
	Kind     RunKind
	Ask      *Question // what the run that is opened asks, but for its Run and Room; nil if nothing
	Limit    int       // 0 is none
}

// RunKind is what a run is for.
type RunKind string

// The duties.
const (
	RunReply        RunKind = ""       // to answer
	RunDecide       RunKind = "decide" // to find out whether to answer, and if so, to answer
	RunOverflow     RunKind = "excuse" // to say that there is more to answer than is answered
	RunNotify       RunKind = "tell"   // to say what its input says, in the agent's name
	RunRetry        RunKind = "again"  // to answer once more what was answered last
	RunCommand      RunKind = "obey"   // to do what its input says, which is a command
	RunChoiceResult RunKind = "carry"  // to carry out what somebody chose
)

// Single says that such a run has one input, and does not become one with its neighbours.
func (d RunKind) Single() bool { return d == RunNotify || d == RunRetry || d.OutOfBand() }

// OutOfBand says that such a run does not wait for the others of its room, nor they for it: it asks no model, and is short.
func (d RunKind) OutOfBand() bool { return d == RunCommand || d == RunChoiceResult }

// claims says that such a run takes the room: earlier runs give way to it, as it does to later ones.
func (d RunKind) claims() bool { return d != RunNotify && !d.OutOfBand() }

// Epoch counts how often a run was started. A write with an old one fails: that is the fence against holders who
// only think that they are.
type Epoch int

// Run is one attempt to answer the messages of one turn.
type Run struct {
	ID       RunID
	Response ResponseID
	Room     RoomID
	RoomKind RoomKind // of the room, when the run was opened
	Address  Address  // of its newest input
	Inputs   []MemoryID
	Opened   time.Time // when its first input was accepted
	Ready    time.Time // not to be started before
	Kind     RunKind
	Epoch    Epoch
	Held     bool           // it was started and its holder is alive
	Outcome  answer.Outcome // zero while it is open
	Deaths   int            // of processes that held it, without a verdict and unplanned; includes that of the last holder
	Attempts int            // that were noted
	Retried  ResponseID     // the newest turn of its room when it was retried after it had been set aside; 0 if it never was

	// What was noted:
	Shown   []Shown // by part
	Text    string  // so far
	Acting  string  // the call of a writing action that has begun
	Acted   string  // the last such call that was done, as its result
	Verdict *Verdict
}

// Retryable says whether the run may be answered once more, as far as it alone can tell.
func (r Run) Retryable() bool {
	ends := []answer.Outcome{r.Outcome}
	if r.Verdict != nil {
		ends = append(ends, r.Verdict.Outcome)
	}
	for _, o := range ends {
		if o.Withdrawn || o.Status == answer.Superseded || o.Status == answer.Stopped {
			return false
		}
	}
	return r.Epoch > 0 && r.Acting == "" && r.Acted == ""
}

// turn is what the run claims its room with.
func (r Run) turn() ResponseID { return max(r.Response, r.Retried) }

// Note is what a run's holder must not forget. A zero field says nothing new.
type Note struct {
	Shown   []Shown // each replaces the one of its part; Gone removes it
	Text    string
	Acting  string
	Acted   string
	Verdict *Verdict
	Attempt bool // one more attempt is about to ask a model
	// Files go with a verdict, in place of those of an earlier one.
	Files []llm.File
}

// Verdict is how a run ends and its last word, decided before anybody sees it: whoever adopts the run then says the
// same.
type Verdict struct {
	Outcome answer.Outcome
	Text    string
	History []string
	Calls   []answer.PastCall

	Thought   string // as in [Memory], like those that follow
	Actions   []string
	Providers []string

	Files int // how many files stand below the text, of which some may have been too large to remember
}

// FirstFile is the number of the first part that is a file, see [Shown]; parts of text count from 0.
const FirstFile = 1 << 16

// FirstUpdate is the number of the first part that says what is important before the answer has ended, where messages can't be
// changed later, see [Shown].
const FirstUpdate = 1 << 17

// Shown is one message of an answer as the journal knows it. Without an ID it is an intent: a request to create the message
// is about to be sent, or its outcome is unknown.
type Shown struct {
	Part int    `json:"part"`
	ID   string `json:"id,omitempty"`
	Gone bool   `json:"gone,omitempty"` // taken back
	// Sent is a hash of what the request of an intent carries. Intents that were stored before there were hashes have
	// none: with a verdict they count as the last word.
	Sent string    `json:"sent,omitempty"`
	Last bool      `json:"last,omitempty"` // that is part of the last word
	At   time.Time `json:"at,omitzero"`    // when the intent was first noted
	// Tries counts the requests that carry what Sent names and cannot be told apart by the platform, this one included. It
	// stays with the ID if there was more than one.
	Tries int `json:"tries,omitempty"`
}
