package chat

import (
	"time"

	"parley/core/answer"
	"parley/core/llm"
)

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

// Claims says that such a run takes the room: earlier runs give way to it, as it does to later ones.
func (d RunKind) Claims() bool { return d != RunNotify && !d.OutOfBand() }

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

// Turn is what the run claims its room with.
func (r Run) Turn() ResponseID { return max(r.Response, r.Retried) }

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
