// Package agui has the wire types of AG-UI, versions 0.0.x and 1.0, for both ends: the web connector serves the protocol,
// and models/agent reads it. It has no logic. See https://docs.ag-ui.com and the package @ag-ui/core.
//
// Events are server-sent events that a blank line (two LF) ends, with no other text: "data: [DONE]" makes clients fail.
// A field without a value is absent; null makes clients of 0.0.x fail, as do event types that they don't have.
package agui

import "encoding/json"

// Version is the protocol version that a request and its RUN_STARTED name. Requests of 0.0.x name none.
const Version = "1.0"

// Type is the type of an [Event].
type Type string

// The types that are served or read here. Clients of 0.0.x fail at types that only 1.0 has.
const (
	RunStarted  Type = "RUN_STARTED"
	RunFinished Type = "RUN_FINISHED"
	RunError    Type = "RUN_ERROR"

	TextStart   Type = "TEXT_MESSAGE_START"
	TextContent Type = "TEXT_MESSAGE_CONTENT"
	TextEnd     Type = "TEXT_MESSAGE_END"
	TextChunk   Type = "TEXT_MESSAGE_CHUNK"

	CallStart  Type = "TOOL_CALL_START"
	CallArgs   Type = "TOOL_CALL_ARGS"
	CallEnd    Type = "TOOL_CALL_END"
	CallChunk  Type = "TOOL_CALL_CHUNK"
	CallResult Type = "TOOL_CALL_RESULT"

	ReasoningStart          Type = "REASONING_START"
	ReasoningMessageStart   Type = "REASONING_MESSAGE_START"
	ReasoningMessageContent Type = "REASONING_MESSAGE_CONTENT"
	ReasoningMessageEnd     Type = "REASONING_MESSAGE_END"
	ReasoningMessageChunk   Type = "REASONING_MESSAGE_CHUNK"
	ReasoningEnd            Type = "REASONING_END"

	StateSnapshot    Type = "STATE_SNAPSHOT"
	StateDelta       Type = "STATE_DELTA"
	MessagesSnapshot Type = "MESSAGES_SNAPSHOT"
	ActivitySnapshot Type = "ACTIVITY_SNAPSHOT"
	ActivityDelta    Type = "ACTIVITY_DELTA"
)

// Event is any event: it has the fields of all types. The comment of a field names the types that have it.
type Event struct {
	Type Type `json:"type"`

	ThreadID        string   `json:"threadId,omitempty"`        // RUN_STARTED, RUN_FINISHED
	RunID           string   `json:"runId,omitempty"`           // RUN_STARTED, RUN_FINISHED
	ProtocolVersion string   `json:"protocolVersion,omitempty"` // RUN_STARTED of 1.0
	Outcome         *Outcome `json:"outcome,omitempty"`         // RUN_FINISHED; absent means success
	Usage           []Usage  `json:"usage,omitempty"`           // RUN_FINISHED, RUN_ERROR
	Message         string   `json:"message,omitempty"`         // RUN_ERROR
	Code            string   `json:"code,omitempty"`            // RUN_ERROR

	MessageID string `json:"messageId,omitempty"` // TEXT_*, REASONING_*, ACTIVITY_*, TOOL_CALL_RESULT
	Role      string `json:"role,omitempty"`      // TEXT_MESSAGE_START, REASONING_MESSAGE_START ("reasoning"), TOOL_CALL_RESULT ("tool")
	// Delta is the next piece: a JSON string in TEXT_*, REASONING_* and TOOL_CALL_ARGS, a JSON Patch in STATE_DELTA.
	Delta json.RawMessage `json:"delta,omitempty"`

	CallID   string `json:"toolCallId,omitempty"`   // TOOL_CALL_*
	CallName string `json:"toolCallName,omitempty"` // TOOL_CALL_START, TOOL_CALL_CHUNK
	// Content is a string or a list of parts in TOOL_CALL_RESULT, and an object in ACTIVITY_SNAPSHOT.
	Content json.RawMessage `json:"content,omitempty"`

	ActivityType string          `json:"activityType,omitempty"` // ACTIVITY_*
	Replace      *bool           `json:"replace,omitempty"`      // ACTIVITY_SNAPSHOT: false keeps an activity with that id as it is; absent means true
	Patch        json.RawMessage `json:"patch,omitempty"`        // ACTIVITY_DELTA: a JSON Patch of its content
	Snapshot     json.RawMessage `json:"snapshot,omitempty"`     // STATE_SNAPSHOT
	Messages     []Message       `json:"messages,omitempty"`     // MESSAGES_SNAPSHOT
}

// The types of an [Outcome].
const (
	Success   = "success"
	Interrupt = "interrupt"
	Cancelled = "cancelled" // 1.0
)

// Outcome is the end of a run. A run of type [Interrupt] waits for decisions; a later run with [Input.Resume] continues
// it.
type Outcome struct {
	Type       string     `json:"type"`
	Interrupts []Question `json:"interrupts,omitempty"`
}

// Question is an interrupt: a decision that a run waits for.
type Question struct {
	ID             string          `json:"id"`
	Reason         string          `json:"reason"`
	Message        string          `json:"message,omitempty"`
	CallID         string          `json:"toolCallId,omitempty"`
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty"` // the JSON schema of the payload
	ExpiresAt      string          `json:"expiresAt,omitempty"`      // RFC 3339
}

// Usage is the number of tokens of one model.
type Usage struct {
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Input    int    `json:"inputTokens,omitempty"`
	Output   int    `json:"outputTokens,omitempty"`
	Cached   int    `json:"cachedInputTokens,omitempty"`
}
