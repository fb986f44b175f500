package modelfake

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// Request is one completion request as the server received it. Maps and slices are shared and must not be modified.
type Request struct {
	Number int       // 1 is the first
	At     time.Time // arrival
	Header http.Header
	Raw    json.RawMessage
	Body

	Rejected string // why the request was refused as malformed or unauthorized; "" if it was not

	Status    int       // of the answer, at its end
	Ended     time.Time // of the answer; zero while it goes on
	Cancelled time.Time // when the client disconnected (or the server was stopped) before the end; zero otherwise
	Events    int       // data events sent by the end, without [DONE]; a whole answer counts what a stream would have had
	cached    int       // thousandths of the prompt that are in the cache
	Usage     Usage     // what a provider would charge, also for a cancelled answer; set at the end
}

// Body is the decoded body. Raw has what is not here.
type Body struct {
	Model         string    `json:"model"`
	Messages      []Message `json:"messages"`
	Tools         []Tool    `json:"tools"`
	Stream        bool      `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	N                   *int            `json:"n"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature"`
	TopP                *float64        `json:"top_p"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	ParallelToolCalls   *bool           `json:"parallel_tool_calls"`
}

// Message is one message of the conversation.
type Message struct {
	Role       string
	Content    string // the text; of a message in parts, its text parts joined
	Parts      []Part // of a message in parts, all of them
	Name       string
	ToolCalls  []Call
	ToolCallID string

	content, calls json.RawMessage // as they came; nil if they did not
}

// Part of a message's content.
type Part struct {
	Type     string `json:"type"` // text, image_url, input_audio, file, refusal
	Text     string `json:"text"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

// Tool is a function that the model may call.
type Tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// Usage counts tokens.
type Usage struct {
	Prompt     int
	Completion int
	Cached     int // of Prompt: read from the [Cache]
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *Message) UnmarshalJSON(data []byte) error {
	var wire struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		Name       string          `json:"name"`
		ToolCallID string          `json:"tool_call_id"`
		ToolCalls  json.RawMessage `json:"tool_calls"`
	}
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	*m = Message{Role: wire.Role, Name: wire.Name, ToolCallID: wire.ToolCallID, content: present(wire.Content), calls: present(wire.ToolCalls)}
	var calls []wireCall
	if m.calls != nil {
		if err := json.Unmarshal(m.calls, &calls); err != nil {
			return err
		}
	}
	for _, c := range calls {
		m.ToolCalls = append(m.ToolCalls, c.call())
	}
	switch {
	case m.content == nil:
		return nil
	case m.content[0] == '[':
		err := json.Unmarshal(m.content, &m.Parts)
		var text strings.Builder
		for _, p := range m.Parts {
			text.WriteString(p.Text)
		}
		m.Content = text.String()
		return err
	default:
		return json.Unmarshal(m.content, &m.Content)
	}
}

// prompt is what the cache of prompts is about.
func (r *Request) prompt() []byte {
	var parts struct{ Tools, Messages json.RawMessage }
	_ = json.Unmarshal(r.Raw, &parts) // it was decoded before
	return append(append([]byte{}, parts.Tools...), bytes.TrimSuffix(parts.Messages, []byte("]"))...)
}

func present(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// LastUser returns the text of the last user message, without the gateway's context before it, or "".
func (b Body) LastUser() string {
	for i := len(b.Messages) - 1; i >= 0; i-- {
		if b.Messages[i].Role == "user" {
			return asked(b.Messages[i].Content)
		}
	}
	return ""
}

// asked is what follows after what the gateway tells of its own, which some requests have in the same message.
func asked(text string) string {
	if i := strings.LastIndex(text, "\n</context>\n\n"); i >= 0 && strings.HasPrefix(text, "<context>") {
		return text[i+len("\n</context>\n\n"):]
	}
	return text
}

// System returns the text of all system and developer messages, one per line.
func (b Body) System() string {
	var texts []string
	for _, m := range b.Messages {
		if m.Role == "system" || m.Role == "developer" {
			texts = append(texts, m.Content)
		}
	}
	return strings.Join(texts, "\n")
}

// Last returns the last message; a test with tool calls checks here whether the result has arrived.
func (b Body) Last() Message {
	if len(b.Messages) == 0 {
		return Message{}
	}
	return b.Messages[len(b.Messages)-1]
}
