// Package core says what a message is and what happens to it. It knows no platform, no model and no database:
// those meet it through the ports in ports.go.
package core

import "time"

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
	World       RoomKind = "world"
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
	Created   time.Time
}

// Memory is one message, whoever wrote it.
type Memory struct {
	ID        MemoryID
	Room      RoomID
	Author    EntityID
	Name      string // the author's name as it was shown then
	Text      string
	InReplyTo MemoryID // the message it answers; empty if none
	At        time.Time

	// Of the agent's own messages:
	History     []string    // what its actions said in turn, oldest first (actionCallbackHistory)
	Interrupted bool        // it was cut off; the text ends with a short mark that says so
	Failure     FailureKind // it tells of a failure; unless Interrupted, it is no part of the conversation
}

// MaxOwn is the greatest length of [Address.Own], in bytes.
const MaxOwn = 1024

// Address says where a conversation goes on. It is stored with the run, and any replica can open it again, at any
// time.
type Address struct {
	Connector string   `json:"connector"`
	Room      RoomID   `json:"room"`
	ReplyTo   MemoryID `json:"replyTo,omitempty"`
	Own       []byte   `json:"own,omitempty"` // the connector's own, at most MaxOwn bytes
}
