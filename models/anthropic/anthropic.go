// Package anthropic implements [llm.Model] for Anthropic's Messages API (https://docs.anthropic.com/en/api/messages),
// with prompt caching and extended thinking.
//
// The API has rules that others don't: every request has a limit on tokens, sides alternate, no text block is empty,
// and thinking must be sent back unchanged, with its signature and in its place, before the calls that followed from
// it.
package anthropic

import (
	"context"
	"iter"
	"net/http"

	"parley/core/llm"
	"parley/internal/sections"
	"parley/models"
	"parley/models/wire"
)

// Config is the section providers.anthropic.
type Config struct {
	// The API key.
	APIKey sections.Secret `yaml:"api_key" default:"${env:ANTHROPIC_API_KEY:-}"`
	// The server.
	BaseURL string `yaml:"base_url" default:"https://api.anthropic.com"`
}

// minBudget is the smallest budget that the API accepts.
const minBudget = 1024

// Section describes providers.anthropic.
func Section() sections.Section {
	return sections.Section{
		Name: "anthropic", Title: "Anthropic", About: "Anthropic's Claude.", Secret: "api_key", Values: &Config{},
		Can: []sections.Ability{sections.Answers, sections.Images}, Without: []string{"seed"}, Budget: minBudget, Efforts: []string{"low", "medium", "high", "xhigh", "max"},
	}
}

// Open implements [models.Settings].
func (c *Config) Open(o models.Options) models.Model { return open(c, o) }

// Model implements [llm.Model]. It makes one attempt for each call, and is safe for concurrent use.
type Model struct {
	*wire.Endpoint
	options models.Options
}

var (
	_ llm.Model   = (*Model)(nil)
	_ llm.Bounded = (*Model)(nil)
)

// open returns a model without asking the provider anything.
func open(c *Config, o models.Options) *Model {
	m := &Model{options: o, Endpoint: wire.NewEndpoint(wire.Options{
		BaseURL: c.BaseURL, APIKey: c.APIKey.Reveal(), Model: o.Model, Settings: o.Settings("ANTHROPIC_API_KEY", ""), Dial: o.Dial, Log: o.Log,
		Defaults: []wire.DefaultParameter{{Name: "cache_control"}, {Name: "adaptive thinking"}, {Name: "display", Words: []string{"thinking.display", "thinking.adaptive.display", "thinking.enabled.display", "display"}}},
	})}
	m.Header = http.Header{"Anthropic-Version": {version}}
	if m.APIKey != "" {
		m.Header.Set("X-Api-Key", m.APIKey)
	}
	m.List = m.names
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
		names := wire.NamesOf(req)
		body, err := wire.Extend(m.request(name, req, names), m.options.Extra)
		if err != nil {
			return err
		}
		res, err := m.Stream(ctx, wire.Call{Path: "v1/messages", Body: body}, whole)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		return (&stream{names: names, owner: m.String(), yield: yield}).read(wire.NewEventReader(res.Body, maxEvent))
	})
}
