package openai

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"parley/core/llm"
	"parley/models/wire"
)

// The request in the JSON of chat completions, see https://platform.openai.com/docs/api-reference/chat/create. The
// encoder of a general SDK was a tenth of the cost of a turn with a fast model.
type (
	request struct {
		Model               string         `json:"model"`
		Messages            []message      `json:"messages"`
		Stream              bool           `json:"stream"`
		StreamOptions       *streamOptions `json:"stream_options,omitempty"`
		MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
		MaxTokens           int            `json:"max_tokens,omitempty"`
		Temperature         *float64       `json:"temperature,omitempty"`
		TopP                *float64       `json:"top_p,omitempty"`
		Seed                *int           `json:"seed,omitempty"`
		Stop                []string       `json:"stop,omitempty"`
		ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	}
	streamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	}
	// message has content that is a text, or a list of parts.
	message struct {
		Role      string          `json:"role"`
		Content   any             `json:"content,omitempty"`
		ToolCalls []toolCall      `json:"tool_calls,omitempty"`
		ToolCall  string          `json:"tool_call_id,omitempty"`
		Reasoning json.RawMessage `json:"reasoning_content,omitempty"`
		Details   json.RawMessage `json:"reasoning_details,omitempty"`
	}
	part struct {
		Type  string    `json:"type"`
		Text  string    `json:"text,omitempty"`
		Image *imageURL `json:"image_url,omitempty"`
	}
	imageURL struct {
		URL string `json:"url"`
	}
	toolCall struct {
		ID       string         `json:"id"`
		Type     string         `json:"type"`
		Function calledFunction `json:"function"`
		kept     keptCall       // more fields, which only the server understands
	}
	calledFunction struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
)

// post sends req and returns the response, whose body is a stream of events that the caller closes. Errors of the
// server are [*wire.Refusal]s.
func (m *Model) post(ctx context.Context, name string, tokens int, req llm.Request, n wire.Names) (*http.Response, error) {
	body, err := m.body(name, tokens, req, n)
	if err != nil {
		return nil, err
	}
	return m.Stream(ctx, wire.Call{Path: "chat/completions", Body: body}, whole)
}

// body returns req as JSON, with the extra keys of the options in place of its own.
func (m *Model) body(name string, tokens int, req llm.Request, n wire.Names) ([]byte, error) {
	tools, err := m.tools.encoded(req.Tools, n, m.Sends("strict"))
	if err != nil {
		return nil, err
	}
	text, err := encoded(m.request(name, tokens, req, n), len(tools))
	if err != nil {
		return nil, err
	}
	if len(tools) > 0 {
		text = append(text[:len(text)-len("}")], `,"tools":`...)
		text = append(append(text, tools...), '}')
	}
	all, err := wire.Extend(json.RawMessage(text), m.options.Extra)
	if err != nil || len(m.options.Extra) == 0 {
		return text, err
	}
	return encoded(all, 0)
}

// encoded returns v as JSON without escaping <, > and &, which would only make prompts longer. There is room for more
// bytes after it.
func encoded(v any, more int) ([]byte, error) {
	b := roomy{more: more + len(`,"tools":`)}
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.text, []byte("\n")), err
}

// roomy takes the output of an encoder, all at once, and has room for more.
type roomy struct {
	text []byte
	more int
}

// Write implements [io.Writer].
func (r *roomy) Write(text []byte) (int, error) {
	r.text = append(slices.Grow(r.text, len(text)+r.more), text...)
	return len(text), nil
}

// request writes req as a request of chat completions.
func (m *Model) request(name string, tokens int, req llm.Request, n wire.Names) request {
	o := m.options.Parameters
	r := request{
		Model: name, Messages: m.messages(req, n), Stream: true,
		Temperature: o.Temperature, TopP: o.TopP, Seed: o.Seed, Stop: o.Stop, ReasoningEffort: o.Effort,
	}
	if m.Sends("stream_options") {
		r.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	// OpenAI's newer models refuse the older name, which is the only one that many servers know.
	newer := m.options.MaxCompletionTokens || strings.HasSuffix(m.Base.Hostname(), ".openai.com")
	switch {
	case m.Sends("max_completion_tokens") && (newer || !m.Sends("max_tokens")):
		r.MaxCompletionTokens = max(tokens, 0)
	case m.Sends("max_tokens"):
		r.MaxTokens = max(tokens, 0)
	}
	return r
}

// messages writes the history. A message of the assistant without text and calls is left out, as servers refuse it.
func (m *Model) messages(req llm.Request, n wire.Names) []message {
	list := make([]message, 0, len(req.Messages)+1)
	if req.System != "" {
		list = append(list, message{Role: "system", Content: req.System})
	}
	for _, t := range req.Messages {
		switch t.Role {
		case llm.RoleTool:
			list = append(list, message{Role: "tool", Content: t.Text, ToolCall: m.callID(t.Call)})
		case llm.RoleAssistant:
			if t.Text != "" || len(t.Calls) > 0 { // one that says nothing is refused
				list = append(list, m.assistant(t, n))
			}
		default:
			if last := len(list) - 1; last >= 0 && list[last].Role == "user" && follows(&list[last], t) {
				continue
			}
			list = append(list, message{Role: "user", Content: content(t)})
		}
	}
	return list
}

// follows adds t to the user message before it, and reports whether it could. The chat templates of many local models
// only accept alternating roles.
func follows(said *message, t llm.Message) bool {
	before, isText := said.Content.(string)
	if !isText || len(t.Images) > 0 {
		return false
	}
	said.Content = before + "\n\n" + t.Text
	return true
}

// content returns the content of a user message: its text, or a list of parts if it has images. These are sent inline:
// the model server can't, or must not, fetch a URL.
func content(t llm.Message) any {
	if len(t.Images) == 0 {
		return t.Text
	}
	var parts []part
	if t.Text != "" {
		parts = append(parts, part{Type: "text", Text: t.Text})
	}
	for _, i := range t.Images {
		parts = append(parts, part{Type: "image_url", Image: &imageURL{
			URL: "data:" + i.Type + ";base64," + base64.StdEncoding.EncodeToString(i.Data),
		}})
	}
	return parts
}

// assistant writes a message of the model with its calls.
func (m *Model) assistant(t llm.Message, n wire.Names) message {
	said := message{Role: "assistant"}
	if t.Text != "" {
		said.Content = t.Text
	}
	k := readKept(t.Opaque.Of(m.String()))
	for _, c := range t.Calls {
		arguments := string(c.Parameters)
		if !json.Valid(c.Parameters) {
			arguments = "{}" // servers that fill templates fail on anything else; the call's result describes the error to the model
		}
		call := toolCall{ID: m.callID(c.ID), Type: "function", Function: calledFunction{Name: n.Wire(c.Name), Arguments: arguments}}
		if m.Sends("extra_content") {
			call.kept = k.take(call.Function.Name)
		}
		said.ToolCalls = append(said.ToolCalls, call)
	}
	m.back(k.Reasoning, &said)
	return said
}
