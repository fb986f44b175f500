// Package gemini implements [llm.Model] and [llm.Embedder] for Google's Gemini API
// (https://ai.google.dev/api/generate-content).
//
// Reasoning models sign parts of their answers. The signatures must be sent back in their places with the results of
// calls, see part in stream.go.
package gemini

import (
	"context"
	"iter"
	"net/http"

	"parley/core/llm"
	"parley/internal/sections"
	"parley/models"
	"parley/models/wire"
)

// Config is the section providers.gemini.
type Config struct {
	// The API key.
	APIKey sections.Secret `yaml:"api_key" default:"${env:GEMINI_API_KEY:-}"`
	// The server.
	BaseURL string `yaml:"base_url" default:"https://generativelanguage.googleapis.com"`
}

// Section describes providers.gemini.
func Section() sections.Section {
	return sections.Section{
		Name: "gemini", Title: "Google Gemini", About: "Google's Gemini.", Secret: "api_key", Values: &Config{},
		Can:     []sections.Ability{sections.Answers, sections.Images, sections.Transcription, sections.Painting, sections.Speech, sections.Embeddings},
		Budget:  1,
		Efforts: []string{"minimal", "low", "medium", "high"},
	}
}

// Open implements [models.Settings].
func (c *Config) Open(o models.Options) models.Model { return open(c, o) }

// Model implements [llm.Model] and [llm.Embedder]. It makes one attempt for each call and is safe for concurrent use.
type Model struct {
	*wire.Endpoint
	options models.Options
}

var (
	_ llm.Model    = (*Model)(nil)
	_ llm.Bounded  = (*Model)(nil)
	_ llm.Embedder = (*Model)(nil)
)

// open returns a model without asking the provider anything.
func open(c *Config, o models.Options) *Model {
	m := &Model{options: o, Endpoint: wire.NewEndpoint(wire.Options{
		BaseURL: c.BaseURL, APIKey: c.APIKey.Reveal(), Model: o.Model, Settings: o.Settings("GEMINI_API_KEY", ""), Dial: o.Dial, Log: o.Log, Defaults: defaults(o),
	})}
	m.Header = http.Header{"X-Goog-Api-Key": {m.APIKey}}
	m.List = m.names
	return m
}

// own returns the parameters that requests have of themselves.
func defaults(o models.Options) []wire.DefaultParameter {
	all := []wire.DefaultParameter{
		{Name: "thoughts", Words: []string{"includeThoughts", "include_thoughts", "thinkingConfig", "thinking_config", "thinking is not enabled", "thinking is not supported"}},
		{Name: "maxOutputTokens", Words: []string{"maxOutputTokens", "max_output_tokens"}, Needed: true},
	}
	if o.Temperature == nil {
		all = append(all, wire.DefaultParameter{Name: "temperature"}) // of a transcription
	}
	return all
}

// MaxTokens implements [llm.Bounded].
func (m *Model) MaxTokens() int { return m.options.MaxTokens }

// Check makes the smallest request, and fails like [wire.Endpoint.Check].
func (m *Model) Check(ctx context.Context, uses wire.Uses) (string, error) {
	return m.Endpoint.Check(ctx, m, uses)
}

// CheckEmbeds embeds one word, and fails like [wire.Endpoint.CheckEmbeds].
func (m *Model) CheckEmbeds(ctx context.Context) (string, error) {
	return m.Endpoint.CheckEmbeds(ctx, m)
}

// Generate implements [llm.Model].
func (m *Model) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return m.Run(ctx, req, func(ctx context.Context, _ context.CancelCauseFunc, name string, req llm.Request, yield func(llm.Chunk) bool) error {
		names := wire.NamesOf(req)
		s := stream{names: names, owner: m.String(), yield: yield}
		body, err := extended(m.request(name, req, names), m.options.Extra)
		if err != nil {
			return err
		}
		if err := m.events(ctx, name, body, s.response); err != nil && !s.finished {
			return err
		}
		signed := func(p part) bool { return p.Signature != nil } // without signatures, text and calls say it all
		return wire.End(s.finished, nil, wire.Keep(s.owner, s.parts, signed), s.usage, yield)
	})
}

// Embed implements [llm.Embedder].
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return wire.Embed(ctx, m.Endpoint, texts, m.embed)
}

// embed makes one request for the vectors of texts.
func (m *Model) embed(ctx context.Context, name string, texts []string) (all [][]float32, err error) {
	type one struct {
		Model   string   `json:"model"`
		Content *content `json:"content"`
	}
	var body struct {
		Requests []one `json:"requests"`
	}
	for _, text := range texts {
		body.Requests = append(body.Requests, one{resource(name), &content{Parts: []*contentPart{{Text: text}}}})
	}
	var res struct {
		Embeddings []struct {
			Values []float32 `json:"values"`
		} `json:"embeddings"`
	}
	if err := m.Ask(ctx, wire.Call{Path: method(name, "batchEmbedContents"), Body: body}, &res); err != nil {
		return nil, err
	}
	for _, e := range res.Embeddings {
		all = append(all, e.Values)
	}
	return all, nil
}
