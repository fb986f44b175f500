// Package uistream has the wire types of the AI SDK's UI message stream (npm package ai, versions 5 to 7), for both ends:
// the web connector serves it, and models/agent reads it. It has no logic.
//
// A response has the header [Header], and is a stream of server-sent events: one [Chunk] each, then "data: [DONE]". Clients
// fail at chunk types that they don't have, and at a delta without its start; comments and extra fields are ignored.
package uistream

import "encoding/json"

// The header of responses, and its value.
const (
	Header  = "x-vercel-ai-ui-message-stream"
	Version = "v1"
)

// Type is the type of a [Chunk].
type Type string

// The types that are served or read here. Those marked 6 or 7 are fatal to clients of earlier major versions. Types that begin with [DataPrefix] are
// the application's own.
const (
	Start      Type = "start"
	Finish     Type = "finish"
	Error      Type = "error"
	Abort      Type = "abort"
	StartStep  Type = "start-step"
	FinishStep Type = "finish-step"
	ResetStep  Type = "reset-step" // 7: the parts of the step are removed

	TextStart      Type = "text-start"
	TextDelta      Type = "text-delta"
	TextEnd        Type = "text-end"
	ReasoningStart Type = "reasoning-start"
	ReasoningDelta Type = "reasoning-delta"
	ReasoningEnd   Type = "reasoning-end"

	InputStart      Type = "tool-input-start"
	InputDelta      Type = "tool-input-delta"
	InputAvailable  Type = "tool-input-available"
	InputError      Type = "tool-input-error"
	OutputAvailable Type = "tool-output-available"
	OutputError     Type = "tool-output-error"
	OutputDenied    Type = "tool-output-denied"    // 6
	ApprovalRequest Type = "tool-approval-request" // 6

	File Type = "file"

	DataPrefix = "data-" // as in data-status
)

// Chunk is any chunk: it has the fields of all types. The comment of a field names the types that have it.
type Chunk struct {
	Type Type   `json:"type"`
	ID   string `json:"id,omitempty"` // text-*, reasoning-*; optional in data-*, where the same type and id replace the part

	MessageID string `json:"messageId,omitempty"`    // start
	Finish    string `json:"finishReason,omitempty"` // finish
	Reason    string `json:"reason,omitempty"`       // abort, tool-approval-*
	Delta     string `json:"delta,omitempty"`        // text-delta, reasoning-delta

	CallID      string          `json:"toolCallId,omitempty"` // tool-*
	ToolName    string          `json:"toolName,omitempty"`   // tool-input-start, tool-input-available, tool-input-error
	Dynamic     bool            `json:"dynamic,omitempty"`    // tool-*: the client has no type for the tool
	Preliminary bool            `json:"preliminary,omitempty"`
	InputDelta  string          `json:"inputTextDelta,omitempty"` // tool-input-delta
	Input       json.RawMessage `json:"input,omitempty"`          // tool-input-available, tool-input-error
	Output      json.RawMessage `json:"output,omitempty"`         // tool-output-available
	ErrorText   string          `json:"errorText,omitempty"`      // error, tool-input-error, tool-output-error
	ApprovalID  string          `json:"approvalId,omitempty"`     // tool-approval-*

	URL       string          `json:"url,omitempty"`       // source-url, file; https: or data:
	MediaType string          `json:"mediaType,omitempty"` // file, source-document
	FileName  string          `json:"filename,omitempty"`  // source-document
	Data      json.RawMessage `json:"data,omitempty"`      // data-*
	Transient bool            `json:"transient,omitempty"` // data-*: not kept in the message
}

// FinishStop is the reason of a complete answer.
const FinishStop = "stop"

// The triggers of a [Request].
const (
	Submit     = "submit-message"
	Regenerate = "regenerate-message"
)

// Request is the body of POST /api/chat. Apps that send only the newest message have Message instead of Messages.
type Request struct {
	ID       string    `json:"id"`
	Messages []Message `json:"messages,omitempty"`
	Message  *Message  `json:"message,omitempty"`
	Trigger  string    `json:"trigger,omitempty"`
}

// Message is a message of a chat: UIMessage.
type Message struct {
	ID    string `json:"id"`
	Role  string `json:"role"` // system, user, assistant
	Parts []Part `json:"parts"`
}

// The states of a tool [Part].
const (
	InputStreaming    = "input-streaming"
	HasInput          = "input-available"
	ApprovalRequested = "approval-requested" // 6
	ApprovalResponded = "approval-responded" // 6
	HasOutput         = "output-available"
	HasError          = "output-error"
)

// Part is a part of a [Message]. Its Type is text, reasoning, file, source-url, step-start, dynamic-tool, tool-<name> or
// data-<name>.
type Part struct {
	Type string `json:"type"`

	Text  string `json:"text,omitempty"`
	State string `json:"state,omitempty"` // of text and reasoning: streaming or done; of a tool: see above

	URL       string `json:"url,omitempty"`
	MediaType string `json:"mediaType,omitempty"`
	FileName  string `json:"filename,omitempty"`

	CallID    string          `json:"toolCallId,omitempty"`
	ToolName  string          `json:"toolName,omitempty"` // of dynamic-tool
	Input     json.RawMessage `json:"input,omitempty"`
	Output    json.RawMessage `json:"output,omitempty"`
	ErrorText string          `json:"errorText,omitempty"`
	Approval  *Approval       `json:"approval,omitempty"`
}

// Approval is the decision about a tool call, or the request for one while Approved is nil.
type Approval struct {
	ID       string `json:"id"`
	Approved *bool  `json:"approved,omitempty"`
}
