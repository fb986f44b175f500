package llm

import "encoding/json"

// Session is the conversation of one room with one model that can keep a memory of it, such as an
// agent: see [Named.Remembers]. It contains no ids of platforms.
type Session struct {
	Thread string // random; stays the same until the room is cleared
	New    bool   // this is the first request of the thread
	Run    string // identifies the answer: the same in all requests for it, also after a restart
	User   User   // the author of the message
	// State is the last [Chunk.State] of the conversation; nil if there is none. It is dropped when a message of the
	// conversation is edited or deleted.
	State json.RawMessage
}

// User is a user as an agent can know them.
type User struct {
	ID       string // opaque; the same in all rooms
	Name     string // the display name
	Platform string // the name of the connector
	Locale   string // the language, as far as it is known
}

// Status is text, and files, at the end of an answer. A status replaces the earlier one with its id; without text and
// files it is removed.
type Status struct {
	ID    string
	Text  string
	Files []File
}

// AskUser is the tool of an agent that asks its user: its run waits for the decision, and the next request
// has the result. Its parameters are those of [Ask]. It is not offered to models.
const AskUser = "ASK_USER"

// Ask is a question of an agent to its user: the parameters of [AskUser]. The result of the call is the chosen option,
// or begins with "Error: ".
type Ask struct {
	ID       string   `json:"id"` // the agent's
	Question string   `json:"question"`
	Options  []string `json:"options,omitempty"`
	Seconds  int      `json:"seconds,omitempty"` // how long it can be answered; 0 means the default
	// Approve is the tool call that needs an approval, instead of options.
	Approve *Approval `json:"approve,omitempty"`
}

// Approval is a tool call that an agent makes only with an approval. Its result is [Approved], or an error.
type Approval struct {
	Server    string `json:"server"` // the agent
	Tool      string `json:"tool"`
	Arguments string `json:"arguments,omitempty"` // as users read them
}

// Approved is the result of a call of [AskUser] that was approved.
const Approved = "approved"
