package chat

import (
	"fmt"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/llm"
	"parley/core/text"
)

// Inbound is a platform event. The set is closed: the types of this file. Any event can be delivered more than once.
type Inbound interface{ inbound() }

type (
	// Message is a message to the agent, or in a room that it listens in.
	Message struct {
		Memory
		Place   Room // the current state of the room Memory.Room
		Address Address
		// Source is the name of the API client that sent the message; empty for messages from a platform.
		Source string
		// WorldName is the display name of the world that Place belongs to; can be empty.
		WorldName string
		// Roles are the platform's ids of the author's roles in the room's world.
		Roles []string
		// Addressed reports whether the platform marks the message as addressed to the agent: a mention or a reply, by
		// entity or id, never by text, which can be forged.
		Addressed bool
		// Group identifies several messages of one author that belong together, such as an album; can be empty.
		Group string
		// MayContinue reports whether the text looks like the first part of one that exceeds the platform's message
		// length.
		MayContinue bool
		// Bot reports whether the author is a bot. Its messages are remembered; [access.BotAccess] decides whether they
		// are answered.
		Bot bool
		// Remark reports whether the message only tells of something that its author did, such as pinning a message. It is
		// remembered and never answered.
		Remark bool
		// Locale is the language of the author's client, as a tag such as "de-DE", if the platform reports it.
		Locale string
		// PlaceLocale is the language of the place, such as a server, if the platform reports it. It counts for authors
		// whose Locale is unknown.
		PlaceLocale string
	}
	// Command addresses the runtime instead of the agent. It is processed before all queued messages of its room.
	Command struct {
		Room   RoomID
		Author EntityID
		Roles  []string // like those of [Message]
		Name   CommandName
		// Question restricts a [Stop] to the answer to that message; empty: it ends all answers of the room.
		Question MemoryID
	}
	// Edited contains a message after an edit, with the time of sending. If the message was remembered
	// without an answer, or not received, and is now Addressed, it counts as a new one for a quarter of an hour.
	// Otherwise it is ignored if it is unknown, or has another author. The room that it is remembered in takes precedence over Room.
	Edited struct {
		Message
		// Again reports whether the author asked for another answer, so the message is answered again even if its text is the
		// same, or old. Accepted then names the run, which has begun again, or is the reason why it can't in Refused. It has
		// neither if the run was stopped or superseded, or is not the newest one: then the message can be deleted and sent again.
		Again bool
	}
	// Deleted reports that a message was deleted on its platform.
	Deleted struct {
		Room RoomID // the room that it is remembered in takes precedence
		ID   MemoryID
	}
	// Reaction is a reaction that a user added to a message, or removed. It is remembered and never answered.
	Reaction struct {
		Room   RoomID // the room of the message takes precedence, if that is remembered
		Author EntityID
		Name   string // the author's display name
		On     MemoryID
		// Message is the platform's id of the message, as in [Shown.ID]: it finds answers of the agent, which have no memory with the
		// id On. It can be empty.
		Message string
		// AnyTopic reports that the platform names the chat alone: the message can be in Room, or in a room of one of its topics,
		// whose ids begin with that of Room and a slash.
		AnyTopic bool
		Emoji    string
		Added    bool
		// Event identifies the event on the platform: it is the same if the event is delivered again, and another one if
		// the reaction is taken back and given again. If it is empty, At tells events apart.
		Event string
		At    time.Time
	}
	// Joined reports that a user, or the agent itself if Entity is empty, is a member of a world. Without a world it
	// concerns the agent and a single room.
	Joined struct {
		World  World
		Room   Room // a room that the agent is in too; can be empty
		Entity Entity
		Role   string // the entity's role; can be empty
		// Added is when the agent was added to the world; zero if that is not known. Note is a sentence for the owner about it.
		Added time.Time
		Note  string
		// Muted is when the agent lost the right to write there; zero if it has it.
		Muted time.Time
		// Lacking are channels of the world where the agent lacks permissions. If Described is set, they are all such channels, in use
		// or not.
		Lacking   []Channel
		Described bool
		// Channels are the first channels of the world that members write in, in their order, and Locale is its language; can be empty.
		Channels []Channel
		Locale   string
		// AddedBy is the user who added the agent, and Direct is their direct chat; empty if they are unknown, or can't be written to.
		AddedBy EntityID
		Direct  Room
	}
	// Left reports that a user, or the agent itself if Entity is empty, has left a world. Without a world it concerns
	// the agent and a single room. Runs in rooms that the agent has left end.
	Left struct {
		World  WorldID
		Room   RoomID
		Entity EntityID
	}
	// Cleared asks to clear a room. Its current run ends by itself. Settings and details of users stay, unless the room
	// is gone Entirely: then its settings are deleted too, and the names and details of Person, if not empty, who is
	// known from no other room.
	Cleared struct {
		Room     RoomID
		Entirely bool
		Person   EntityID
	}
	// Completion asks for values of the argument of a command, while its author writes it. Nothing is stored: Accepted has
	// Suggestions that contain Typed, or the reason for none in Refused.
	Completion struct {
		Place   Room
		Author  EntityID
		Roles   []string // like those of [Message]
		Command CommandName
		Typed   string
	}
	// Task is a task of the configuration for the agent in a room, without a request of a user at that time. It waits
	// for the answer in progress, and is not interrupted by later messages. The agent answers it with the rights of a
	// guest. In a room where the agent is muted it is left out: Accepted names no run.
	Task struct {
		Room  RoomID
		By    EntityID // see [EntityID.Automatic]
		Name  string   // its display name
		Text  string
		Files []Attachment // data for the model, already read; not with Speak
		// Speak reports whether Text is a message of the agent. Otherwise the agent answers it.
		Speak bool
		// Content and Options belong to a text with Speak: files below it, and options that those who write in the room can choose
		// from for a day. The chosen one is answered like a message of the user.
		Content []llm.File
		Options []string
		// Key is an idempotency key: of several tasks of By in a room with the same key, only the first is accepted.
		Key string
		// NotBefore is its earliest start; zero is at once. Others can be answered meanwhile.
		NotBefore time.Time
	}
)

// Here returns m's room with an address for later messages, which reply to nothing.
func (m Message) Here() Room {
	r := m.Place
	if m.Address.Connector != "" {
		r.Address = m.Address.Later()
		r.Address.ReplyTo, r.Address.BilledTo, r.Address.AuthorizedByRole, r.Address.StaffByRole, r.Address.Details = "", "", "", false, false
	}
	return r
}

func (Message) inbound() {}

func (Command) inbound() {}

func (Edited) inbound() {}

func (Deleted) inbound() {}

func (Reaction) inbound() {}

// Verb returns the description of the change.
func (r Reaction) Verb() string {
	if r.Added {
		return "Added"
	}
	return "Removed"
}

// Line returns the text of the reaction to on in a conversation. own reports whether on is an answer of the agent.
func (r Reaction) Line(on Memory, own bool) string {
	if on.ID == "" {
		return fmt.Sprintf("*%s %s to a message*", r.Verb(), r.Emoji)
	}
	quote := text.Excerpt(strings.Join(strings.Fields(on.Text), " "), quoted)
	what := ""
	if own {
		what = " your answer"
	}
	return fmt.Sprintf("*%s %s to%s: \"%s\"*", r.Verb(), r.Emoji, what, strings.ReplaceAll(quote, `"`, "'"))
}

func (Joined) inbound() {}

// Channel is a channel of a world, with the platform's own id. It is stored with questions.
type Channel struct {
	ID    string   `json:"id"`
	Name  string   `json:"name"`
	Lacks []string `json:"lacks,omitempty"` // the names of the permissions that the agent lacks there
}

func (Left) inbound() {}

func (Cleared) inbound() {}

// Message returns the id of the memory of t.
func (t Task) Message() MemoryID {
	return MemoryID(fmt.Sprintf("%s/task/%s/%s", t.Room, t.By, t.Key))
}

func (Task) inbound() {}

func (Completion) inbound() {}

// Suggestion is a value of an argument that users can choose.
type Suggestion struct {
	Label string
	Value string // as it is written in a command
}

// Accepted confirms that an inbound is stored, and names the run that answers it; Run is empty if there is none.
type Accepted struct {
	Memory    MemoryID
	Run       RunID
	Response  ResponseID
	Duplicate bool // a redelivery; Run and Response are those of the first delivery
	Altered   bool // a duplicate with another text than the stored one
	// Refused is a private reply to the user whose [Choice], or whose [Edited] with Again, had no effect, whose message with
	// an [Address.Response] gets no run, or whose message in a room of the kind [API] answers a question with a value that does not fit.
	Refused string
	// MayAsk reports whether Refused is about access that an owner can give: a [Choice] with [AccessButton] asks them.
	MayAsk bool
	Form   *answer.Choices // that the user's [Choice] opens
	// Unfit are the reasons of Refused by the names of the fields of a form; a pointer keeps the type comparable.
	Unfit   *map[string]string
	Blocked bool // the author is blocked: nothing is stored, and there is no reply
	Chosen  bool // processed as a [Choice]; if an action waits for it, Run is not set
	Relayed bool // a person who talks to its author reads it, and the agent is silent
	Deleted int  // of a [Cleared]: the number of deleted memories

	Suggestions *[]Suggestion // of a [Completion]; a pointer keeps the type comparable
}

// quoted is the number of a message's characters in the text of a reaction.
const quoted = 50

// Notice is a message that the agent sends on its own, without a question.
type Notice struct {
	// To is the destination. A room alone is enough if it has messages: then its last address is used, or that of the
	// message that is replied to.
	To   Address
	Text string
	// Image describes a picture that is generated and shown below the text, at the expense of To.BilledTo; can be empty.
	Image string
	// Files are stored files that are shown below the text.
	Files []Attachment
	// Key is an idempotency key: of several notices in a room with the same key, only the first is sent. Without a key
	// every notice is sent.
	Key string
	// Ask is a question attached to the notice; can be nil.
	Ask *Question
}

// ImageToGenerate is the file name that marks the attachment of a draft whose description is that of an image to be generated. It is stored.
const ImageToGenerate = "an image to generate"

// NoticeID returns the id of the memory that holds the notice with key in room.
func NoticeID(room RoomID, key string) MemoryID { return MemoryID(string(room) + "/notice/" + key) }

// Status is the state of a question that a platform can show at the message itself, such as by a reaction.
type Status string

// The states.
const (
	NoStatus Status = ""          // nothing is shown
	Waiting  Status = "waiting"   // it waits for other answers
	Working  Status = "working"   // it is being answered
	NoAccess Status = "no access" // it is not answered, because its author has no access
)

// Signal is a change of the status of messages in one place.
type Signal struct {
	To       Address
	Messages []MemoryID
	Was, Is  Status
}
