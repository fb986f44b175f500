package agui

import "encoding/json"

// Input is a request: RunAgentInput. The lists must not be nil when it is sent.
type Input struct {
	ThreadID        string          `json:"threadId"`
	RunID           string          `json:"runId"`
	ParentRunID     string          `json:"parentRunId,omitempty"`
	ProtocolVersion string          `json:"protocolVersion,omitempty"` // absent in 0.0.x
	State           json.RawMessage `json:"state"`                     // {} if there is none
	Messages        []Message       `json:"messages"`
	Tools           []Tool          `json:"tools"`
	Context         []Note          `json:"context"`
	Forwarded       json.RawMessage `json:"forwardedProps"` // {} if there is none
	Resume          []Resume        `json:"resume,omitempty"`
}

// Message is a message of a conversation.
type Message struct {
	ID   string `json:"id"`
	Role string `json:"role"` // developer, system, user, assistant, tool, activity, reasoning
	Name string `json:"name,omitempty"`
	// Content is a JSON string, a list of [Part], or the object of an activity. It is absent in an assistant's message
	// that only calls tools.
	Content      json.RawMessage `json:"content,omitempty"`
	ToolCalls    []Call          `json:"toolCalls,omitempty"`
	CallID       string          `json:"toolCallId,omitempty"`   // of role tool
	Error        string          `json:"error,omitempty"`        // of role tool
	ActivityType string          `json:"activityType,omitempty"` // of role activity
}

// Call is a tool call in a message of the assistant. Its Type is "function".
type Call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function Function `json:"function"`
}

// Function is the tool and the arguments of a [Call]. Arguments is JSON in a string.
type Function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Part is a part of the content of a message: text with Text, or image, audio, video or document with Source.
type Part struct {
	Type   string  `json:"type"`
	Text   string  `json:"text,omitempty"`
	Source *Source `json:"source,omitempty"`
	// Metadata has the name of a file as "filename", by convention.
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// Source is the content of a [Part]: of type data in base64, of type url an address.
type Source struct {
	Type     string `json:"type"`
	Value    string `json:"value"`
	MimeType string `json:"mimeType,omitempty"`
}

// Tool is a tool of the client that the agent can call.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// Note is information about the conversation.
type Note struct {
	Description string `json:"description"`
	Value       string `json:"value"`
}

// The status of a [Resume].
const (
	Resolved  = "resolved"
	Abandoned = "cancelled"
)

// Resume answers an interrupt.
type Resume struct {
	InterruptID string          `json:"interruptId"`
	Status      string          `json:"status"`
	Payload     json.RawMessage `json:"payload,omitempty"`
}
