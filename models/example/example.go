// Package example is the model provider of docs/add-a-model.md: it speaks the API of a made-up server.
package example

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"

	"parley/core/llm"
	"parley/internal/sections"
	"parley/models"
	"parley/models/wire"
)

// Section describes providers.example.
func Section() sections.Section {
	return sections.Section{
		Name: "example", Title: "Example", About: "Example, the provider that docs/add-a-model.md adds.",
		Secret: "api_key", Values: new(Config), Can: []sections.Ability{sections.Answers},
		Without: []string{"top_p", "stop", "seed", "reasoning_effort", "extra_body"},
	}
}

// Config is the section providers.example.
type Config struct {
	// The API key.
	APIKey sections.Secret `yaml:"api_key" default:"${env:EXAMPLE_API_KEY:-}"`
	// The server.
	BaseURL string `yaml:"base_url" default:"https://api.example.test/v1"`
}

// Open implements [models.Settings].
func (c *Config) Open(o models.Options) models.Model {
	m := &Model{options: o, Endpoint: wire.NewEndpoint(wire.Options{
		BaseURL: c.BaseURL, APIKey: c.APIKey.Reveal(), Model: o.Model,
		Settings: o.Settings("EXAMPLE_API_KEY", ""), Dial: o.Dial, Log: o.Log,
	})}
	m.List = m.list
	return m
}

// Model is a model of Example. It is safe for concurrent use.
type Model struct {
	*wire.Endpoint
	options models.Options
}

var _ llm.Model = (*Model)(nil)

// Check makes the smallest request, and fails like [wire.Endpoint.Check].
func (m *Model) Check(ctx context.Context, uses wire.Uses) (string, error) {
	return m.Endpoint.Check(ctx, m, uses)
}

// Generate implements [llm.Model].
func (m *Model) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return m.Run(ctx, req, func(ctx context.Context, _ context.CancelCauseFunc, name string, req llm.Request, yield func(llm.Chunk) bool) error {
		res, err := m.do(ctx, http.MethodPost, "answers", m.question(name, req))
		if err != nil {
			return err
		}
		defer res.Body.Close()
		return read(res, yield)
	})
}

// list returns the names of the server's models.
func (m *Model) list(ctx context.Context) ([]string, error) {
	res, err := m.do(ctx, http.MethodGet, "models", nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var names []string
	return names, json.NewDecoder(io.LimitReader(res.Body, maxLine)).Decode(&names)
}

// do makes one request. The caller closes the body. A refusal of the server is an error.
func (m *Model) do(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, m.Base.JoinPath(path).String(), &body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+m.APIKey)
	return wire.Refuse(req, m.Client().Do)
}

// question is the body of a request for an answer.
type question struct {
	Model       string     `json:"model"`
	System      string     `json:"system,omitempty"`
	Messages    []message  `json:"messages"`
	Tools       []llm.Tool `json:"tools,omitempty"`
	MaxTokens   int        `json:"max_tokens,omitempty"`
	Temperature *float64   `json:"temperature,omitempty"`
}

// message is one message of a question. Call is the id of the call that a tool's result belongs to.
type message struct {
	Role  llm.Role       `json:"role"`
	Text  string         `json:"text"`
	Calls []llm.ToolCall `json:"calls,omitempty"`
	Call  string         `json:"call,omitempty"`
}

func (m *Model) question(name string, r llm.Request) question {
	q := question{
		Model: name, System: r.System, Tools: r.Tools, Temperature: m.options.Temperature,
		MaxTokens: wire.Limit(r.MaxTokens, m.options.MaxTokens),
	}
	for _, of := range r.Messages {
		q.Messages = append(q.Messages, message{of.Role, of.Text, of.Calls, of.Call})
	}
	return q
}

const maxLine = 1 << 20 // bytes

// line is one line of an answer. The last one has the reason why it ended.
type line struct {
	Text string           `json:"text"`
	Call *llm.ToolCall    `json:"call"`
	End  llm.FinishReason `json:"end"` // stop, tool_calls or length
	In   int              `json:"in"`  // tokens
	Out  int              `json:"out"`
}

// read yields the answer in res, until its last line or until yield wants no more.
func read(res *http.Response, yield func(llm.Chunk) bool) error {
	lines, calls := wire.NewEventReader(res.Body, maxLine), 0
	for {
		data, ok := lines.Line()
		if !ok {
			return fmt.Errorf("%w: %v", wire.ErrCut, lines.Err)
		}
		var l line
		if err := json.Unmarshal(data, &l); err != nil {
			return fmt.Errorf("read a line of the answer: %w", err)
		}
		c := llm.Chunk{Text: l.Text}
		if l.Call != nil {
			c.Call = &llm.CallDelta{Index: calls, ID: l.Call.ID, Name: l.Call.Name, Parameters: string(l.Call.Parameters)}
			calls++
		}
		if l.End != "" {
			c.Finish, c.Usage = l.End, &llm.Usage{Prompt: l.In, Completion: l.Out}
		}
		if !yield(c) || l.End != "" {
			return nil
		}
	}
}
