// Package responses implements [llm.Model] for OpenAI's Responses API
// (https://platform.openai.com/docs/api-reference/responses). Unlike chat completions, it continues the model's
// reasoning over the rounds of one answer. By default the gateway asks the API to store nothing: reasoning comes
// encrypted, and is sent back with the results of tools, see item in stream.go. With a history of its own (chain.go), the
// API keeps the conversation.
package responses

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"parley/core/llm"
	"parley/internal/sections"
	"parley/models"
	"parley/models/wire"
)

// Config is the section providers.responses.
type Config struct {
	// The API key.
	APIKey sections.Secret `yaml:"api_key" default:"${env:OPENAI_API_KEY:-}"`
	// The server.
	BaseURL string `yaml:"base_url" default:"https://api.openai.com/v1"`
}

// Section describes providers.responses.
func Section() sections.Section {
	return sections.Section{
		Name: "responses", Title: "OpenAI Responses", About: "OpenAI's Responses API, which keeps the reasoning between the rounds of tools. Used only where a model names it.",
		Secret: "api_key", Named: true, Values: &Config{}, Can: []sections.Ability{sections.Answers, sections.Images},
		Without: []string{"stop", "seed"},
	}
}

// Open implements [models.Settings].
func (c *Config) Open(o models.Options) models.Model { return open(c, o) }

// Model implements [llm.Model]. It makes one attempt for each call and is safe for concurrent use.
type Model struct {
	*wire.Endpoint
	options models.Options
}

// own returns the parameters that requests have of themselves. Which models reason is not listed anywhere, and only
// verified organizations get summaries of reasoning, so both are asked for until they are refused.
func defaults() []wire.DefaultParameter {
	return []wire.DefaultParameter{
		{Name: "summary", Words: []string{"summary", "reasoning summaries"}},
		{Name: "include", Words: []string{"include", "encrypted content", "reasoning.encrypted_content"}},
		{Name: "store", Needed: true},
		{Name: "strict"},
		{Name: "max_output_tokens", Needed: true},
	}
}

var (
	_ llm.Model   = (*Model)(nil)
	_ llm.Bounded = (*Model)(nil)
)

// open returns a model without asking the provider anything.
func open(c *Config, o models.Options) *Model {
	m := &Model{options: o, Endpoint: wire.NewEndpoint(wire.Options{
		BaseURL: c.BaseURL, APIKey: c.APIKey.Reveal(), Model: o.Model, Settings: o.Settings("OPENAI_API_KEY", ""), Dial: o.Dial,
		Log: o.Log, Defaults: defaults(),
	})}
	if m.APIKey != "" {
		m.Header = http.Header{"Authorization": {"Bearer " + m.APIKey}}
	}
	m.List = m.IDs
	return m
}

// MaxTokens implements [llm.Bounded].
func (m *Model) MaxTokens() int { return m.options.MaxTokens }

// Check makes the smallest request, and fails like [wire.Endpoint.Check].
func (m *Model) Check(ctx context.Context, uses wire.Uses) (string, error) {
	return m.Endpoint.Check(ctx, m, uses)
}

// Generate implements [llm.Model].
func (m *Model) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return m.Run(ctx, req, func(ctx context.Context, _ context.CancelCauseFunc, name string, req llm.Request, yield func(llm.Chunk) bool) error {
		return m.stream(ctx, name, req, yield)
	})
}

// stream makes one request and yields its answer. If the provider no longer has the conversation, it is sent again as a
// whole.
func (m *Model) stream(ctx context.Context, name string, req llm.Request, yield func(llm.Chunk) bool) error {
	names := wire.NamesOf(req)
	rest, previous := m.follow(req)
	res, err := m.post(ctx, m.request(name, rest, previous, names))
	if previous != "" && forgotten(err) {
		res, err = m.post(ctx, m.request(name, req, "", names))
	}
	if err != nil {
		return err
	}
	defer res.Body.Close()
	s := stream{names: names, owner: m.String(), yield: yield, calls: map[int64]*call{}, keep: func(id string) json.RawMessage { return m.keep(req, id) }}
	e := wire.NewEventReader(res.Body, maxEvent)
	for !s.done && e.Next() {
		if more, err := s.event(e); err != nil || !more {
			return err
		}
	}
	return wire.End(s.done, e.Err, wire.Keep(s.owner, s.items, item.needed), &s.usage, yield)
}

// post sends a request and returns its response, whose body the caller closes.
func (m *Model) post(ctx context.Context, r request) (*http.Response, error) {
	body, err := wire.Extend(r, m.options.Extra)
	if err != nil {
		return nil, err
	}
	return m.Stream(ctx, wire.Call{Path: "responses", Body: body}, whole)
}
