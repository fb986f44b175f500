package event

import (
	"encoding/json"
	"slices"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// Event is something that happened, for observers such as plugins, metrics and tests. The set is closed: the types of
// this file.
//
// A run ends with exactly one [RunEnded] or [RunTimeout], whatever its outcome: answered, ignored, stopped, superseded
// or failed. A run that is interrupted by a shutdown or a crash has neither until a process adopts it; its [RunStarted]
// is then emitted again by that process. Events at the moment of a crash can be lost: the journal is authoritative.
type Event interface {
	// event is the name under which systems that come from elizaOS know it.
	event() string
}

// EventName is the name under which systems that come from elizaOS know e, such as MESSAGE_RECEIVED.
func EventName(e Event) string { return e.event() }

type (
	// MessageReceived is a message that is safe, once, whether or not it gets an answer. Its run may have started by then.
	MessageReceived struct {
		Message  chat.Message
		Accepted chat.Accepted
	}
	// VoiceMessageReceived replaces MessageReceived for voice messages.
	VoiceMessageReceived struct {
		Message  chat.Message
		Accepted chat.Accepted
	}
	// RunStarted is a run that a process has taken on.
	RunStarted struct{ RunInfo }
	// RunEnded is a run that came to its end within its time.
	RunEnded struct {
		RunInfo
		RunEnd
	}
	// RunTimeout is a run that was cut off because its time was up. Its work has ended too.
	RunTimeout struct {
		RunInfo
		RunEnd
	}
	// MessageSent is what a run said, once it is stored. What was taken back is not sent.
	MessageSent struct {
		RunInfo
		Message chat.Memory
	}
	// MessageDeleted is a message that was remembered, and is not any more.
	MessageDeleted struct{ Message chat.Memory }
	// ReactionReceived is a reaction that is safe, once.
	ReactionReceived struct {
		Reaction chat.Reaction
		Accepted chat.Accepted
	}
	// ChannelCleared is a room of which nothing is remembered any more. It goes in one step: what was there is deleted.
	ChannelCleared struct {
		Room           chat.RoomID
		Deleted, Total int // memories
	}
	// EntityJoined is a person who is newly known to be in a world.
	EntityJoined struct {
		World  chat.WorldID
		Entity chat.Entity
		Role   string
	}
	// EntityLeft is a person who has left a world.
	EntityLeft struct {
		World  chat.WorldID
		Entity chat.EntityID
	}
	// EntityUpdated is a person whose name, or role in a world, has changed.
	EntityUpdated struct {
		World  chat.WorldID // empty if it is about a name
		Entity chat.Entity
		Role   string
	}
	// WorldJoined is a world in which the agent was not before, as far as anybody knew.
	WorldJoined struct{ World chat.World }
	// WorldConnected is a world in which it still is, said when a connector has reached it.
	WorldConnected struct{ World chat.World }
	// WorldLeft is one that it had to leave. Runs in its rooms end.
	WorldLeft struct{ World chat.WorldID }
	// RoomJoined is a single room to which the agent came, or came back.
	RoomJoined struct{ Room chat.Room }
	// RoomLeft is one that it had to leave. Runs there end.
	RoomLeft struct{ Room chat.RoomID }
	// ActionStarted is a call of an action that is about to be made. A call that names no action, or has the wrong parameters,
	// never starts.
	ActionStarted struct{ ActionInfo }
	// ActionCompleted is its end, well or not: one for each ActionStarted.
	ActionCompleted struct {
		ActionInfo
		Duration time.Duration
		Status   answer.Status // [answer.Completed], [answer.Failed], or why the run was cut off meanwhile
		Result   ActionOutput  // of a completed one; do not change
		Err      string        // what the model is told of another
	}
	// ModelUsed is one call of a model that has come to its end, well or not.
	ModelUsed struct {
		RunInfo
		Usage     llm.Usage
		Estimated bool // the provider did not say: Usage is a guess
		Took      time.Duration
	}
)

func (MessageReceived) event() string      { return "MESSAGE_RECEIVED" }
func (VoiceMessageReceived) event() string { return "VOICE_MESSAGE_RECEIVED" }
func (RunStarted) event() string           { return "RUN_STARTED" }
func (RunEnded) event() string             { return "RUN_ENDED" }
func (RunTimeout) event() string           { return "RUN_TIMEOUT" }
func (MessageSent) event() string          { return "MESSAGE_SENT" }
func (MessageDeleted) event() string       { return "MESSAGE_DELETED" }
func (ReactionReceived) event() string     { return "REACTION_RECEIVED" }
func (ChannelCleared) event() string       { return "CHANNEL_CLEARED" }
func (EntityJoined) event() string         { return "ENTITY_JOINED" }
func (EntityLeft) event() string           { return "ENTITY_LEFT" }
func (EntityUpdated) event() string        { return "ENTITY_UPDATED" }
func (WorldJoined) event() string          { return "WORLD_JOINED" }
func (WorldConnected) event() string       { return "WORLD_CONNECTED" }
func (WorldLeft) event() string            { return "WORLD_LEFT" }
func (RoomJoined) event() string           { return "ROOM_JOINED" }
func (RoomLeft) event() string             { return "ROOM_LEFT" }
func (ActionStarted) event() string        { return "ACTION_STARTED" }
func (ActionCompleted) event() string      { return "ACTION_COMPLETED" }
func (ModelUsed) event() string            { return "MODEL_USED" }

// Received is the event of m.
func Received(m chat.Message, acc chat.Accepted) Event {
	if slices.ContainsFunc(m.Files, func(f chat.Attachment) bool { return f.Voice }) {
		return VoiceMessageReceived{m, acc}
	}
	return MessageReceived{m, acc}
}

// RunInfo says which run an event is about.
type RunInfo struct {
	Run     chat.RunID
	Message chat.MemoryID // the newest it answers
	Room    chat.RoomID
	Entity  chat.EntityID // who wrote that message; empty if the store did not say in time
	Start   time.Time     // when this process took it on
	Source  string        // the connector
}

// ActionInfo says which call an event is about.
type ActionInfo struct {
	RunInfo
	Call       string          // its id, as people see it in the trail
	Action     string          // as its spec names it
	Parameters json.RawMessage // do not change
}

// RunEnd says how a run ended.
type RunEnd struct {
	End      time.Time
	Duration time.Duration // since Start
	Status   answer.Status
	Err      string // what people are told of a failure; the log has the cause
}

// Observer hears of events. Each has a goroutine and a queue of its own: one that is slow misses events, one that
// panics loses the one it had, and neither holds up anything else. Events of one run come in their order. Observe is
// called by one goroutine at a time. An Observer may be an [AnswerObserver] too.
type Observer interface {
	Observe(Event)
}

// ActionOutput is what a completed action found or did.
type ActionOutput struct {
	Text  string // for the model
	Short string // for people, one line
	Files []llm.File
	Last  bool // the model is not asked again
}
