// Package event defines the events for observers: plugins, metrics and embedding programs. Events carry copies that
// must not be modified.
package event

import (
	"encoding/json"
	"slices"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
	"parley/internal/trace"
)

// Event is an event for observers such as plugins, metrics and tests. The set is closed: the types of this file.
//
// A run ends with exactly one [RunEnded] or [RunTimeout], whatever its outcome: answered, ignored, stopped, superseded
// or failed. A run that is interrupted by a shutdown or a crash has neither until a process adopts it; its [RunStarted]
// is then emitted again by that process. Events at the moment of a crash can be lost: the journal is authoritative.
type Event interface {
	// event returns the name of the event in systems derived from elizaOS.
	event() string
}

// EventName returns the name of e in systems derived from elizaOS, such as MESSAGE_RECEIVED.
func EventName(e Event) string { return e.event() }

type (
	// MessageReceived is emitted once for each stored message, answered or not. Its run may already have started.
	MessageReceived struct {
		Message  chat.Message
		Accepted chat.Accepted
	}
	// VoiceMessageReceived replaces MessageReceived for voice messages.
	VoiceMessageReceived struct {
		Message  chat.Message
		Accepted chat.Accepted
	}
	// RunStarted is emitted when this process starts or adopts a run.
	RunStarted struct{ RunInfo }
	// RunEnded is emitted when a run ends within its time limit.
	RunEnded struct {
		RunInfo
		RunEnd
	}
	// RunTimeout is emitted when a run was canceled by its time limit. Its work has ended too.
	RunTimeout struct {
		RunInfo
		RunEnd
	}
	// MessageSent is emitted when a run's answer has been stored. It is not emitted for withdrawn answers.
	MessageSent struct {
		RunInfo
		Message chat.Memory
	}
	// MessageDeleted is emitted when a remembered message is deleted.
	MessageDeleted struct{ Message chat.Memory }
	// ReactionReceived is emitted once for each stored reaction.
	ReactionReceived struct {
		Reaction chat.Reaction
		Accepted chat.Accepted
	}
	// FeedbackReceived is emitted when a user has rated an answer, also for a rating that is changed or removed.
	FeedbackReceived struct {
		Message chat.Memory // the answer
		Author  chat.EntityID
		Rating  string // up, down, or none if it was removed
		Reason  string // can be empty
	}
	// ContactReceived is emitted when a visitor of the web chat has left a message for a person: again, with the same key, if the visitor's
	// browser repeats the request.
	ContactReceived struct {
		Key     string
		ReplyTo string // an address of any kind, as the visitor wrote it
		Text    string
	}
	// ChannelCleared is emitted when a room's memories have been deleted, which happens in one step.
	ChannelCleared struct {
		Room           chat.RoomID
		Deleted, Total int // numbers of memories
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
		World  chat.WorldID // empty if a name has changed
		Entity chat.Entity
		Role   string
	}
	// WorldJoined is a world that the agent is newly known to be in.
	WorldJoined struct{ World chat.World }
	// WorldConnected is a known world, emitted when a connector has connected to it.
	WorldConnected struct{ World chat.World }
	// WorldLeft is a world that the agent has left. Runs in its rooms end.
	WorldLeft struct{ World chat.WorldID }
	// RoomJoined is a single room that the agent has joined, or rejoined.
	RoomJoined struct{ Room chat.Room }
	// RoomLeft is a single room that the agent has left. Runs there end.
	RoomLeft struct{ Room chat.RoomID }
	// ActionStarted is emitted before an action is called. A call with an unknown action or invalid parameters never
	// starts.
	ActionStarted struct{ ActionInfo }
	// ActionCompleted is emitted once for each ActionStarted, whether the action succeeded or failed.
	ActionCompleted struct {
		ActionInfo
		Duration time.Duration
		Status   answer.Status // [answer.Completed], [answer.Failed], or the reason of the interruption
		Result   ActionOutput  // of a completed action; do not modify
		Err      string        // the error as reported to the model
	}
	// EvaluatorStarted is emitted before an evaluator reviews a turn, in the background: the run has ended.
	EvaluatorStarted struct {
		RunInfo
		Evaluator string
	}
	// EvaluatorCompleted is emitted once for each EvaluatorStarted, whether the evaluator succeeded or failed.
	EvaluatorCompleted struct {
		RunInfo
		Evaluator string
		Duration  time.Duration
		Err       string // empty if it succeeded
	}
	// EmbeddingRequested is emitted before texts are embedded: messages, knowledge or a question.
	EmbeddingRequested struct{ Texts int }
	// EmbeddingCompleted is emitted when these texts have their vectors.
	EmbeddingCompleted struct {
		Texts    int
		Duration time.Duration
	}
	// EmbeddingFailed is emitted when they have none. They are embedded later, and search uses words meanwhile.
	EmbeddingFailed struct {
		Texts    int
		Duration time.Duration
		Err      string
	}
	// ModelUsed is emitted when a call of any model has ended, successfully or not. RunInfo is zero for one that belongs to no
	// run, such as the embedding of messages in the background.
	ModelUsed struct {
		RunInfo
		Purpose   string // of the model, such as [ForChat]
		Model     string // its provider and name, such as openai/gpt-4o-mini; empty if it is not listed
		Usage     llm.Usage
		Estimated bool // Usage is an estimate: the provider did not report it
		Cost      quota.USD
		Began     time.Time
		Took      time.Duration
		First     time.Duration // until its first output; 0 if there was none, or the call does not stream
		Finish    llm.FinishReason
		Failure   llm.FailureKind // empty if it succeeded, or if the caller stopped it
		Span      trace.Span      // of the call
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
func (FeedbackReceived) event() string     { return "FEEDBACK_RECEIVED" }
func (ContactReceived) event() string      { return "CONTACT_RECEIVED" }
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
func (EvaluatorStarted) event() string     { return "EVALUATOR_STARTED" }
func (EvaluatorCompleted) event() string   { return "EVALUATOR_COMPLETED" }
func (EmbeddingRequested) event() string   { return "EMBEDDING_GENERATION_REQUESTED" }
func (EmbeddingCompleted) event() string   { return "EMBEDDING_GENERATION_COMPLETED" }
func (EmbeddingFailed) event() string      { return "EMBEDDING_GENERATION_FAILED" }
func (ModelUsed) event() string            { return "MODEL_USED" }

// Received returns the event for m.
func Received(m chat.Message, acc chat.Accepted) Event {
	if slices.ContainsFunc(m.Files, chat.Attachment.Spoken) {
		return VoiceMessageReceived{m, acc}
	}
	return MessageReceived{m, acc}
}

// RunInfo identifies the run of an event.
type RunInfo struct {
	Run     chat.RunID
	Message chat.MemoryID // the newest message to answer
	Room    chat.RoomID
	Entity  chat.EntityID // the author of that message; empty if the store did not respond in time
	Start   time.Time     // when this process started it
	Source  string        // the connector's name
	Trace   trace.Span    // of the whole run; zero if its trace is not recorded
}

// ActionInfo identifies the call of an event.
type ActionInfo struct {
	RunInfo
	Call       string          // its id, as in the answer's tool blocks
	Action     string          // the canonical name
	Parameters json.RawMessage // do not modify
	Span       trace.Span      // of the call
}

// RunEnd describes the end of a run.
type RunEnd struct {
	End      time.Time
	Duration time.Duration // since Start
	Status   answer.Status
	Failure  llm.FailureKind // empty unless it failed
	Err      string          // the user-visible error; the log has the cause
	// Asked is when the user sent the message, by the clock of the platform; Opened is when the run was accepted. Both can be
	// before Start for long. If the user asked for another answer, both are its Start.
	Asked, Opened time.Time
	// FirstText is when users could first see a text of the answer: in a message of the platform, or else in the stream. It is zero if
	// there was none, or if an earlier process showed it.
	FirstText time.Time
	Cost      quota.USD // of the calls of models that this process made for it; later ones, such as of evaluators, are not in it
}

// An Observer receives events. Each has its own goroutine and queue: a slow observer misses events, one that panics
// loses the current event, and neither affects anything else. Events of one run arrive in order. Observe is never
// called concurrently. An Observer can also implement [AnswerObserver].
type Observer interface {
	Observe(Event)
}

// ActionOutput is the output of a completed action.
type ActionOutput struct {
	Text  string // for the model
	Short string // one line for users
	Files []llm.File
	Last  bool // the model is not called again
}

// An AnswerObserver is an [Observer] that also receives the growth of answers, on the process that generates them. Each
// answer has its own goroutine: events of one answer arrive in order, those of several answers concurrently. A slow
// observer misses nothing: pending changes are merged. Its behavior, including panics, has no effect on the answer.
type AnswerObserver interface {
	ObserveAnswer(AnswerEvent)
}

// AnswerEvent is one step of an answer, for those who watch. The set is closed. Systems that come from the agent SDK know
// the events by these names:
//
//	MessageAdded     onAssistantMessageAdded
//	ContentUpdated   onAssistantContentUpdated
//	ToolUpdated      onToolBlockUpdated
//	MessagesChanged  onMessagesChange
type AnswerEvent interface{ answerEvent() }

type (
	// MessageAdded is emitted when a model round produces its first text or tool call. Text from the gateway, such as
	// the reason why an answer is incomplete, also counts as a message.
	MessageAdded struct {
		RunInfo
		Step int
	}
	// ContentUpdated contains the added text of a round, and its whole text so far. Do not modify them.
	ContentUpdated struct {
		RunInfo
		Step               int
		Chunk, Accumulated string
	}
	// ToolUpdated is emitted when a call reaches another stage, or when parameters arrive: then ParametersChunk was
	// added.
	ToolUpdated struct {
		RunInfo
		answer.ToolBlock
	}
	// MessagesChanged is emitted when a part of the answer begins, ends or is replaced, after the events of the parts.
	// It is not emitted for growing text.
	MessagesChanged struct {
		RunInfo
		View answer.View
	}
)

func (MessageAdded) answerEvent()    {}
func (ContentUpdated) answerEvent()  {}
func (ToolUpdated) answerEvent()     {}
func (MessagesChanged) answerEvent() {}
