package agent

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"parley/core/llm"
	"parley/models/wire"
)

// The request is AG-UI's RunAgentInput. All its lists have to be there. See https://docs.ag-ui.com/sdk/js/core/types.
type (
	runInput struct {
		ThreadID  string    `json:"threadId"`
		RunID     string    `json:"runId"`
		State     struct{}  `json:"state"`
		Messages  []message `json:"messages"`
		Tools     []string  `json:"tools"` // none: they would be the gateway's to make
		Context   []note    `json:"context"`
		Forwarded forwarded `json:"forwardedProps"`
	}
	// message has content that is a text, or a list of parts.
	message struct {
		ID        string     `json:"id"`
		Role      string     `json:"role"`
		Content   any        `json:"content,omitempty"`
		ToolCalls []toolCall `json:"toolCalls,omitempty"`
		ToolCall  string     `json:"toolCallId,omitempty"`
	}
	toolCall struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	part struct {
		Type   string  `json:"type"`
		Text   string  `json:"text,omitempty"`
		Source *source `json:"source,omitempty"`
	}
	source struct {
		Type  string `json:"type"`
		Value string `json:"value"`
		Mime  string `json:"mimeType"`
	}
	note struct {
		Description string `json:"description"`
		Value       string `json:"value"`
	}
	// forwarded holds values that AG-UI has no field for.
	forwarded struct {
		Model       string   `json:"model,omitempty"`
		MaxTokens   int      `json:"maxTokens,omitempty"`
		Temperature *float64 `json:"temperature,omitempty"`
	}
)

// contextNote describes the context that the gateway adds to the conversation.
const contextNote = "About this moment of the conversation, from the gateway"

// input writes r. Each request is a thread of its own with the whole conversation: the gateway keeps the history, so an
// agent need not, and edits and deletions of messages take effect.
func (m *Model) input(r llm.Request) runInput {
	in := runInput{ThreadID: rand.Text(), RunID: rand.Text(), Messages: []message{}, Tools: []string{}, Context: []note{}, Forwarded: forwarded{
		Model: m.options.Model, MaxTokens: wire.Limit(m.options.MaxTokens, r.MaxTokens), Temperature: m.options.Temperature,
	}}
	add := func(w message) {
		w.ID = fmt.Sprintf("m%d", len(in.Messages)+1)
		in.Messages = append(in.Messages, w)
	}
	if r.System != "" {
		add(message{Role: "system", Content: r.System})
	}
	for _, t := range r.Messages {
		switch {
		case t.Context:
			in.Context = append(in.Context, note{contextNote, t.Text})
		case t.Role == llm.RoleTool:
			add(message{Role: "tool", Content: t.Text, ToolCall: t.Call})
		case t.Role == llm.RoleAssistant:
			add(assistant(t))
		default:
			add(message{Role: "user", Content: content(t)})
		}
	}
	return in
}

// assistant writes an answer of the agent.
func assistant(t llm.Message) message {
	w := message{Role: "assistant"}
	if t.Text != "" {
		w.Content = t.Text
	}
	for _, c := range t.Calls {
		arguments := string(c.Parameters)
		if !json.Valid(c.Parameters) { // an answer that broke off; the call's result describes the error
			arguments = "{}"
		}
		w.ToolCalls = append(w.ToolCalls, toolCall{c.ID, "function", function{c.Name, arguments}})
	}
	return w
}

// content returns the text of a message, or a list of parts if it has images.
func content(t llm.Message) any {
	if len(t.Images) == 0 {
		return t.Text
	}
	var parts []part
	if t.Text != "" {
		parts = append(parts, part{Type: "text", Text: t.Text})
	}
	for _, i := range t.Images {
		parts = append(parts, part{Type: "image", Source: &source{"data", base64.StdEncoding.EncodeToString(i.Data), i.Type}})
	}
	return parts
}
