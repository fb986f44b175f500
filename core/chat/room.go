package chat

import (
	"errors"
	"strings"
	"time"
)

// NoteKind is the type of a [RoomNote].
type NoteKind string

// The kinds of notes.
const (
	FactNote       NoteKind = "fact"       // a lasting fact from the conversation
	EvaluationNote NoteKind = "evaluation" // the agent's view of the conversation; one per room, without a key
	SummaryNote    NoteKind = "summary"    // a summary of the conversation up to a message; one per room, without a key
	SettingNote    NoteKind = "setting"    // a setting of the room; the key is its name
	AgentNote      NoteKind = "agent"      // the conversation with a model that remembers; see [ThreadOf]
	ReaderNote     NoteKind = "reader"     // an account that can open a web conversation; the key is its id
	TitleNote      NoteKind = "title"      // the title of a conversation; one per room, without a key
	FeedbackNote   NoteKind = "feedback"   // a rating of an answer; the key is the message and the account, and for a reaction the rating
	ShareNote      NoteKind = "share"      // a copy of a web conversation that a link shows; the key is random
	EditNote       NoteKind = "edit"       // the arguments of a call that waits, or words of the operator's page that decided it; see package consent
	StaffNote      NoteKind = "staff"      // a note for the staff about a conversation that a person took over; the key is random
	LinkNote       NoteKind = "link"       // an account of the person whose id is the text; the key is the account
	LinkCodeNote   NoteKind = "link code"  // the hash of a code that links accounts; the key is the account that asked for it
)

// MaxNotes is the maximum number of notes of a kind in a room.
const MaxNotes = 200

// RoomNote is information that the agent stores about a room besides its messages. It is not used in another room,
// except for facts about a person if the owner enabled that.
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

// ModelSetting is the key of the [SettingNote] with the name of the model that answers in a room. It is not part of prompts.
const ModelSetting = "model"

// ThreadKey begins the key of an [AgentNote] with a thread; the name of the model follows.
const ThreadKey = "thread/"

// ThreadOf returns the [RoomNote.About] of the note with the thread of a model in a room. The room is found by it.
func ThreadOf(thread string) EntityID { return EntityID(ThreadKey + thread) }

// Reminder is a text for a user at a time of their choice.
type Reminder struct {
	ID     string
	Room   RoomID
	Person EntityID // who asked for it
	Name   string   // the person's display name
	Text   string
	Due    time.Time // the next time
	First  time.Time // the first time, the base of repetitions
	Repeat string    // a rule of package remind; empty: once
	Zone   string    // the time zone of First, by its name
	Asked  MemoryID  // the message that asked for it
}

// ReminderRule limits the number of stored reminders; 0 is no limit.
type ReminderRule struct{ Person, Room int }

// ErrTooMany means that a limit on stored items is reached.
var ErrTooMany = errors.New("there are too many already")

// Ids are opaque. Connectors derive them deterministically from the platform's ids, with everything that makes them
// unique ("telegram/<bot>/<chat>/<message>"), so that a redelivered message has the same MemoryID. They are stored, so
// their format must not change.
type (
	AgentID  string
	WorldID  string
	RoomID   string
	EntityID string
	MemoryID string
	RunID    string
)

// Automatic reports whether id stands for a schedule or a hook of the configuration, not for an account.
func (id EntityID) Automatic() bool {
	return strings.HasPrefix(string(id), SchedulePrefix) || strings.HasPrefix(string(id), HookPrefix)
}

// Account returns the form of id in the configuration and in commands, such as "telegram:123456789".
func (id EntityID) Account() string { return strings.Replace(string(id), "/", ":", 1) }

// RoomKind is the type of a room. Connectors set it; access, decisions and turn policies depend on it.
type RoomKind string

// Private reports whether all messages in such a room are addressed to the agent.
func (k RoomKind) Private() bool { return k == Direct || k == API }

// Attention is the agent's attention to the messages in a room.
type Attention string

// Room is a conversation on a platform.
type Room struct {
	ID        RoomID
	World     WorldID // the server or workspace it belongs to; can be empty
	Kind      RoomKind
	Connector string // the name of its connector
	Name      string // its display name; can be empty
	// Chats are the platform's ids of the chat that the room is, or is part of, as used in the configuration, smallest
	// first. The world is not included.
	Chats   []string
	Created time.Time
	// Address is its last known address, which replies to nothing; Connector is empty if there is none.
	Address Address
	Gone    bool // the agent has left it
}

// Address is the destination of a conversation. It is stored with the run, and any replica can open it at any time.
type Address struct {
	Connector        string   `json:"connector"`
	Room             RoomID   `json:"room"`
	ReplyTo          MemoryID `json:"replyTo,omitempty"`
	BilledTo         EntityID `json:"payer,omitempty"` // whose limits the answer counts against; empty: the author's
	AuthorizedByRole EntityID `json:"known,omitempty"` // the author, if a platform role authorizes them; not stored elsewhere
	StaffByRole      bool     `json:"staff,omitempty"` // that role is one of the staff
	// Details reports whether the readers of the answer see its details, like the owner: a chat on the gateway's own
	// machine.
	Details bool `json:"details,omitempty"`
	// Untitled reports whether the conversation has a place of its own on the platform, such as a thread, whose title is
	// provisional: the connector can change it.
	Untitled      bool   `json:"untitled,omitempty"`
	ConnectorData []byte `json:"own,omitempty"` // connector-specific; at most MaxOwn bytes
	// Ephemeral reports whether the place has other readers, and the platform can show a text there to one user alone.
	Ephemeral bool `json:"ephemeral,omitempty"`
	// Response is connector-specific like ConnectorData, and is for the answer to one message only, while the platform
	// waits for it: see [RunRespond]. It is empty in all other addresses. It can contain a secret.
	Response []byte `json:"response,omitempty"`
}

// Later returns the address for a later message in the same place.
func (a Address) Later() Address {
	a.Response = nil
	return a
}

// For returns the address for a reply that who, instead of the author, has triggered: payer is billed, the author's
// role does not authorize who, and who sees no more than anyone.
func (a Address) For(who, payer EntityID) Address {
	a = a.Later()
	a.BilledTo, a.Details = payer, false
	if a.AuthorizedByRole != who {
		a.AuthorizedByRole, a.StaffByRole = "", false
	}
	return a
}
