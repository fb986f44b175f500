package chat

import "time"

// Inbound is one thing that happened on a platform. The set is closed: the types of this file. All may come
// more than once.
type Inbound interface{ inbound() }

type (
	// Message was written to the agent, or where it listens.
	Message struct {
		Memory
		Place   Room // Memory.Room, as the connector knows it now
		Address Address
		// Source is how whoever sent it through an API calls itself; empty for what people write on a platform.
		Source string
		// WorldName is how people call the world that Place belongs to; may be empty.
		WorldName string
		// Roles are the platform's own ids of what the author is in the room's world.
		Roles []string
		// Addressed says that the platform itself marks the message as meant for the agent: a mention or a reply to
		// it, found by entity or id, never by text (IN-14).
		Addressed bool
		// Group names what several messages of one author are parts of, such as an album; empty if nothing.
		Group string
		// MayContinue says that the text looks like the beginning of one that was too long for a message.
		MayContinue bool
		// Bot says that the author is not a person. Such a message is remembered; it is answered only as [access.BotAccess] says.
		Bot bool
	}
	// Command is for the runtime, not for the agent. It overtakes every message of its room.
	Command struct {
		Room   RoomID
		Author EntityID
		Roles  []string // as those of a [Message]
		Name   CommandName
	}
	// Edited says what a message says now. What is not remembered, or was written by another author, stays unknown.
	Edited struct{ Memory }
	// Deleted says that a message is gone from its platform.
	Deleted struct {
		Room RoomID
		ID   MemoryID
	}
	// Reaction is a sign that somebody put on a message, or took away. It is remembered and never answered.
	Reaction struct {
		Room   RoomID // that of the message counts, if that is remembered
		Author EntityID
		Name   string // the author's
		On     MemoryID
		Emoji  string
		Added  bool
		At     time.Time
	}
	// Joined says that somebody is in a world, or the agent itself if Entity is nobody. Without a world it is about the
	// agent and a room alone.
	Joined struct {
		World  World
		Room   Room // where the agent is too; may be empty
		Entity Entity
		Role   string // of the entity; may be empty
	}
	// Left says that somebody is in a world no more, or the agent itself if Entity is nobody. Without a world it is about
	// the agent and a room alone. Runs where the agent is no more end.
	Left struct {
		World  WorldID
		Room   RoomID
		Entity EntityID
	}
	// Cleared says that nothing of a room is to be remembered. Its run under way ends by itself. Settings stay, and what is noted of
	// people, unless the room is gone Entirely: then its settings go too, and the names and details of Person, who is known nowhere
	// else; none if empty.
	Cleared struct {
		Room     RoomID
		Entirely bool
		Person   EntityID
	}
)

// Here is m's room as it is remembered: it can be spoken to later, with nothing to reply to.
func (m Message) Here() Room {
	r := m.Place
	if m.Address.Connector != "" {
		r.Address = m.Address
		r.Address.ReplyTo, r.Address.BilledTo, r.Address.AuthorizedByRole = "", "", ""
	}
	return r
}

func (Message) inbound()  {}
func (Command) inbound()  {}
func (Edited) inbound()   {}
func (Deleted) inbound()  {}
func (Reaction) inbound() {}
func (Joined) inbound()   {}
func (Left) inbound()     {}
func (Cleared) inbound()  {}

// CommandName names what a [Command] asks for.
type CommandName string

// Stop ends every run of the room, also those that wait.
const Stop CommandName = "stop"

// Accepted says that an inbound is safe, and which run answers it; Run is empty if none does.
type Accepted struct {
	Memory    MemoryID
	Run       RunID
	Response  ResponseID
	Duplicate bool // it was known already; Run and Response are those of its first arrival
	Altered   bool // a duplicate with another text than the one stored
	// Refused is what somebody is to be told, in private, whose [Choice] changed nothing.
	Refused string
	Chosen  bool // it was taken as a [Choice]; where an answer waits for that, Run says nothing
	Deleted int  // of a [Cleared]: how many memories there were
}
