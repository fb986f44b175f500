package chat

import (
	"math"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/llm"
)

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

// The beginnings of the ids of [Task.By].
const (
	SchedulePrefix = "schedule/"
	HookPrefix     = "hook/"
)

// Automatic reports whether id stands for a schedule or a hook of the configuration, not for an account.
func (id EntityID) Automatic() bool {
	return strings.HasPrefix(string(id), SchedulePrefix) || strings.HasPrefix(string(id), HookPrefix)
}

// ResponseID is a room's turn number; later turns have greater numbers. A run keeps its number.
type ResponseID uint64

// EveryTurn is after every turn of a room: to stop up to it stops all. It fits the signed numbers of SQL stores.
const EveryTurn ResponseID = math.MaxInt64

// RoomKind is the type of a room. Connectors set it; access, decisions and turn policies depend on it.
type RoomKind string

// The kinds of rooms.
const (
	Direct     RoomKind = "direct"
	Group      RoomKind = "group"
	VoiceGroup RoomKind = "voice_group"
	Feed       RoomKind = "feed"
	Thread     RoomKind = "thread"
	Forum      RoomKind = "forum"
	API        RoomKind = "api"
)

// Private reports whether all messages in such a room are addressed to the agent.
func (k RoomKind) Private() bool { return k == Direct || k == API }

// Attention is the agent's attention to the messages in a room.
type Attention string

// The levels of attention.
const (
	Normal     Attention = ""
	Ambient    Attention = "ambient"    // it also considers messages not addressed to it, regardless of access.group
	Muted      Attention = "muted"      // it answers nothing until the room is unmuted
	Unfollowed Attention = "unfollowed" // it was asked to be quiet, and is until it is addressed, which resets this to Normal
)

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

// MemoryKind is the type of a memory. Only messages appear in the transcript and as messages in prompts, are indexed, and
// become facts and summaries; other kinds belong to the turn that created them, or to users without access.
type MemoryKind string

// The kinds of memories.
const (
	Said         MemoryKind = ""              // a message
	IgnoredKind  MemoryKind = "ignore"        // the agent's decision not to answer InReplyTo, with its Thought
	ActionResult MemoryKind = "action_result" // the result of an action
	Draft        MemoryKind = "draft"         // the text of a [RunNotify] run
	KindCommand  MemoryKind = "aside"         // a command or its reply
	Overheard    MemoryKind = "overheard"     // a message or a reaction, in a group, of someone who had no access then
)

// Memory is one message of any author, or another item that [MemoryKind] lists.
type Memory struct {
	ID        MemoryID
	Room      RoomID
	Kind      MemoryKind
	Author    EntityID
	Name      string // the author's display name at that time
	Text      string
	InReplyTo MemoryID // the message it answers; can be empty
	Quoted    Quoted   // the content of that message, if the platform shows it above this one
	At        time.Time
	Files     []Attachment // attachments

	// Only in the agent's own messages:
	Thought     string            // the reasoning behind it; never shown to users
	Actions     []string          // the names of the chosen actions, in order; only "REPLY" for a plain answer
	Providers   []string          // the names of the requested providers
	History     []string          // the output of its actions, oldest first (actionCallbackHistory)
	Calls       []answer.PastCall // the visible final state of its calls; not part of prompts
	Interrupted bool              // it was interrupted; the text ends with a short note
	Failure     llm.FailureKind   // it reports a failure; unless Interrupted, it is not part of the conversation
}

// Quoted is the message, or part of one, that another message replies to. The platform shows it with the reply, so the
// model needs it too, however old it is.
// Its files are among those of the reply, see [RepliedFile].
type Quoted struct {
	Name string `json:"name,omitempty"` // its author's display name; empty if unknown
	Text string `json:"text,omitempty"`
	// What describes the content of that message besides its text, in a few words, such as "a photo" or "a voice message 0:12". It is
	// empty for a message that has only text.
	What string `json:"what,omitempty"`
}

// FileOrigin is the message that a file belongs to, if it is not the message that it is attached to.
type FileOrigin string

// The origins of files. Files with an origin are not the words of the author of the message, even if they are voice messages.
const (
	OwnFile       FileOrigin = ""
	RepliedFile   FileOrigin = "reply"   // of the message that this one replies to
	ForwardedFile FileOrigin = "forward" // of a message that this one forwards
)

// Attachment is a file attached to a message. The connector that issued Ref fetches its content on demand.
type Attachment struct {
	Ref         string `json:"ref,omitempty"`         // the connector's reference; at most MaxOwn bytes, and never containing a secret
	Name        string `json:"name,omitempty"`        // the sender's file name: a label, never to be used as a path
	Type        string `json:"type,omitempty"`        // MIME type, as reported by the platform
	Size        int64  `json:"size,omitempty"`        // in bytes; 0 if unknown
	Voice       bool   `json:"voice,omitempty"`       // a voice message to the agent
	Title       string `json:"title,omitempty"`       // a title from the sender or the file's reader
	Description string `json:"description,omitempty"` // of an analyzed image
	Text        string `json:"text,omitempty"`        // extracted text of a document, an image or a voice message
	// Seen is the message with which a model with vision was shown the image. In turns about other messages its
	// description is used.
	Seen      MemoryID `json:"seen,omitempty"`
	Unread    string   `json:"unread,omitempty"`    // why it can't be read, in a few words for users
	Link      bool     `json:"link,omitempty"`      // a page that the message links to; Ref is its address
	Thumbnail bool     `json:"thumbnail,omitempty"` // the connector has a small picture of it

	Origin FileOrigin `json:"origin,omitempty"`
}

// Read reports whether reading f is finished, successfully or not.
func (f Attachment) Read() bool { return f.Text != "" || f.Description != "" || f.Unread != "" }

// MaxOwn is the maximum length of [Address.ConnectorData], in bytes.
const MaxOwn = 1024

// Address is the destination of a conversation. It is stored with the run, and any replica can open it at any time.
type Address struct {
	Connector        string   `json:"connector"`
	Room             RoomID   `json:"room"`
	ReplyTo          MemoryID `json:"replyTo,omitempty"`
	BilledTo         EntityID `json:"payer,omitempty"` // whose limits the answer counts against; empty: the author's
	AuthorizedByRole EntityID `json:"known,omitempty"` // the author, if a platform role authorizes them; not stored elsewhere
	// Details reports whether those who read the answer see how it came about, like the owner: a chat on the gateway's own
	// machine.
	Details       bool   `json:"details,omitempty"`
	ConnectorData []byte `json:"own,omitempty"` // connector-specific; at most MaxOwn bytes
}

// For returns the address for a reply that who, instead of the author, has triggered: payer is billed, the author's
// role does not authorize who, and who sees no more than anyone.
func (a Address) For(who, payer EntityID) Address {
	a.BilledTo, a.Details = payer, false
	if a.AuthorizedByRole != who {
		a.AuthorizedByRole = ""
	}
	return a
}
