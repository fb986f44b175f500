package core

// Inbound is one thing that happened on a platform. The set is closed: [Message] and [Command].
type Inbound interface{ inbound() }

type (
	// Message was written to the agent, or where it listens.
	Message struct {
		Memory
		Place   Room // Memory.Room, as the connector knows it now
		Address Address
		// Addressed says that the platform itself marks the message as meant for the agent: a mention or a reply to
		// it, found by entity or id, never by text (IN-14).
		Addressed bool
		// Bot says that the author is not a person. Such a message is remembered and never answered (I13).
		Bot bool
	}
	// Command is for the runtime, not for the agent. It overtakes every message of its room.
	Command struct {
		Room   RoomID
		Author EntityID
		Name   CommandName
	}
)

func (Message) inbound() {}
func (Command) inbound() {}

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
}
