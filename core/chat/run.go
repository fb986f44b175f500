package chat

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/llm"
)

// JoinRule decides how messages are combined into runs.
type JoinRule struct {
	NoRun    bool          // only remember the message
	JoinOnly bool          // join a waiting run, or only remember the message
	Window   time.Duration // how long a run waits for more messages
	Most     time.Duration // maximum time from opening to start; 0 for no limit
	Collect  bool
	Kind     RunKind
	Ask      *Question // the question that a new run asks, without its Run and Room; can be nil
	Limit    int       // 0 for no limit
	// Again accepts a message a second time, with its new content and after all other messages, if it was only remembered before.
	Again bool
}

// RunKind is the purpose of a run.
type RunKind string

// Single reports whether a run of this kind has exactly one input and is not merged with others.
func (d RunKind) Single() bool {
	return d == RunNotify || d == RunRetry || d.Apart() || d.OutOfBand()
}

// Apart reports whether runs of this kind neither supersede those of messages nor are superseded by them.
func (d RunKind) Apart() bool { return d == RunTask || d == RunRespond }

// OutOfBand reports whether a run of this kind bypasses the room's queue: it is short and doesn't call a model.
func (d RunKind) OutOfBand() bool { return d == RunCommand || d == RunChoiceResult }

// Claims reports whether a run of this kind claims the room: it supersedes earlier runs and is superseded by later
// ones. Those that are [RunKind.Apart] claim a place of their own: see [Run.Claim].
func (d RunKind) Claims() bool { return d != RunNotify && !d.OutOfBand() }

// The run kinds. Their values are stored.
const (
	RunReply        RunKind = ""       // to answer
	RunDecide       RunKind = "decide" // to decide whether to answer, and to answer if so
	RunOverflow     RunKind = "excuse" // to report that some messages remain unanswered
	RunNotify       RunKind = "tell"   // to send its input as a message of the agent
	RunRetry        RunKind = "again"  // to answer the last question again
	RunCommand      RunKind = "obey"   // to execute its input, a command
	RunChoiceResult RunKind = "carry"  // to carry out a user's choice
	RunTask         RunKind = "task"   // to answer its input, a [Task]
	// RunRespond answers a message with an [Address.Response]. It is not merged with other messages, because the platform
	// shows the user that this one has no answer yet.
	RunRespond RunKind = "respond"
)

// Epoch counts the starts of a run. It is a fencing token: a write with an old epoch fails, so a holder that has lost
// its lease can't overwrite its successor.
type Epoch int

// Run is one attempt to answer the messages of one turn.
type Run struct {
	ID       RunID
	Response ResponseID
	Room     RoomID
	RoomKind RoomKind // the room's kind when the run was opened
	Address  Address  // that of its newest input
	Author   EntityID // of its newest input
	Inputs   []MemoryID
	Opened   time.Time // when its first input was accepted
	Ready    time.Time // the earliest start
	Kind     RunKind
	Epoch    Epoch
	Held     bool           // it has a live holder
	Outcome  answer.Outcome // zero while the run is open
	Deaths   int            // crashed holders without a verdict, including the last one
	Blamed   int            // those of them that the run probably caused, see [storage.Journal.Start]; the last one counts from the next start on
	Attempts int            // recorded attempts
	Retried  ResponseID     // the turn that claims its room after a retry or a wait; 0 if there was neither
	// Parked reports whether it waits for a person: no process holds it, and it does not hold its room. It starts again at Ready.
	Parked    bool
	Lasting   bool          // it is, or was last, parked with [Wait.Lasting]
	Ending    answer.Status // the status that it has to end as, or empty; see [storage.Parking]
	Continues bool          // it was parked, and has a [storage.Parking.Continuation]

	// The journal:
	Shown   []Shown // by part
	Text    string  // the text so far
	Acting  string  // the writing call in progress
	Acted   string  // the result of the last completed writing call
	Verdict *Verdict
}

// Retryable reports whether the run's own state allows a retry.
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

// Resumes reports whether the run was parked, and its holder is the first one since: the answer continues from its
// visible part.
func (r Run) Resumes() bool { return r.Continues && r.Attempts == 0 }

// Turn returns the number of the turn that claims the room for the run.
func (r Run) Turn() ResponseID { return max(r.Response, r.Retried) }

// Claim returns the name of the place that the run claims. A run that is [RunKind.Apart], and a run whose call waits or has
// waited for an approval, claim a place other than the room, which turns of users claim: neither supersedes the other.
func (r Run) Claim() RoomID {
	if r.Lasting {
		return r.Room + "/waits"
	}
	if r.Kind.Apart() {
		return r.Room + "/tasks"
	}
	return r.Room
}

// Said returns the id of the memory that holds the run's answer.
func (r Run) Said() MemoryID { return MemoryID(r.ID) }

// Note is a journal entry of a run's holder. Zero fields change nothing.
type Note struct {
	Shown   []Shown // all entries, by part, in place of those before; nil changes nothing
	Text    string
	Acting  string
	Acted   string
	Verdict *Verdict
	// Risk names the holder's current operation if it can crash its process, such as a call of a tool. Unlike the other
	// fields, each note replaces it.
	Risk string
	// Files belong to a verdict, and replace those of an earlier one.
	Files []llm.File
}

// SuspectDeaths is the number of crashed holders that makes a run a suspect: it could be the cause, and is retried
// alone.
const SuspectDeaths = 2

// Wait describes how a run is parked.
type Wait struct {
	Until        time.Time // when it continues by itself
	Continuation []byte    // what its next holder needs, in UTF-8
	Lasting      bool      // later messages leave it waiting; otherwise they can supersede it
}

// State describes the outcome of r in words, or its state before that.
func (r Run) State() string {
	switch {
	case r.Outcome.Failure != "":
		return string(r.Outcome.Status) + ": " + string(r.Outcome.Failure)
	case r.Outcome.Done():
		return string(r.Outcome.Status)
	case r.Parked:
		return "waits for a person"
	}
	return map[bool]string{true: "running", false: "waiting"}[r.Held]
}

// Verdict is a run's outcome and final text, decided before any of it is shown, so that a replica that adopts the run
// reports the same outcome.
type Verdict struct {
	Outcome answer.Outcome
	Text    string
	History []string
	Calls   []answer.PastCall

	Thought   string // as in [Memory], like the following fields
	Actions   []string
	Providers []string

	Files int // the number of files below the text; some may have been too large to store
}

// FirstFile is the index of the first part that is a file, see [Shown]; text parts count from 0.
const FirstFile = 1 << 16

// FirstUpdate is the index of the first part with an important update, shown before the answer has ended on platforms
// that can't edit messages, see [Shown].
const FirstUpdate = 1 << 17

// SlowAfter is the age of a slow run. A first text that comes later notifies no one: the end does, if the asker is not reading.
const SlowAfter = 30 * time.Second

// FirstPointer is the index of the message that refers to a long answer, so that its end notifies the asker. The next index is that of
// the message of an answer that is posted again below and then deleted here. See [Shown].
const FirstPointer = 1 << 18

// Shown is the journal entry of one platform message of an answer. Without an ID it is an intent: a create request is
// about to be sent, or its outcome is unknown.
type Shown struct {
	Part int    `json:"part"`
	ID   string `json:"id,omitempty"`
	Gone bool   `json:"gone,omitempty"` // removed: reported by a surface, and not stored
	Held int    `json:"-"`              // refusals by rate limits since the last report: reported by a surface, and not stored
	// Sent is a hash of the content of an intent's request. Intents from older versions have none: with a verdict they
	// count as final.
	Sent string    `json:"sent,omitempty"`
	Last bool      `json:"last,omitempty"` // part of the final text
	At   time.Time `json:"at,omitzero"`    // when the intent was first recorded
	// Tries counts the requests with the content Sent that the platform can't tell apart, including this one. If there
	// was more than one, it stays after the ID is known.
	Tries int `json:"tries,omitempty"`
	// Replacing reports that the message with this ID can't be edited, and is about to be deleted and posted again: if it is
	// missing, no user has deleted it.
	Replacing bool `json:"replacing,omitempty"`
	// Ping reports that the request notified the asker of the end of the answer, which is done once.
	Ping bool `json:"ping,omitempty"`
}

// WithShown returns a copy of all, which is sorted by part, with s in place of the entry of its part, or without it if its message is gone.
func WithShown(all []Shown, s Shown) []Shown {
	at, had := slices.BinarySearchFunc(all, s.Part, func(o Shown, part int) int { return o.Part - part })
	after := all[at:]
	if had {
		after = after[1:]
	}
	now := append(make([]Shown, 0, len(all)+1), all[:at]...)
	if !s.Gone {
		now = append(now, s)
	}
	return append(now, after...)
}

// WithIDs returns a copy of all with the entries of shown in place of the intents for the same parts.
func WithIDs(all, shown []Shown) []Shown {
	all = slices.Clone(all)
	for _, s := range shown {
		if i := slices.IndexFunc(all, func(o Shown) bool { return o.Part == s.Part && o.ID == "" }); i >= 0 && s.ID != "" {
			all[i] = s
		}
	}
	return all
}

// TurnsSince returns the distance in turn numbers between the last complete answer of agent in recent and turn; without
// such an answer, the number of messages. Notices, which reply to nothing, are no answers.
func TurnsSince(recent []Memory, agent EntityID, turn ResponseID) int {
	for _, m := range slices.Backward(recent) {
		if m.Author == agent && m.Failure == "" && !m.Interrupted && m.InReplyTo != "" {
			if before, ok := TurnOf(m.ID); ok && before < turn {
				return int(turn - before)
			}
		}
	}
	return max(1, len(recent))
}

// TurnOf returns the turn whose answer the memory holds; ok is false if it holds none.
func TurnOf(id MemoryID) (turn ResponseID, ok bool) {
	at := strings.LastIndexByte(string(id), '#')
	n, err := strconv.ParseUint(string(id[at+1:]), 10, 63)
	return ResponseID(n), at >= 0 && err == nil
}

// StatusOf returns the status of a run whose work ended with err.
func StatusOf(err error) answer.Status {
	switch {
	case err == nil:
		return answer.Completed
	case errors.Is(err, ErrNothingToSay):
		return answer.Ignored
	case errors.Is(err, ErrSuperseded):
		return answer.Superseded
	case errors.Is(err, ErrStopped):
		return answer.Stopped
	case errors.Is(err, ErrTimeout):
		return answer.TimedOut
	}
	return answer.Failed
}

// FailureOf returns the kind of the failure err for users.
func FailureOf(err error) llm.FailureKind {
	var f *llm.Failure
	switch {
	case errors.As(err, &f):
		return f.Kind
	case errors.Is(err, llm.ErrStalled), errors.Is(err, ErrTimeout):
		return llm.GenerationTimeout
	}
	return llm.ProviderIssue
}

// Unless returns err, or nil if it is the expected one.
func Unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// Fleet is the processes that use one store, and their work. It names no room and no person.
type Fleet struct {
	Replicas []Replica // by their names
	Leases   []Lease   // by their names
	Waiting  int       // open runs that no living process has started
	Oldest   time.Time // when the oldest of those was opened; zero if there is none
	// Approvals is the number of approvals that users have not decided and that have not expired.
	Approvals int
}

// Replica is one process.
type Replica struct {
	Owner      string
	AliveUntil time.Time // its lease expires then, unless it sends another heartbeat
	Leaving    bool      // it ends as planned
	Runs       int       // that it has started and that have not ended
}

// Lease is exclusive to one process at a time, for example for the connection of a bot.
type Lease struct {
	Name  string
	Owner string
	Ends  time.Time
}

// Errors of stores, connectors and runs, and causes of canceled contexts.
var (
	ErrNothingToSay = errors.New("nothing to say") // the run ends silently
	ErrSuperseded   = errors.New("superseded by a later turn")
	ErrStopped      = errors.New("stopped")
	ErrTimeout      = errors.New("the run took too long")
	ErrBusy         = errors.New("another run holds the room")        // the holder is notified when that run ends
	ErrNotFound     = errors.New("not found")                         // no such room, run or memory
	ErrShutdown     = errors.New("the gateway is shutting down")      // interrupted runs are adopted at the next start
	ErrCrashed      = errors.New("the process has lost its lease")    // of the ports of a dead node, in tests
	ErrParked       = errors.New("the run waits for a person")        // without its room, see [storage.Parking]
	ErrUnreached    = errors.New("the conversation no longer exists") // a permanent error of an address
	ErrUnseen       = errors.New("it has not been shown yet")         // the platform is slow
	ErrUnanswered   = errors.New("no choice was made in time")        // to an action's question
	ErrTooLarge     = errors.New("larger than this platform accepts") // text or address
)

// Expiry contains the times before which data has expired. The zero time is none: nothing expires.
type Expiry struct {
	Messages time.Time
	Files    time.Time // the contents of files; messages still name them
	Marks    time.Time
	Uploads  time.Time // that no message names
	Rest     time.Time
}

// RunState selects runs.
type RunState int

// The states: any, those that have not ended, and those that ended without an answer.
const (
	AnyState RunState = iota
	OpenRuns
	FailedRuns
)
