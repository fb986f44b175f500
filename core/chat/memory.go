// Package core says what a message is and what happens to it. It knows no platform, no model and no database:
// those meet it through the ports in ports.go.
package chat

import (
	"time"

	"parley/core/answer"
	"parley/core/llm"
)

// Ids are opaque. Connectors make them from the platform's ids, always the same way, with all that makes them
// unique ("telegram/<bot>/<chat>/<message>"), so that a message that arrives twice has one MemoryID. Their form is
// stored, hence stays.
type (
	AgentID  string
	WorldID  string
	RoomID   string
	EntityID string
	MemoryID string
	RunID    string
)

// ResponseID is a room's turn number: of two, the greater is the later. A run keeps its number for life.
type ResponseID uint64

// RoomKind says what sort of place a room is. Connectors set it; access, decision and turns follow from it.
type RoomKind string

// The kinds of rooms.
const (
	Self        RoomKind = "self"
	Direct      RoomKind = "direct"
	Group       RoomKind = "group"
	VoiceDirect RoomKind = "voice_direct"
	VoiceGroup  RoomKind = "voice_group"
	Feed        RoomKind = "feed"
	Thread      RoomKind = "thread"
	WorldRoom   RoomKind = "world" // what is told to a whole world
	Forum       RoomKind = "forum"
	API         RoomKind = "api"
)

// Private says that everything written in such a room is meant for the agent.
func (k RoomKind) Private() bool { return k == Direct || k == VoiceDirect || k == API || k == Self }

// Attention says how closely the agent listens in a room.
type Attention string

// The kinds of attention.
const (
	Normal     Attention = ""
	Ambient    Attention = "ambient"    // also to what is not addressed to it, whatever access.group says
	Muted      Attention = "muted"      // it answers nothing, until somebody changes that
	Unfollowed Attention = "unfollowed" // it was asked to be quiet, and is until it is addressed; then it is Normal
)

// Room is a place where people and the agent write.
type Room struct {
	ID        RoomID
	World     WorldID // the server or workspace it belongs to; empty if none
	Kind      RoomKind
	Connector string // the name of the connector that serves it
	Name      string // as people know it; may be empty
	// Chats are the platform's own ids of the chat that the room is, or is a part of, as people know and list them; the
	// smallest comes first. The world is not among them.
	Chats   []string
	Created time.Time
	// Address is where it was last reached, with nothing to reply to; its Connector is empty if it never was.
	Address Address
	Gone    bool // the agent is no longer there
}

// MemoryKind says what a memory is. Only what was said stands in the transcript and in prompts as a turn; the other kinds
// belong to the turn in which they came about.
type MemoryKind string

// The kinds of memories.
const (
	Said         MemoryKind = ""              // a message
	IgnoredKind  MemoryKind = "ignore"        // the agent's decision not to answer InReplyTo, with its Thought
	ActionResult MemoryKind = "action_result" // what an action of the agent's found or did
	Draft        MemoryKind = "draft"         // what a [RunNotify] run is to say
	KindCommand  MemoryKind = "aside"         // a command, and what it is answered with
)

// Memory is one message, whoever wrote it, or one of the things that [MemoryKind] lists.
type Memory struct {
	ID        MemoryID
	Room      RoomID
	Kind      MemoryKind
	Author    EntityID
	Name      string // the author's name as it was shown then
	Text      string
	InReplyTo MemoryID // the message it answers; empty if none
	Quoted    Quoted   // what that says, if people see it above this one
	At        time.Time
	Files     []Attachment // what came with it

	// Of the agent's own messages:
	Thought     string            // why it said that; people never see it
	Actions     []string          // the names of what it decided to do, in order; "REPLY" alone if it only answered
	Providers   []string          // the names of those that it asked for more
	History     []string          // what its actions said in turn, oldest first (actionCallbackHistory)
	Calls       []answer.PastCall // of its actions, as people saw them end; no prompt tells of them
	Interrupted bool              // it was cut off; the text ends with a short mark that says so
	Failure     llm.FailureKind   // it tells of a failure; unless Interrupted, it is no part of the conversation
}

// Quoted is a message, or the part of one, that another replies to: the platform shows it there, however old it is.
type Quoted struct {
	Name string `json:"name,omitempty"` // its author's, as it is shown; empty unknown
	Text string `json:"text,omitempty"`
}

// Attachment is something attached to a message. What it holds is fetched when it is needed, by the connector whose Ref it is.
type Attachment struct {
	Ref         string `json:"ref,omitempty"`         // the connector's own; at most MaxOwn bytes, and never with a secret in it
	Name        string `json:"name,omitempty"`        // as its sender calls it: a label, never a path (SE-05)
	Type        string `json:"type,omitempty"`        // MIME, as the platform says
	Size        int64  `json:"size,omitempty"`        // bytes; 0 unknown
	Voice       bool   `json:"voice,omitempty"`       // somebody speaks to the agent
	Title       string `json:"title,omitempty"`       // as its sender or its reader calls what is in it
	Description string `json:"description,omitempty"` // of a picture that was read
	Text        string `json:"text,omitempty"`        // what it says, once it was read: a document, a picture or a voice
	// Seen is the message with which a model that sees was shown the picture. In turns about other messages it is words.
	Seen   MemoryID `json:"seen,omitempty"`
	Unread string   `json:"unread,omitempty"` // why it can't be read, in a few words for people
}

// Read says that what f holds is known, or is known not to be found out.
func (f Attachment) Read() bool { return f.Text != "" || f.Description != "" || f.Unread != "" }

// MaxOwn is the greatest length of [Address.ConnectorData], in bytes.
const MaxOwn = 1024

// Address says where a conversation goes on. It is stored with the run, and any replica can open it again, at any
// time.
type Address struct {
	Connector        string   `json:"connector"`
	Room             RoomID   `json:"room"`
	ReplyTo          MemoryID `json:"replyTo,omitempty"`
	BilledTo         EntityID `json:"payer,omitempty"` // whose limits count what the answer costs; empty: the author's
	AuthorizedByRole EntityID `json:"known,omitempty"` // the author, if they are known by a role: it comes with what they write, and is not stored elsewhere
	ConnectorData    []byte   `json:"own,omitempty"`   // the connector's own, at most MaxOwn bytes
}

// For returns the address for something that who, and not its author, has triggered: payer pays, and a role that the author
// has is not lent.
func (a Address) For(who, payer EntityID) Address {
	a.BilledTo = payer
	if a.AuthorizedByRole != who {
		a.AuthorizedByRole = ""
	}
	return a
}
